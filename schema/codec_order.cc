// Orders and what they are made of, and the rules that an order meets before a worker sees it.

#include <algorithm>
#include <cmath>

#include "schema/codec.h"
#include "schema/codec_bytes.h"
#include "schema/codec_private.h"

namespace pawl {
namespace codec {
namespace {

constexpr std::size_t kMaxBuffers = 64;
constexpr std::size_t kMaxScalars = 64;
constexpr std::size_t kMaxSources = 64;
constexpr std::size_t kMaxOptions = 64;
constexpr std::size_t kMaxLaunches = 64;  // of one arm
constexpr std::size_t kMaxExtents = 8;
constexpr std::size_t kMaxHeaders = 16;
constexpr std::size_t kMaxScratch = 16;          // of one arm
constexpr std::uint32_t kMaxCalls = 10'000'000;  // of one visit
constexpr double kMaxExactInteger =
    16'777'216;  // 2^24: whole numbers up to it are exact in float32
constexpr double kMaxRowPointer = 2'147'483'647;  // the largest i32

void WriteBuffer(const Buffer& value, wire::Buffer::Builder out) {
  out.setName(AsText(value.name));
  out.setDtype(static_cast<wire::DType>(value.dtype));
  out.setRole(static_cast<wire::BufferRole>(value.role));
  SetList(value.extents, out.initExtents(Size(value.extents.size())));
  auto fill = out.getFill();
  fill.setKind(static_cast<wire::FillKind>(value.fill.kind));
  fill.setA(value.fill.a);
  fill.setB(value.fill.b);
}

Fill ReadFill(wire::Buffer::Fill::Reader in, const Place& at) {
  Fill value;
  value.kind = (at / "kind").Known(in.getKind(), FillKind::kRowPointers);
  value.a = (at / "a").Finite(in.getA());
  value.b = (at / "b").Finite(in.getB());
  switch (value.kind) {
    case FillKind::kNormal:
      (at / "b").NotNegative(value.b);
      break;
    case FillKind::kUniform:
      if (!(value.a < value.b)) at.Refuse("an empty range", "a below b");
      break;
    case FillKind::kIntegers:
      if (value.a != std::floor(value.a) || value.b != std::floor(value.b) || value.a > value.b ||
          value.a < -kMaxExactInteger || value.b > kMaxExactInteger) {
        at.Refuse("no range of whole numbers", "whole a and b, -2^24 to 2^24, a not above b");
      }
      break;
    case FillKind::kConstant:
      break;
    case FillKind::kRowPointers:
      if (value.a != std::floor(value.a) || value.a < 0 || value.a > kMaxRowPointer) {
        at.Refuse("no row pointers", "a whole a, 0 to 2^31 - 1");
      }
      break;
  }
  return value;
}

Buffer ReadBuffer(wire::Buffer::Reader in, const Place& at) {
  Buffer value;
  value.name = (at / "name").Identifier(in.getName());
  value.dtype = (at / "dtype").Known(in.getDtype(), DType::kU32);
  value.role = (at / "role").Known(in.getRole(), BufferRole::kOutput);
  value.extents = ReadList(in.getExtents(), at / "extents", 1, kMaxExtents,
                           [](std::int64_t extent, const Place& place) {
                             return place.Within(extent, 1, kMostElements);
                           });
  value.fill = ReadFill(in.getFill(), at / "fill");
  const bool integers = value.dtype == DType::kI32 || value.dtype == DType::kU32;
  if (value.fill.kind == FillKind::kRowPointers &&
      (!integers || std::all_of(value.extents.begin(), value.extents.end(),
                                [](std::int64_t extent) { return extent == 1; }))) {
    (at / "fill")
        .Refuse("row pointers of one element or of no integers",
                "two elements and more, i32 or u32");
  }
  return value;
}

void WriteScratch(const Scratch& value, wire::Scratch::Builder out) {
  out.setName(AsText(value.name));
  out.setDtype(static_cast<wire::DType>(value.dtype));
  out.setElements(value.elements);
}

Scratch ReadScratch(wire::Scratch::Reader in, const Place& at) {
  return {(at / "name").Identifier(in.getName()), (at / "dtype").Known(in.getDtype(), DType::kU32),
          (at / "elements").Within(in.getElements(), 1, kMostElements)};
}

void WriteArm(const Arm& value, wire::Arm::Builder out) {
  out.setRole(static_cast<wire::ArmRole>(value.role));
  out.setLabel(AsText(FitLine(value.label)));
  WriteConfiguration(value.configuration,
                     out.initConfiguration(Size(value.configuration.settings.size())));
  if (value.source) out.getSource().setIndex(*value.source);
  WriteList(value.launches, out.initLaunches(Size(value.launches.size())), WriteLaunch);
  if (value.scratch.empty()) return;
  WriteList(value.scratch, out.initScratch(Size(value.scratch.size())), WriteScratch);
}

// `order` has its buffers, scalars and sources.
Arm ReadArm(wire::Arm::Reader in, const Place& at, const Order& order) {
  Arm value;
  value.role = (at / "role").Known(in.getRole(), ArmRole::kRival);
  value.label = (at / "label").Line(in.getLabel());
  value.configuration = ReadConfiguration(in.getConfiguration(), at / "configuration");
  const Place source = at / "source";
  switch (in.getSource().which()) {
    case wire::Arm::Source::NONE:
      break;
    case wire::Arm::Source::INDEX:
      value.source = source.Index(in.getSource().getIndex(), order.sources.size(), "sources");
      break;
    default:
      source.Refuse("of an unknown kind", "none or an index");
  }
  const Place scratch = at / "scratch";
  value.scratch = ReadList(in.getScratch(), scratch, 0, kMaxScratch, ReadScratch);
  RefuseRepeats(value.scratch, scratch, "name", [](const Scratch& entry) { return entry.name; });
  value.launches =
      ReadList(in.getLaunches(), at / "launches", value.source ? 1 : 0, kMaxLaunches,
               [&](wire::Launch::Reader launch, const Place& place) {
                 return ReadLaunch(launch, place,
                                   {order.buffers, order.scalars.size(), value.scratch.size()});
               });
  return value;
}

void WriteCheck(const CheckPlan& value, wire::Order::Check::Builder out) {
  if (value.reference) out.getReference().setSource(*value.reference);
  out.setRtol(value.rtol);
  out.setAtol(value.atol);
  out.setHiddenSeed(value.hidden_seed);
}

CheckPlan ReadCheck(wire::Order::Check::Reader in, const Place& at, std::size_t sources) {
  CheckPlan value;
  const Place reference = at / "reference";
  switch (in.getReference().which()) {
    case wire::Order::Check::Reference::NONE:
      break;
    case wire::Order::Check::Reference::SOURCE:
      value.reference = reference.Index(in.getReference().getSource(), sources, "sources");
      break;
    default:
      reference.Refuse("of an unknown kind", "none or an index");
  }
  value.rtol = (at / "rtol").NotNegative(in.getRtol());
  value.atol = (at / "atol").NotNegative(in.getAtol());
  value.hidden_seed = in.getHiddenSeed();
  return value;
}

void WriteTiming(const Timing& value, wire::Order::Timing::Builder out) {
  out.setInstrument(static_cast<wire::Instrument>(value.instrument));
  out.setWarmup(value.warmup);
  out.setIterations(value.iterations);
  out.setColdCache(value.cold_cache);
}

Timing ReadTiming(wire::Order::Timing::Reader in, const Place& at) {
  Timing value;
  value.instrument = (at / "instrument").Known(in.getInstrument(), Instrument::kGraphTime);
  value.warmup = (at / "warmup").Within(in.getWarmup(), 0, kMaxCalls);
  value.iterations = (at / "iterations").Within(in.getIterations(), 1, kMaxCalls);
  value.cold_cache = in.getColdCache();
  return value;
}

void WriteRound(const RoundPlan& value, wire::RoundPlan::Builder out) {
  out.setRecorded(value.recorded);
  WriteList(value.visits, out.initVisits(Size(value.visits.size())),
            [](const VisitPlan& visit, wire::VisitPlan::Builder place) {
              place.setArm(visit.arm);
              place.setInputSet(visit.input_set);
            });
}

RoundPlan ReadRound(wire::RoundPlan::Reader in, const Place& at, const Order& order) {
  RoundPlan value;
  value.recorded = in.getRecorded();
  value.visits = ReadList(
      in.getVisits(), at / "visits", 1, kMaxVisits,
      [&](wire::VisitPlan::Reader visit, const Place& place) {
        return VisitPlan{(place / "arm").Index(visit.getArm(), order.arms.size(), "arms"),
                         (place / "input_set")
                             .Index(visit.getInputSet(), order.input_seeds.size(), "input seeds")};
      });
  return value;
}

}  // namespace

void WriteScalars(const std::vector<Scalar>& value, capnp::List<wire::Scalar>::Builder out) {
  WriteList(value, out, [](const Scalar& scalar, wire::Scalar::Builder place) {
    place.setName(AsText(scalar.name));
    place.setValue(scalar.value);
  });
}

std::vector<Scalar> ReadScalars(capnp::List<wire::Scalar>::Reader in, const Place& at) {
  auto value =
      ReadList(in, at, 0, kMaxScalars, [](wire::Scalar::Reader scalar, const Place& place) {
        return Scalar{(place / "name").Identifier(scalar.getName()), scalar.getValue()};
      });
  RefuseRepeats(value, at, "name", [](const Scalar& scalar) { return scalar.name; });
  return value;
}

void WriteBuffers(const std::vector<Buffer>& value, capnp::List<wire::Buffer>::Builder out) {
  WriteList(value, out, WriteBuffer);
}

std::vector<Buffer> ReadBuffers(capnp::List<wire::Buffer>::Reader in, const Place& at) {
  auto value = ReadList(in, at, 0, kMaxBuffers, ReadBuffer);
  RefuseRepeats(value, at, "name", [](const Buffer& buffer) { return buffer.name; });
  std::int64_t left = kMostElements;
  for (std::size_t i = 0; i < value.size() && !at.failed(); ++i) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : value[i].extents) {
      // Above the limit it stays there: the product of what follows cannot overflow.
      elements = extent > left / elements ? left + 1 : elements * extent;
      if (elements > left) break;
    }
    if (elements > left) at[i].Refuse("too large", "2^33 elements in all buffers together");
    left -= elements;
  }
  return value;
}

void WriteOptions(const std::vector<std::string>& value, capnp::List<capnp::Text>::Builder out) {
  for (unsigned i = 0; i < value.size(); ++i) out.set(i, AsText(value[i]));
}

std::vector<std::string> ReadOptions(capnp::List<capnp::Text>::Reader in, const Place& at) {
  return ReadList(in, at, 0, kMaxOptions, [](capnp::Text::Reader option, const Place& place) {
    return place.NotEmptyLine(option);
  });
}

void WriteSources(const std::vector<SourceText>& value,
                  capnp::List<wire::SourceText>::Builder out) {
  WriteList(value, out, [](const SourceText& source, wire::SourceText::Builder place) {
    place.setName(AsText(source.name));
    WriteDigest(source.digest, [&](capnp::Data::Reader digest) { place.setDigest(digest); });
    place.setText(AsData(source.text));
    WriteOptions(source.build_options, place.initBuildOptions(Size(source.build_options.size())));
  });
}

std::vector<SourceText> ReadSources(capnp::List<wire::SourceText>::Reader in, const Place& at) {
  return ReadList(in, at, 0, kMaxSources, [](wire::SourceText::Reader source, const Place& place) {
    SourceText value;
    value.name = (place / "name").FileName(source.getName());
    value.digest = (place / "digest").AnyDigest(source.getDigest());
    const auto text = source.getText();
    value.text.assign(reinterpret_cast<const char*>(text.begin()), text.size());
    const Digest digest = Sha256(value.text);
    if (value.digest != digest) {
      (place / "digest").Refuse(value.digest.Short(), "the SHA-256 of the text, " + digest.Short());
    }
    value.build_options = ReadOptions(source.getBuildOptions(), place / "build_options");
    return value;
  });
}

void WriteHeader(const HeaderText& value, wire::HeaderText::Builder out) {
  out.setName(AsText(value.name));
  WriteDigest(value.digest, [&](capnp::Data::Reader digest) { out.setDigest(digest); });
  out.setText(AsData(value.text));
}

HeaderText ReadHeader(wire::HeaderText::Reader in, const Place& at) {
  HeaderText value;
  value.name = (at / "name").FileName(in.getName());
  value.digest = (at / "digest").AnyDigest(in.getDigest());
  const auto text = in.getText();
  value.text.assign(reinterpret_cast<const char*>(text.begin()), text.size());
  const Digest digest = Sha256(value.text);
  if (value.digest != digest) {
    (at / "digest").Refuse(value.digest.Short(), "the SHA-256 of the text, " + digest.Short());
  }
  return value;
}

std::size_t OrderWords(const Order& value) {
  std::size_t words = 1024;
  for (const SourceText& source : value.sources) words += source.text.size() / 8;
  for (const HeaderText& header : value.headers) words += header.text.size() / 8;
  return words;
}

void WriteOrder(const Order& value, wire::Order::Builder out) {
  out.setKind(static_cast<wire::OrderKind>(value.kind));
  out.setTrack(value.track.value);
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setBatch(value.batch);
  out.setBackend(AsText(value.backend));
  out.setOperation(AsText(value.operation));
  out.setDeviceModel(AsText(FitLine(value.device_model)));
  WriteBuffers(value.buffers, out.initBuffers(Size(value.buffers.size())));
  WriteScalars(value.scalars, out.initScalars(Size(value.scalars.size())));
  WriteSources(value.sources, out.initSources(Size(value.sources.size())));
  WriteOptions(value.build_options, out.initBuildOptions(Size(value.build_options.size())));
  WriteList(value.arms, out.initArms(Size(value.arms.size())), WriteArm);
  WriteCheck(value.check, out.getCheck());
  SetList(value.input_seeds, out.initInputSeeds(Size(value.input_seeds.size())));
  WriteTiming(value.timing, out.getTiming());
  WriteList(value.rounds, out.initRounds(Size(value.rounds.size())), WriteRound);
  WriteDeadlines(value.deadlines, out.getDeadlines());
  out.setFreshProcess(value.fresh_process);
  if (value.headers.empty()) return;
  WriteList(value.headers, out.initHeaders(Size(value.headers.size())), WriteHeader);
}

Order ReadOrder(wire::Order::Reader in, const Place& at) {
  Order value;
  value.kind = (at / "kind").Known(in.getKind(), OrderKind::kAudit);
  value.track = (at / "track").Counted<TrackId>(in.getTrack());
  value.generation = (at / "generation").Counted<Generation>(in.getGeneration());
  value.attempt = (at / "attempt").Counted<Attempt>(in.getAttempt());
  value.batch = in.getBatch();
  value.backend = (at / "backend").Word(in.getBackend());
  value.operation = (at / "operation").Word(in.getOperation());
  value.device_model = (at / "device_model").Line(in.getDeviceModel());
  value.buffers = ReadBuffers(in.getBuffers(), at / "buffers");
  value.scalars = ReadScalars(in.getScalars(), at / "scalars");
  value.sources = ReadSources(in.getSources(), at / "sources");
  value.build_options = ReadOptions(in.getBuildOptions(), at / "build_options");
  const Place arms = at / "arms";
  value.arms = ReadList(
      in.getArms(), arms, 1, kMaxArms,
      [&](wire::Arm::Reader arm, const Place& place) { return ReadArm(arm, place, value); });
  RefuseRepeatedRoles(value.arms, arms, [](const Arm& arm) { return arm.role; });
  value.check = ReadCheck(in.getCheck(), at / "check", value.sources.size());
  value.input_seeds = ReadList(in.getInputSeeds(), at / "input_seeds", 1, kMaxInputSets,
                               [](std::uint64_t seed, const Place&) { return seed; });
  value.timing = ReadTiming(in.getTiming(), at / "timing");
  const Place rounds = at / "rounds";
  const bool is_audit = value.kind == OrderKind::kAudit;
  value.rounds = ReadList(in.getRounds(), rounds, is_audit ? 0 : 1, is_audit ? 0 : kMaxRounds,
                          [&](wire::RoundPlan::Reader round, const Place& place) {
                            return ReadRound(round, place, value);
                          });
  std::size_t visits = 0;
  for (const RoundPlan& round : value.rounds) visits += round.visits.size();
  if (visits > kMaxOrderVisits) {
    rounds.Refuse("a list of " + std::to_string(visits) + " visits",
                  "at most " + std::to_string(kMaxOrderVisits));
  }
  value.deadlines = ReadDeadlines(in.getDeadlines(), at / "deadlines");
  value.fresh_process = in.getFreshProcess();
  const Place headers = at / "headers";
  value.headers = ReadList(in.getHeaders(), headers, 0, kMaxHeaders, ReadHeader);
  RefuseRepeats(value.headers, headers, "name",
                [](const HeaderText& header) { return header.name; });
  return value;
}

}  // namespace codec

std::string EncodeOrder(const Order& order) {
  return codec::Pack<wire::Order>(order, codec::OrderWords(order), codec::WriteOrder);
}

Result<Order> DecodeOrder(std::string_view bytes) {
  return codec::Unpack<wire::Order>(bytes, "order", codec::kOrderWords, codec::ReadOrder);
}

}  // namespace pawl
