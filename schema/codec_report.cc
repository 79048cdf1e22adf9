// Reports and device facts.

#include "schema/codec.h"
#include "schema/codec_bytes.h"
#include "schema/codec_private.h"

namespace pawl {
namespace codec {
namespace {

constexpr std::size_t kMaxBuilds = 64;
constexpr std::size_t kMaxChecks = 256;
constexpr std::size_t kMaxInstruments = 16;

void WriteOutcome(const Outcome& value, wire::Report::Outcome::Builder out) {
  out.setKind(static_cast<wire::OutcomeKind>(value.kind));
  if (value.arm) out.getArm().setRole(static_cast<wire::ArmRole>(*value.arm));
  out.setDetail(AsText(FitLine(value.detail)));
}

Outcome ReadOutcome(wire::Report::Outcome::Reader in, const Place& at) {
  Outcome value;
  value.kind = (at / "kind").Known(in.getKind(), OutcomeKind::kNoData);
  const Place arm = at / "arm";
  switch (in.getArm().which()) {
    case wire::Report::Outcome::Arm::NONE:
      break;
    case wire::Report::Outcome::Arm::ROLE:
      value.arm = arm.Known(in.getArm().getRole(), ArmRole::kRival);
      break;
    default:
      arm.Refuse("of an unknown kind", "none or a role");
  }
  value.detail = (at / "detail").Line(in.getDetail());
  return value;
}

void WriteBuild(const BuildFacts& value, wire::BuildFacts::Builder out) {
  out.setArm(static_cast<wire::ArmRole>(value.arm));
  WriteDigest(value.source, [&](capnp::Data::Reader digest) { out.setSource(digest); });
  WriteDigest(value.object, [&](capnp::Data::Reader digest) { out.setObject(digest); });
  out.setCompiler(AsText(FitLine(value.compiler)));
  out.setLog(AsText(FitLines(value.log)));
  out.setCached(value.cached);
  out.setSeconds(value.seconds);
  out.setRegisters(value.registers);
  out.setSharedBytes(value.shared_bytes);
  out.setSpillBytes(value.spill_bytes);
}

BuildFacts ReadBuild(wire::BuildFacts::Reader in, const Place& at) {
  BuildFacts value;
  value.arm = (at / "arm").Known(in.getArm(), ArmRole::kRival);
  value.source = (at / "source").AnyDigest(in.getSource());
  value.object = (at / "object").AnyDigest(in.getObject());
  value.compiler = (at / "compiler").Line(in.getCompiler());
  value.log = (at / "log").Lines(in.getLog());
  value.cached = in.getCached();
  value.seconds = (at / "seconds").NotNegative(in.getSeconds());
  value.registers = in.getRegisters();
  value.shared_bytes = in.getSharedBytes();
  value.spill_bytes = in.getSpillBytes();
  return value;
}

void WriteCheckFacts(const CheckFacts& value, wire::CheckFacts::Builder out) {
  out.setArm(static_cast<wire::ArmRole>(value.arm));
  out.setPassed(value.passed);
  out.setElements(value.elements);
  out.setWrong(value.wrong);
  out.setMaxAbsError(value.max_abs_error);
  out.setDetail(AsText(FitLine(value.detail)));
}

CheckFacts ReadCheckFacts(wire::CheckFacts::Reader in, const Place& at) {
  CheckFacts value;
  value.arm = (at / "arm").Known(in.getArm(), ArmRole::kRival);
  value.passed = in.getPassed();
  value.elements = in.getElements();
  value.wrong = in.getWrong();
  if (value.passed && value.wrong != 0) {
    at.Refuse("passed with " + std::to_string(value.wrong) + " wrong elements",
              "0 wrong when passed");
  }
  value.max_abs_error = (at / "max_abs_error").NotNegativeOrInfinite(in.getMaxAbsError());
  value.detail = (at / "detail").Line(in.getDetail());
  return value;
}

void WriteVisit(const VisitMedian& value, wire::VisitMedian::Builder out) {
  out.setArm(value.arm);
  out.setInputSet(value.input_set);
  out.setMedianUs(value.median_us);
  out.setClockMhz(value.clock_mhz);
}

}  // namespace

void WriteDevice(const DeviceFacts& value, wire::DeviceFacts::Builder out) {
  out.setKind(AsText(value.kind));
  out.setModel(AsText(FitLine(value.model)));
  out.setUuid(AsText(FitLine(value.uuid)));
  out.setToolchain(AsText(FitLine(value.toolchain)));
  out.setBackend(AsText(value.backend));
  auto instruments = out.initInstruments(Size(value.instruments.size()));
  for (unsigned i = 0; i < instruments.size(); ++i) {
    instruments.set(i, static_cast<wire::Instrument>(value.instruments[i]));
  }
  out.setCores(value.cores);
  out.setPeakGflops(value.peak_gflops);
  out.setPeakGbytesPerS(value.peak_gbytes_per_s);
  out.setNeedsSource(value.needs_source);
  out.setPinnedMhz(value.pinned_mhz);
}

DeviceFacts ReadDevice(wire::DeviceFacts::Reader in, const Place& at) {
  DeviceFacts value;
  value.kind = (at / "kind").Word(in.getKind());
  value.model = (at / "model").NotEmptyLine(in.getModel());
  value.uuid = (at / "uuid").Line(in.getUuid());
  value.toolchain = (at / "toolchain").Line(in.getToolchain());
  value.backend = (at / "backend").WordOrNothing(in.getBackend());
  value.instruments = ReadList(in.getInstruments(), at / "instruments", 0, kMaxInstruments,
                               [](wire::Instrument instrument, const Place& place) {
                                 return place.Known(instrument, Instrument::kGraphTime);
                               });
  value.cores = in.getCores();
  value.peak_gflops = (at / "peak_gflops").NotNegative(in.getPeakGflops());
  value.peak_gbytes_per_s = (at / "peak_gbytes_per_s").NotNegative(in.getPeakGbytesPerS());
  value.needs_source = in.getNeedsSource();
  value.pinned_mhz = in.getPinnedMhz();
  return value;
}

void WriteCapture(const Capture& value, wire::Capture::Builder out) {
  out.setArm(value.arm);
  out.setInstrument(static_cast<wire::Instrument>(value.instrument));
  out.setMedianUs(value.median_us);
}

void WriteConditions(const DeviceConditions& value, wire::DeviceConditions::Builder out) {
  out.setClockReasons(value.clock_reasons);
  out.setMemoryMhz(value.memory_mhz);
  out.setTemperatureC(value.temperature_c);
  out.setPowerW(value.power_w);
  out.setForeignProcesses(value.foreign_processes);
  out.setPinnedMhz(value.pinned_mhz);
}

DeviceConditions ReadConditions(wire::DeviceConditions::Reader in, const Place& at) {
  DeviceConditions value;
  value.clock_reasons = in.getClockReasons();
  value.memory_mhz = in.getMemoryMhz();
  value.temperature_c = in.getTemperatureC();
  value.power_w = (at / "power_w").NotNegative(in.getPowerW());
  value.foreign_processes = in.getForeignProcesses();
  value.pinned_mhz = in.getPinnedMhz();
  return value;
}

void WriteReport(const Report& value, wire::Report::Builder out) {
  out.setKind(static_cast<wire::OrderKind>(value.kind));
  out.setTrack(value.track.value);
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setBatch(value.batch);
  WriteDigest(value.order, [&](capnp::Data::Reader digest) { out.setOrder(digest); });
  out.setWorker(AsText(value.worker.value));
  WriteOutcome(value.outcome, out.getOutcome());
  auto arms = out.initArms(Size(value.arms.size()));
  for (unsigned i = 0; i < arms.size(); ++i) arms.set(i, static_cast<wire::ArmRole>(value.arms[i]));
  WriteList(value.builds, out.initBuilds(Size(value.builds.size())), WriteBuild);
  WriteList(value.checks, out.initChecks(Size(value.checks.size())), WriteCheckFacts);
  WriteList(value.rounds, out.initRounds(Size(value.rounds.size())),
            [](const RoundMedians& round, wire::RoundMedians::Builder place) {
              WriteList(round.visits, place.initVisits(Size(round.visits.size())), WriteVisit);
            });
  out.setBuildSeconds(value.build_seconds);
  out.setCheckSeconds(value.check_seconds);
  out.setRunSeconds(value.run_seconds);
  WriteDigest(value.evidence, [&](capnp::Data::Reader digest) { out.setEvidence(digest); });
  out.setToolchain(AsText(FitLine(value.toolchain)));
  out.setDataExhausted(value.data_exhausted);
  // What says nothing takes no room.
  if (value.conditions != DeviceConditions{}) {
    WriteConditions(value.conditions, out.initConditions());
  }
  // An empty list would be a pointer that earlier releases did not write.
  if (!value.captures.empty()) {
    WriteList(value.captures, out.initCaptures(Size(value.captures.size())), WriteCapture);
  }
}

Report ReadReport(wire::Report::Reader in, const Place& at) {
  Report value;
  value.kind = (at / "kind").Known(in.getKind(), OrderKind::kAudit);
  value.track = (at / "track").Counted<TrackId>(in.getTrack());
  value.generation = (at / "generation").Counted<Generation>(in.getGeneration());
  value.attempt = (at / "attempt").Counted<Attempt>(in.getAttempt());
  value.batch = in.getBatch();
  value.order = (at / "order").AnyDigest(in.getOrder());
  value.worker = WorkerId((at / "worker").Word(in.getWorker()));
  value.outcome = ReadOutcome(in.getOutcome(), at / "outcome");
  const Place arms = at / "arms";
  value.arms = ReadList(
      in.getArms(), arms, 0, kMaxArms,
      [](wire::ArmRole role, const Place& place) { return place.Known(role, ArmRole::kRival); });
  RefuseRepeatedRoles(value.arms, arms, [](ArmRole role) { return role; });
  value.builds = ReadList(in.getBuilds(), at / "builds", 0, kMaxBuilds, ReadBuild);
  value.checks = ReadList(in.getChecks(), at / "checks", 0, kMaxChecks, ReadCheckFacts);
  const auto read_visit = [&](wire::VisitMedian::Reader visit, const Place& place) {
    VisitMedian median;
    median.arm = (place / "arm").Index(visit.getArm(), value.arms.size(), "arms");
    median.input_set = (place / "input_set").Within(visit.getInputSet(), 0, kMaxInputSets - 1);
    median.median_us = (place / "median_us").Positive(visit.getMedianUs());
    median.clock_mhz = (place / "clock_mhz").NotNegative(visit.getClockMhz());
    return median;
  };
  // A measured order has something to judge.
  const bool is_audit = value.kind == OrderKind::kAudit;  // whose order asks for no rounds
  const std::size_t least_rounds =
      !is_audit && value.outcome.kind == OutcomeKind::kMeasured ? 1 : 0;
  value.rounds = ReadList(in.getRounds(), at / "rounds", least_rounds, is_audit ? 0 : kMaxRounds,
                          [&](wire::RoundMedians::Reader round, const Place& place) {
                            return RoundMedians{ReadList(round.getVisits(), place / "visits", 1,
                                                         kMaxVisits, read_visit)};
                          });
  value.build_seconds = (at / "build_seconds").NotNegative(in.getBuildSeconds());
  value.check_seconds = (at / "check_seconds").NotNegative(in.getCheckSeconds());
  value.run_seconds = (at / "run_seconds").NotNegative(in.getRunSeconds());
  value.evidence = (at / "evidence").AnyDigest(in.getEvidence());
  value.toolchain = (at / "toolchain").Line(in.getToolchain());
  value.data_exhausted = in.getDataExhausted();
  value.conditions = ReadConditions(in.getConditions(), at / "conditions");
  value.captures =
      ReadList(in.getCaptures(), at / "captures", 0, kMaxArms,
               [&](wire::Capture::Reader capture, const Place& place) {
                 Capture taken;
                 taken.arm = (place / "arm").Index(capture.getArm(), value.arms.size(), "arms");
                 taken.instrument =
                     (place / "instrument").Known(capture.getInstrument(), Instrument::kGraphTime);
                 taken.median_us = (place / "median_us").Positive(capture.getMedianUs());
                 return taken;
               });
  return value;
}

}  // namespace codec

std::string EncodeReport(const Report& report) {
  return codec::Pack<wire::Report>(report, 1024, codec::WriteReport);
}

Result<Report> DecodeReport(std::string_view bytes) {
  return codec::Unpack<wire::Report>(bytes, "report", codec::kLinkWords, codec::ReadReport);
}

}  // namespace pawl
