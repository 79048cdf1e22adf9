// Events, as the ledger stores them.

#include <utility>

#include "schema/check.h"
#include "schema/codec.h"
#include "schema/codec_ledger.h"

namespace pawl {
namespace codec {
namespace {

constexpr std::size_t kMaxChanges = kMaxKnobs;
constexpr std::size_t kMaxViolations = 1024;
constexpr std::size_t kMaxBeside = 64;

void WriteChange(const Change& value, wire::Change::Builder out) {
  out.setKnob(AsText(value.knob));
  WriteKnobValue(value.from, out.initFrom());
  WriteKnobValue(value.to, out.initTo());
  out.setRepair(value.repair);
}

Change ReadChange(wire::Change::Reader in, const Place& at) {
  return {(at / "knob").Word(in.getKnob()), ReadKnobValue(in.getFrom(), at / "from"),
          ReadKnobValue(in.getTo(), at / "to"), in.getRepair()};
}

// An optional number is a union of none and value in the schema.
template <typename Builder>
void WriteOptional(const std::optional<double>& value, Builder out) {
  if (value) out.setValue(*value);
}

template <typename Reader, typename Check>
std::optional<double> ReadOptional(Reader in, const Place& at, Check check) {
  switch (in.which()) {
    case Reader::Reads::NONE:
      return std::nullopt;
    case Reader::Reads::VALUE:
      return (at.*check)(in.getValue());
  }
  at.Refuse("of an unknown kind", "none or a number");
  return std::nullopt;
}

void WriteDecision(const Decision& value, wire::Decision::Builder out) {
  out.setVerdict(static_cast<wire::Verdict>(value.verdict));
  out.setReason(static_cast<wire::Reason>(value.reason));
  out.setDetail(AsText(FitLine(value.detail)));
  WriteOptional(value.ratio, out.getRatio());
  SetList(value.ratios, out.initRatios(Size(value.ratios.size())));
  WriteOptional(value.control_drift, out.getControlDrift());
  WriteOptional(value.threshold, out.getThreshold());
  WriteOptional(value.before_us, out.getBeforeUs());
  WriteOptional(value.after_us, out.getAfterUs());
}

Decision ReadDecision(wire::Decision::Reader in, const Place& at) {
  Decision value;
  value.verdict = (at / "verdict").Known(in.getVerdict(), Verdict::kVoid);
  value.reason = (at / "reason").Known(in.getReason(), static_cast<Reason>(kReasonCount - 1));
  if (value.verdict != VerdictOf(value.reason)) {
    at.Refuse(std::string(Name(value.verdict)) + " for " + std::string(Name(value.reason)),
              Name(VerdictOf(value.reason)));
  }
  value.detail = (at / "detail").Line(in.getDetail());
  value.ratio = ReadOptional(in.getRatio(), at / "ratio", &Place::Positive);
  value.ratios = ReadList(in.getRatios(), at / "ratios", 0, kMaxOrderVisits * kMaxRounds,
                          [](double ratio, const Place& place) { return place.Positive(ratio); });
  value.control_drift =
      ReadOptional(in.getControlDrift(), at / "control_drift", &Place::NotNegative);
  value.threshold = ReadOptional(in.getThreshold(), at / "threshold", &Place::Finite);
  value.before_us = ReadOptional(in.getBeforeUs(), at / "before_us", &Place::Positive);
  value.after_us = ReadOptional(in.getAfterUs(), at / "after_us", &Place::Positive);
  return value;
}

// One pair for each kind of event. Write puts it into the body's union.
using Body = wire::Event::Body;

void WriteBody(const LedgerCreated& value, Body::Builder body) {
  auto out = body.initLedgerCreated();
  out.setLedger(AsText(value.ledger.value));
  out.setFormat(value.format);
}

LedgerCreated ReadBody(wire::LedgerCreated::Reader in, const Place& at) {
  return {LedgerId((at / "ledger").LedgerName(in.getLedger())), in.getFormat()};
}

void WriteBody(const EpochStarted& value, Body::Builder body) {
  auto out = body.initEpochStarted();
  out.setEpoch(value.epoch.value);
  out.setVersion(AsText(FitLine(value.version)));
}

EpochStarted ReadBody(wire::EpochStarted::Reader in, const Place& at) {
  return {Epoch(in.getEpoch()), (at / "version").Line(in.getVersion())};
}

void WriteBody(const TailTorn& value, Body::Builder body) {
  auto out = body.initTailTorn();
  out.setLastGood(value.last_good.value);
  out.setDetail(AsText(FitLine(value.detail)));
}

TailTorn ReadBody(wire::TailTorn::Reader in, const Place& at) {
  return {Seq(in.getLastGood()), (at / "detail").Line(in.getDetail())};
}

void WriteBody(const TrackOpened& value, Body::Builder body) {
  auto out = body.initTrackOpened();
  WriteSpec(value.spec, out.initSpec());
  out.setForkedFrom(value.forked_from.value);
}

TrackOpened ReadBody(wire::TrackOpened::Reader in, const Place& at) {
  return {ReadSpec(in.getSpec(), at / "spec"), TrackId(in.getForkedFrom())};
}

void WriteBody(const Proposed& value, Body::Builder body) {
  auto out = body.initProposed();
  out.setGeneration(value.generation.value);
  WriteConfiguration(value.candidate, out.initCandidate(Size(value.candidate.settings.size())));
  WriteConfiguration(value.incumbent, out.initIncumbent(Size(value.incumbent.settings.size())));
  WriteList(value.changes, out.initChanges(Size(value.changes.size())), WriteChange);
  out.setHypothesis(AsText(FitLine(value.hypothesis)));
  auto violations = out.initViolations(Size(value.violations.size()));
  for (unsigned i = 0; i < violations.size(); ++i) {
    violations.set(i, AsText(FitLine(value.violations[i])));
  }
  WriteDigest(value.candidate_source,
              [&](capnp::Data::Reader digest) { out.setCandidateSource(digest); });
  WriteDigest(value.incumbent_source,
              [&](capnp::Data::Reader digest) { out.setIncumbentSource(digest); });
}

Proposed ReadBody(wire::Proposed::Reader in, const Place& at) {
  Proposed value;
  value.generation = (at / "generation").Counted<Generation>(in.getGeneration());
  value.candidate = ReadConfiguration(in.getCandidate(), at / "candidate");
  value.incumbent = ReadConfiguration(in.getIncumbent(), at / "incumbent");
  value.changes = ReadList(in.getChanges(), at / "changes", 0, kMaxChanges, ReadChange);
  value.hypothesis = (at / "hypothesis").Line(in.getHypothesis());
  value.violations = ReadList(
      in.getViolations(), at / "violations", 0, kMaxViolations,
      [](capnp::Text::Reader violation, const Place& place) { return place.Line(violation); });
  value.candidate_source = (at / "candidate_source").AnyDigest(in.getCandidateSource());
  value.incumbent_source = (at / "incumbent_source").AnyDigest(in.getIncumbentSource());
  return value;
}

void WriteBody(const Granted& value, Body::Builder body) {
  auto out = body.initGranted();
  out.setKind(static_cast<wire::OrderKind>(value.kind));
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setBatch(value.batch);
  out.setWorker(AsText(value.worker.value));
  out.setBoot(AsText(value.boot.value));
  WriteDigest(value.order, [&](capnp::Data::Reader digest) { out.setOrder(digest); });
  out.setLeaseMs(value.lease_ms);
  WriteConfiguration(value.incumbent, out.initIncumbent(Size(value.incumbent.settings.size())));
}

Granted ReadBody(wire::Granted::Reader in, const Place& at) {
  Granted value;
  value.kind = (at / "kind").Known(in.getKind(), OrderKind::kConfirm);
  value.generation = (at / "generation").Counted<Generation>(in.getGeneration());
  value.attempt = (at / "attempt").Counted<Attempt>(in.getAttempt());
  value.batch = in.getBatch();
  value.worker = WorkerId((at / "worker").Word(in.getWorker()));
  value.boot = BootId((at / "boot").WordOrNothing(in.getBoot()));
  value.order = (at / "order").AnyDigest(in.getOrder());
  value.lease_ms = (at / "lease_ms").Within(in.getLeaseMs(), 0, kMaxDurationMs);
  value.incumbent = ReadConfiguration(in.getIncumbent(), at / "incumbent");
  return value;
}

void WriteBody(const AttemptLost& value, Body::Builder body) {
  auto out = body.initAttemptLost();
  out.setKind(static_cast<wire::OrderKind>(value.kind));
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setWhy(AsText(FitLine(value.why)));
}

AttemptLost ReadBody(wire::AttemptLost::Reader in, const Place& at) {
  return {(at / "kind").Known(in.getKind(), OrderKind::kConfirm),
          (at / "generation").Counted<Generation>(in.getGeneration()),
          (at / "attempt").Counted<Attempt>(in.getAttempt()), (at / "why").Line(in.getWhy())};
}

void WriteBody(const Measured& value, Body::Builder body) {
  auto out = body.initMeasured();
  WriteReport(value.report, out.initReport());
  WriteDigest(value.digest, [&](capnp::Data::Reader digest) { out.setDigest(digest); });
}

Measured ReadBody(wire::Measured::Reader in, const Place& at) {
  return {ReadReport(in.getReport(), at / "report"), (at / "digest").AnyDigest(in.getDigest())};
}

void WriteBody(const ReportConflict& value, Body::Builder body) {
  auto out = body.initReportConflict();
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setWorker(AsText(value.worker.value));
  WriteDigest(value.kept, [&](capnp::Data::Reader digest) { out.setKept(digest); });
  WriteDigest(value.refused, [&](capnp::Data::Reader digest) { out.setRefused(digest); });
}

ReportConflict ReadBody(wire::ReportConflict::Reader in, const Place& at) {
  return {(at / "generation").Counted<Generation>(in.getGeneration()),
          (at / "attempt").Counted<Attempt>(in.getAttempt()),
          WorkerId((at / "worker").Word(in.getWorker())), (at / "kept").AnyDigest(in.getKept()),
          (at / "refused").AnyDigest(in.getRefused())};
}

void WriteBody(const Decided& value, Body::Builder body) {
  auto out = body.initDecided();
  out.setGeneration(value.generation.value);
  WriteDecision(value.decision, out.initDecision());
  out.setAgain(value.again);
}

Decided ReadBody(wire::Decided::Reader in, const Place& at) {
  return {(at / "generation").Counted<Generation>(in.getGeneration()),
          ReadDecision(in.getDecision(), at / "decision"), in.getAgain()};
}

void WriteBody(const Confirmed& value, Body::Builder body) {
  auto out = body.initConfirmed();
  out.setNumber(value.number);
  WriteConfiguration(value.incumbent, out.initIncumbent(Size(value.incumbent.settings.size())));
  out.setValid(value.valid);
  out.setDetail(AsText(FitLine(value.detail)));
  out.setGain(value.gain);
  out.setMean(value.mean);
  out.setMin(value.min);
  out.setMax(value.max);
  out.setStddev(value.stddev);
  out.setRounds(value.rounds);
  out.setFavouring(value.favouring);
  out.setIncumbentUs(value.incumbent_us);
  out.setCommittedUs(value.committed_us);
  WriteList(value.beside, out.initBeside(Size(value.beside.size())),
            [](const Beside& arm, wire::Beside::Builder place) {
              place.setLabel(AsText(FitLine(arm.label)));
              place.setMedianUs(arm.median_us);
              place.setRatio(arm.ratio);
            });
}

Confirmed ReadBody(wire::Confirmed::Reader in, const Place& at) {
  Confirmed value;
  value.number = in.getNumber();
  value.incumbent = ReadConfiguration(in.getIncumbent(), at / "incumbent");
  value.valid = in.getValid();
  value.detail = (at / "detail").Line(in.getDetail());
  value.gain = (at / "gain").Finite(in.getGain());
  value.mean = (at / "mean").Finite(in.getMean());
  value.min = (at / "min").Finite(in.getMin());
  value.max = (at / "max").Finite(in.getMax());
  value.stddev = (at / "stddev").NotNegative(in.getStddev());
  value.rounds = in.getRounds();
  value.favouring = (at / "favouring").Within(in.getFavouring(), 0, value.rounds);
  value.incumbent_us = (at / "incumbent_us").NotNegative(in.getIncumbentUs());
  value.committed_us = (at / "committed_us").NotNegative(in.getCommittedUs());
  value.beside = ReadList(in.getBeside(), at / "beside", 0, kMaxBeside,
                          [](wire::Beside::Reader arm, const Place& place) -> Beside {
                            return {(place / "label").Line(arm.getLabel()),
                                    (place / "median_us").NotNegative(arm.getMedianUs()),
                                    (place / "ratio").NotNegative(arm.getRatio())};
                          });
  return value;
}

void WriteBody(const TrackPaused& value, Body::Builder body) {
  body.initTrackPaused().setWhy(AsText(FitLine(value.why)));
}

TrackPaused ReadBody(wire::TrackPaused::Reader in, const Place& at) {
  return {(at / "why").Line(in.getWhy())};
}

void WriteBody(const TrackResumed& value, Body::Builder body) {
  auto out = body.initTrackResumed();
  out.setGenerations(value.budget.generations);
  out.setMinutes(value.budget.minutes);
  out.setStale(value.budget.stale);
}

TrackResumed ReadBody(wire::TrackResumed::Reader in, const Place& at) {
  return {{in.getGenerations(), (at / "minutes").NotNegative(in.getMinutes()), in.getStale()}};
}

void WriteBody(const TrackClosed& value, Body::Builder body) {
  body.initTrackClosed().setWhy(AsText(FitLine(value.why)));
}

TrackClosed ReadBody(wire::TrackClosed::Reader in, const Place& at) {
  return {(at / "why").Line(in.getWhy())};
}

void WriteBody(const JobSubmitted& value, Body::Builder body) {
  WriteSubmitted(value, body.initJobSubmitted());
}

void WriteBody(const JobMoved& value, Body::Builder body) {
  auto out = body.initJobMoved();
  out.setJob(AsText(value.job));
  out.setStatus(static_cast<wire::JobStatus>(value.status));
  out.setBy(AsText(FitLine(value.by)));
}

JobMoved ReadBody(wire::JobMoved::Reader in, const Place& at) {
  return {(at / "job").Word(in.getJob()),
          (at / "status").Known(in.getStatus(), JobStatus::kCancelled),
          (at / "by").Line(in.getBy())};
}

EventBody ReadEventBody(Body::Reader in, const Place& at) {
  switch (in.which()) {
    case Body::NONE:
      break;
    case Body::LEDGER_CREATED:
      return ReadBody(in.getLedgerCreated(), at / "ledger_created");
    case Body::EPOCH_STARTED:
      return ReadBody(in.getEpochStarted(), at / "epoch_started");
    case Body::TAIL_TORN:
      return ReadBody(in.getTailTorn(), at / "tail_torn");
    case Body::TRACK_OPENED:
      return ReadBody(in.getTrackOpened(), at / "track_opened");
    case Body::PROPOSED:
      return ReadBody(in.getProposed(), at / "proposed");
    case Body::GRANTED:
      return ReadBody(in.getGranted(), at / "granted");
    case Body::ATTEMPT_LOST:
      return ReadBody(in.getAttemptLost(), at / "attempt_lost");
    case Body::MEASURED:
      return ReadBody(in.getMeasured(), at / "measured");
    case Body::REPORT_CONFLICT:
      return ReadBody(in.getReportConflict(), at / "report_conflict");
    case Body::DECIDED:
      return ReadBody(in.getDecided(), at / "decided");
    case Body::CONFIRMED:
      return ReadBody(in.getConfirmed(), at / "confirmed");
    case Body::TRACK_PAUSED:
      return ReadBody(in.getTrackPaused(), at / "track_paused");
    case Body::TRACK_RESUMED:
      return ReadBody(in.getTrackResumed(), at / "track_resumed");
    case Body::TRACK_CLOSED:
      return ReadBody(in.getTrackClosed(), at / "track_closed");
    case Body::JOB_SUBMITTED:
      return ReadSubmitted(in.getJobSubmitted(), at / "job_submitted");
    case Body::JOB_MOVED:
      return ReadBody(in.getJobMoved(), at / "job_moved");
  }
  (at / "body").Refuse("of kind " + std::to_string(in.which()), "1 to 16");
  return {};
}

void WriteEvent(const Event& value, wire::Event::Builder out) {
  out.setSeq(value.seq.value);
  out.setUnixMs(value.unix_ms);
  out.setTrack(value.track.value);
  std::visit([&out](const auto& body) { WriteBody(body, out.getBody()); }, value.body);
}

Event ReadEvent(wire::Event::Reader in, const Place& at) {
  return {Seq(in.getSeq()), in.getUnixMs(), TrackId(in.getTrack()),
          ReadEventBody(in.getBody(), at)};
}

}  // namespace

}  // namespace codec

std::string EncodeEvent(const Event& event) {
  std::string bytes = codec::Pack<wire::Event>(event, 1024, codec::WriteEvent);
  // What a ledger takes it must give back at every opening: an event that cannot be read again is
  // caught here, before it is on the disk.
  const Result<Event> again = DecodeEvent(bytes);
  CHECK(again.has_value(), again.has_value() ? "" : again.error().message);
  return bytes;
}

Result<Event> DecodeEvent(std::string_view bytes) {
  return codec::Unpack<wire::Event>(bytes, "event", codec::OwnWords(bytes), codec::ReadEvent);
}

}  // namespace pawl
