// Link messages: the envelope, and one payload a message type.
//
//   frame    = "PAWL" major minor type reserved length payload
//   major, minor, type, reserved = a byte each; reserved is 0
//   length   = bytes of the payload, 4 bytes, little endian
//   payload  = Cap'n Proto, canonical, of the type's struct in link.capnp
//
// Magic and major never move: a frame of another major version is refused before anything else of
// it is read. Types are numbered by their place in Message, from 1, and only appended to.

#include <array>
#include <utility>

#include "schema/check.h"
#include "schema/codec.h"
#include "schema/codec_bytes.h"
#include "schema/codec_private.h"
#include "schema/link.capnp.h"

namespace pawl {
namespace codec {
namespace {

constexpr std::string_view kMagic = "PAWL";
constexpr std::size_t kEnvelopeBytes = 12;
constexpr std::size_t kMaxHeld = 256;
constexpr std::size_t kMaxPrepared = 64;
constexpr std::uint32_t kMaxCredit = 1024;

void WriteHead(const LedgerHead& value, wire::LedgerHead::Builder out) {
  out.setLedger(AsText(value.ledger.value));
  out.setSeq(value.seq.value);
  WriteDigest(value.digest, [&](capnp::Data::Reader digest) { out.setDigest(digest); });
}

LedgerHead ReadHead(wire::LedgerHead::Reader in, const Place& at) {
  LedgerHead value;
  if (in.getLedger().size() != 0)
    value.ledger = LedgerId((at / "ledger").LedgerName(in.getLedger()));
  value.seq = Seq(in.getSeq());
  value.digest = (at / "digest").AnyDigest(in.getDigest());
  return value;
}

void WriteKey(const LeaseKey& value, wire::LeaseKey::Builder out) {
  out.setKind(static_cast<wire::OrderKind>(value.kind));
  out.setTrack(value.track.value);
  out.setGeneration(value.generation.value);
  out.setAttempt(value.attempt.value);
  out.setBatch(value.batch);
}

LeaseKey ReadKey(wire::LeaseKey::Reader in, const Place& at) {
  LeaseKey value;
  value.kind = (at / "kind").Known(in.getKind(), OrderKind::kAudit);
  value.track = (at / "track").Counted<TrackId>(in.getTrack());
  value.generation = (at / "generation").Counted<Generation>(in.getGeneration());
  value.attempt = (at / "attempt").Counted<Attempt>(in.getAttempt());
  value.batch = in.getBatch();
  return value;
}

void WriteMessage(const Hello& value, wire::Hello::Builder out) {
  out.setWorker(AsText(value.worker.value));
  out.setBoot(AsText(value.boot.value));
  out.setVersion(AsText(FitLine(value.version)));
  out.setHost(AsText(FitLine(value.host)));
  WriteDevice(value.device, out.initDevice());
  WriteList(value.held, out.initHeld(Size(value.held.size())), WriteKey);
  WriteHead(value.head, out.initHead());
}

Hello ReadMessage(wire::Hello::Reader in, const Place& at) {
  Hello value;
  value.worker = WorkerId((at / "worker").Word(in.getWorker()));
  value.boot = BootId((at / "boot").Word(in.getBoot()));
  value.version = (at / "version").Line(in.getVersion());
  value.host = (at / "host").Line(in.getHost());
  value.device = ReadDevice(in.getDevice(), at / "device");
  value.held = ReadList(in.getHeld(), at / "held", 0, kMaxHeld, ReadKey);
  value.head = ReadHead(in.getHead(), at / "head");
  return value;
}

void WriteMessage(const Welcome& value, wire::Welcome::Builder out) {
  out.setLedger(AsText(value.ledger.value));
  out.setEpoch(value.epoch.value);
  out.setBeatMs(value.beat_ms);
  out.setLostMs(value.lost_ms);
}

Welcome ReadMessage(wire::Welcome::Reader in, const Place& at) {
  Welcome value;
  value.ledger = LedgerId((at / "ledger").LedgerName(in.getLedger()));
  value.epoch = Epoch(in.getEpoch());
  value.beat_ms = (at / "beat_ms").Within(in.getBeatMs(), 1, kMaxDurationMs);
  value.lost_ms = (at / "lost_ms").Within(in.getLostMs(), value.beat_ms, kMaxDurationMs);
  return value;
}

void WriteMessage(const Refuse& value, wire::Refuse::Builder out) {
  out.setCode(static_cast<wire::RefuseCode>(value.code));
  out.setWhy(AsText(FitLine(value.why)));
}

Refuse ReadMessage(wire::Refuse::Reader in, const Place& at) {
  return {(at / "code").Known(in.getCode(), RefuseCode::kNotReady), (at / "why").Line(in.getWhy())};
}

void WriteMessage(const Ready& value, wire::Ready::Builder out) { out.setCredit(value.credit); }

Ready ReadMessage(wire::Ready::Reader in, const Place& at) {
  return {(at / "credit").Within(in.getCredit(), 0, kMaxCredit)};
}

void WriteMessage(const Grant& value, wire::Grant::Builder out) {
  WriteOrder(value.order, out.initOrder());
  out.setEpoch(value.epoch.value);
  out.setLeaseMs(value.lease_ms);
}

Grant ReadMessage(wire::Grant::Reader in, const Place& at) {
  Grant value;
  value.order = ReadOrder(in.getOrder(), at / "order");
  value.epoch = Epoch(in.getEpoch());
  value.lease_ms = (at / "lease_ms").Within(in.getLeaseMs(), 1, kMaxDurationMs);
  return value;
}

void WriteMessage(const Prepare& value, wire::Prepare::Builder out) {
  out.setBackend(AsText(value.backend));
  WriteSources(value.sources, out.initSources(Size(value.sources.size())));
  WriteOptions(value.build_options, out.initBuildOptions(Size(value.build_options.size())));
  WriteList(value.launches, out.initLaunches(Size(value.launches.size())), WriteLaunch);
  WriteBuffers(value.buffers, out.initBuffers(Size(value.buffers.size())));
  WriteScalars(value.scalars, out.initScalars(Size(value.scalars.size())));
}

Prepare ReadMessage(wire::Prepare::Reader in, const Place& at) {
  Prepare value;
  value.backend = (at / "backend").Word(in.getBackend());
  value.sources = ReadSources(in.getSources(), at / "sources");
  value.build_options = ReadOptions(in.getBuildOptions(), at / "build_options");
  value.buffers = ReadBuffers(in.getBuffers(), at / "buffers");
  value.scalars = ReadScalars(in.getScalars(), at / "scalars");
  const Place launches = at / "launches";
  value.launches =
      ReadList(in.getLaunches(), launches, 0, kMaxPrepared,
               [&](wire::Launch::Reader launch, const Place& place) {
                 return ReadLaunch(launch, place, {value.buffers, value.scalars.size(), 0});
               });
  if (value.launches.size() != value.sources.size()) {
    launches.Refuse("a list of " + std::to_string(value.launches.size()),
                    "one for each of " + std::to_string(value.sources.size()) + " sources");
  }
  return value;
}

void WriteMessage(const Beat& value, wire::Beat::Builder out) {
  WriteList(value.held, out.initHeld(Size(value.held.size())), WriteKey);
  out.setUnitsDone(value.units_done);
  out.setRunnerAlive(value.runner_alive);
}

Beat ReadMessage(wire::Beat::Reader in, const Place& at) {
  return {ReadList(in.getHeld(), at / "held", 0, kMaxHeld, ReadKey), in.getUnitsDone(),
          in.getRunnerAlive()};
}

void WriteMessage(const BeatAck& value, wire::BeatAck::Builder out) {
  WriteList(value.unknown, out.initUnknown(Size(value.unknown.size())), WriteKey);
}

BeatAck ReadMessage(wire::BeatAck::Reader in, const Place& at) {
  return {ReadList(in.getUnknown(), at / "unknown", 0, kMaxHeld, ReadKey)};
}

void WriteMessage(const ReportMessage& value, wire::ReportMessage::Builder out) {
  WriteReport(value.report, out.initReport());
}

ReportMessage ReadMessage(wire::ReportMessage::Reader in, const Place& at) {
  return {ReadReport(in.getReport(), at / "report")};
}

void WriteMessage(const Ack& value, wire::Ack::Builder out) {
  WriteKey(value.key, out.initKey());
  WriteDigest(value.report, [&](capnp::Data::Reader digest) { out.setReport(digest); });
  WriteHead(value.head, out.initHead());
}

Ack ReadMessage(wire::Ack::Reader in, const Place& at) {
  return {ReadKey(in.getKey(), at / "key"), (at / "report").AnyDigest(in.getReport()),
          ReadHead(in.getHead(), at / "head")};
}

void WriteMessage(const RejectMessage& value, wire::Reject::Builder out) {
  WriteKey(value.key, out.initKey());
  WriteDigest(value.report, [&](capnp::Data::Reader digest) { out.setReport(digest); });
  out.setCode(static_cast<wire::RejectCode>(value.code));
  out.setWhy(AsText(FitLine(value.why)));
  out.setRetry(value.retry);
}

RejectMessage ReadMessage(wire::Reject::Reader in, const Place& at) {
  return {ReadKey(in.getKey(), at / "key"), (at / "report").AnyDigest(in.getReport()),
          (at / "code").Known(in.getCode(), RejectCode::kNotOpenHere),
          (at / "why").Line(in.getWhy()), in.getRetry()};
}

void WriteMessage(const Cancel& value, wire::Cancel::Builder out) {
  WriteKey(value.key, out.initKey());
}

Cancel ReadMessage(wire::Cancel::Reader in, const Place& at) {
  return {ReadKey(in.getKey(), at / "key")};
}

void WriteMessage(const Drain&, wire::Drain::Builder) {}

Drain ReadMessage(wire::Drain::Reader, const Place&) { return {}; }

void WriteMessage(const Release& value, wire::Release::Builder out) {
  WriteKey(value.key, out.initKey());
  out.setWhy(AsText(FitLine(value.why)));
}

Release ReadMessage(wire::Release::Reader in, const Place& at) {
  return {ReadKey(in.getKey(), at / "key"), (at / "why").Line(in.getWhy())};
}

void WriteMessage(const Bye& value, wire::Bye::Builder out) {
  out.setWhy(AsText(FitLine(value.why)));
}

Bye ReadMessage(wire::Bye::Reader in, const Place& at) { return {(at / "why").Line(in.getWhy())}; }

void WriteMessage(const Ask& value, wire::Ask::Builder out) {
  out.setVerb(static_cast<wire::AskVerb>(value.verb));
  out.setJob(AsText(value.job));
  out.setFile(AsText(FitLine(value.file)));
  out.setText(AsData(value.text));
  out.setPriority(value.priority);
  out.setBy(AsText(FitLine(value.by)));
  out.setJson(value.json);
}

Ask ReadMessage(wire::Ask::Reader in, const Place& at) {
  Ask value;
  value.verb = (at / "verb").Known(in.getVerb(), AskVerb::kWatch);
  value.job = (at / "job").WordOrNothing(in.getJob());
  value.file = (at / "file").Line(in.getFile());
  value.text = (at / "text").Bytes(in.getText(), kMaxJobBytes);
  value.priority = (at / "priority").Within(in.getPriority(), -kMaxPriority, kMaxPriority);
  value.by = (at / "by").Line(in.getBy());
  value.json = in.getJson();
  return value;
}

void WriteMessage(const Reply& value, wire::Reply::Builder out) {
  out.setCode(static_cast<wire::ReplyCode>(value.code));
  out.setDone(value.done);
  out.setText(AsData(value.text));
}

Reply ReadMessage(wire::Reply::Reader in, const Place& at) {
  return {(at / "code").Known(in.getCode(), ReplyCode::kWrong), in.getDone(),
          (at / "text").Bytes(in.getText(), kMaxReplyBytes)};
}

// The struct of link.capnp for a message type, and how large its payload is about and may be.
template <typename Value>
struct Payload;

#define PAWL_PAYLOAD(Value, Wire, root, words)        \
  template <>                                         \
  struct Payload<Value> {                             \
    using Struct = wire::Wire;                        \
    static constexpr const char* kRoot = root;        \
    static constexpr std::uint64_t kMaxWords = words; \
  }
PAWL_PAYLOAD(Hello, Hello, "hello", kLinkWords);
PAWL_PAYLOAD(Welcome, Welcome, "welcome", kLinkWords);
PAWL_PAYLOAD(Refuse, Refuse, "refuse", kLinkWords);
PAWL_PAYLOAD(Ready, Ready, "ready", kLinkWords);
PAWL_PAYLOAD(Grant, Grant, "grant", kOrderWords);
PAWL_PAYLOAD(Prepare, Prepare, "prepare", kOrderWords);
PAWL_PAYLOAD(Beat, Beat, "beat", kLinkWords);
PAWL_PAYLOAD(BeatAck, BeatAck, "beat_ack", kLinkWords);
PAWL_PAYLOAD(ReportMessage, ReportMessage, "report_message", kLinkWords);
PAWL_PAYLOAD(Ack, Ack, "ack", kLinkWords);
PAWL_PAYLOAD(RejectMessage, Reject, "reject", kLinkWords);
PAWL_PAYLOAD(Cancel, Cancel, "cancel", kLinkWords);
PAWL_PAYLOAD(Drain, Drain, "drain", kLinkWords);
PAWL_PAYLOAD(Release, Release, "release", kLinkWords);
PAWL_PAYLOAD(Bye, Bye, "bye", kLinkWords);
PAWL_PAYLOAD(Ask, Ask, "ask", kLinkWords);
PAWL_PAYLOAD(Reply, Reply, "reply", kLinkWords);
#undef PAWL_PAYLOAD

template <typename Value>
std::size_t FirstWords(const Value& value) {
  if constexpr (std::is_same_v<Value, Grant>) {
    return OrderWords(value.order);
  } else {
    return 256;
  }
}

template <typename Value>
std::string PackMessage(const Value& value) {
  using Struct = typename Payload<Value>::Struct;
  return Pack<Struct>(
      value, FirstWords(value),
      [](const Value& message, typename Struct::Builder out) { WriteMessage(message, out); });
}

template <typename Value>
Result<Message> UnpackMessage(std::string_view payload) {
  using Struct = typename Payload<Value>::Struct;
  auto value = Unpack<Struct>(
      payload, Payload<Value>::kRoot, Payload<Value>::kMaxWords,
      [](typename Struct::Reader in, const Place& at) { return ReadMessage(in, at); });
  if (!value) return value.error();
  return Message(*std::move(value));
}

constexpr std::size_t kTypes = std::variant_size_v<Message>;
using Unpacker = Result<Message> (*)(std::string_view payload);

template <std::size_t... kIndex>
constexpr std::array<Unpacker, kTypes> Unpackers(std::index_sequence<kIndex...>) {
  return {UnpackMessage<std::variant_alternative_t<kIndex, Message>>...};
}

unsigned Byte(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

}  // namespace
}  // namespace codec

std::string EncodeMessage(const Message& message) {
  using codec::kEnvelopeBytes;
  const std::string payload =
      std::visit([](const auto& value) { return codec::PackMessage(value); }, message);
  CHECK(payload.size() <= kMaxMessageBytes - kEnvelopeBytes, Name(message), "of", payload.size(),
        "bytes, at most", kMaxMessageBytes - kEnvelopeBytes, "fit into a frame");
  std::string frame;
  frame.reserve(kEnvelopeBytes + payload.size());
  frame += codec::kMagic;
  frame += static_cast<char>(kProtocolMajor);
  frame += static_cast<char>(kProtocolMinor);
  frame += static_cast<char>(message.index() + 1);
  frame += '\0';
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(payload.size() >> shift);
  return frame += payload;
}

std::optional<FrameVersion> PeekVersion(std::string_view frame) {
  if (frame.size() < 6 || frame.substr(0, 4) != codec::kMagic) return std::nullopt;
  return FrameVersion{codec::Byte(frame, 4), codec::Byte(frame, 5)};
}

Result<Message> DecodeMessage(std::string_view frame) {
  using codec::Byte;
  using codec::kEnvelopeBytes;
  static constexpr auto kUnpackers = codec::Unpackers(std::make_index_sequence<codec::kTypes>());
  if (frame.size() > kMaxMessageBytes) {
    return Error{"frame of " + std::to_string(frame.size()) + " bytes, at most " +
                 std::to_string(kMaxMessageBytes) + " wanted"};
  }
  const auto version = PeekVersion(frame);
  if (!version) {
    return Error{"frame of " + std::to_string(frame.size()) +
                 " bytes is not pawl's: it does not begin with 'PAWL' and a version"};
  }
  if (version->major != kProtocolMajor) {
    return Error{"frame of protocol version " + std::to_string(version->major) + '.' +
                 std::to_string(version->minor) + ", this is " + std::to_string(kProtocolMajor) +
                 '.' + std::to_string(kProtocolMinor) +
                 ": use coordinator and worker of one release"};
  }
  if (frame.size() < kEnvelopeBytes) {
    return Error{"frame of " + std::to_string(frame.size()) + " bytes, at least " +
                 std::to_string(kEnvelopeBytes) + " wanted"};
  }
  const unsigned type = Byte(frame, 6);
  if (type < 1 || type > codec::kTypes || Byte(frame, 7) != 0) {
    return Error{"frame of unknown type " + std::to_string(type) + '/' +
                 std::to_string(Byte(frame, 7)) + ", 1 to " + std::to_string(codec::kTypes) +
                 " known to protocol " + std::to_string(kProtocolMajor) + '.' +
                 std::to_string(kProtocolMinor) + " (the frame says " +
                 std::to_string(version->major) + '.' + std::to_string(version->minor) + ')'};
  }
  const std::size_t length = Byte(frame, 8) | Byte(frame, 9) << 8 | Byte(frame, 10) << 16 |
                             static_cast<std::size_t>(Byte(frame, 11)) << 24;
  const std::string_view payload = frame.substr(kEnvelopeBytes);
  if (length != payload.size()) {
    return Error{"frame says " + std::to_string(length) + " bytes of payload and has " +
                 std::to_string(payload.size())};
  }
  return kUnpackers[type - 1](payload);
}

}  // namespace pawl
