#pragma once
// Link messages between worker (DEALER) and coordinator (ROUTER). On the wire each is one frame: an
// envelope (magic "PAWL", major, minor, type, length) and a Cap'n Proto payload; see
// schema/codec.h.
//
// A conversation: HELLO -> WELCOME | REFUSE; READY -> GRANT (and PREPARE hints); BEAT <-> BEAT_ACK
// while it works; REPORT -> ACK | REJECT; CANCEL and DRAIN from the coordinator; RELEASE and BYE
// from the worker.
//
// A person's program says ASK, and hears REPLYs until one is the last.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schema/digest.h"
#include "schema/ids.h"
#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

inline constexpr std::uint8_t kProtocolMajor = 1;
inline constexpr std::uint8_t kProtocolMinor = 1;

// The newest event a peer has seen acknowledged: a witness against a ledger that was rolled back.
struct LedgerHead {
  LedgerId ledger;  // empty: none seen yet
  Seq seq;
  Digest digest;

  bool operator==(const LedgerHead&) const = default;
};

// An attempt that a worker holds or asks about.
struct LeaseKey {
  OrderKind kind = OrderKind::kMeasure;
  TrackId track;
  Generation generation;
  Attempt attempt;
  std::uint32_t batch = 0;

  auto operator<=>(const LeaseKey&) const = default;
};

struct Hello {
  WorkerId worker;
  BootId boot;
  std::string version;  // of pawl-worker
  std::string host;     // its name, for people
  DeviceFacts device;
  std::vector<LeaseKey> held;  // orders it is still working on
  LedgerHead head;

  bool operator==(const Hello&) const = default;
};

struct Welcome {
  LedgerId ledger;
  Epoch epoch;
  std::uint32_t beat_ms = 5'000;   // how often to BEAT
  std::uint32_t lost_ms = 20'000;  // silence after which either side counts the other lost

  bool operator==(const Welcome&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name().
enum class RefuseCode : std::uint8_t {
  kVersion = 0,       // another protocol version: exit
  kNotWanted = 1,     // no track of this coordinator can use the device: exit
  kLedgerBehind = 2,  // the worker has seen a newer head than the ledger holds: exit, alarm
  kNotReady = 3,      // ask again later
};
std::string_view Name(RefuseCode code);

struct Refuse {
  RefuseCode code = RefuseCode::kNotReady;
  std::string why;

  bool operator==(const Refuse&) const = default;
};

struct Ready {
  std::uint32_t credit = 1;  // orders it will take now

  bool operator==(const Ready&) const = default;
};

struct Grant {
  Order order;
  Epoch epoch;
  std::uint32_t lease_ms = 60'000;  // on the worker's own clock, from receipt; beats extend it

  bool operator==(const Grant&) const = default;
};

// A hint: build these into the object cache. May be lost, late or wrong.
struct Prepare {
  std::string backend;
  std::vector<SourceText> sources;
  std::vector<std::string> build_options;
  std::vector<Launch> launches;  // one for each source: what will be called
  std::vector<Buffer> buffers;
  std::vector<Scalar> scalars;

  bool operator==(const Prepare&) const = default;
};

struct Beat {
  std::vector<LeaseKey> held;
  std::uint64_t units_done = 0;  // builds, checks and visits finished since the worker started
  bool runner_alive = false;

  bool operator==(const Beat&) const = default;
};

struct BeatAck {
  std::vector<LeaseKey> unknown;  // of the held ones: stop working on these

  bool operator==(const BeatAck&) const = default;
};

struct ReportMessage {
  Report report;

  bool operator==(const ReportMessage&) const = default;
};

struct Ack {
  LeaseKey key;
  Digest report;    // of the report's bytes: delete it from the spool
  LedgerHead head;  // remember it

  bool operator==(const Ack&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name().
enum class RejectCode : std::uint8_t {
  kUnknownAttempt = 0,  // never granted by this ledger
  kConflict = 1,        // another report of this attempt was taken
  kMalformed = 2,       // decodes, but does not answer its order
  kNotOpenHere = 3,     // of a track that this coordinator does not search now: to be sent again
};
std::string_view Name(RejectCode code);

struct RejectMessage {
  LeaseKey key;
  Digest report;
  RejectCode code = RejectCode::kUnknownAttempt;
  std::string why;
  bool retry = false;  // false: drop it from the spool

  bool operator==(const RejectMessage&) const = default;
};

struct Cancel {
  LeaseKey key;

  bool operator==(const Cancel&) const = default;
};

// No more orders will come: finish what is held, then BYE.
struct Drain {
  bool operator==(const Drain&) const = default;
};

// The worker gives an attempt back unfinished.
struct Release {
  LeaseKey key;
  std::string why;

  bool operator==(const Release&) const = default;
};

struct Bye {
  std::string why;

  bool operator==(const Bye&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name().
enum class AskVerb : std::uint8_t {
  kSubmit = 0,  // `text`, of `file`, at `priority`
  kPause = 1,   // `job`: the order that is out is finished, nothing new is begun
  kResume = 2,
  kCancel = 3,  // likewise, and what is under way is taken back
  kStatus = 4,  // of `job`, or of all: the jobs and the workers that are there
  kWatch = 5,   // what happens from now on, of `job` or of all, until it leaves
};
std::string_view Name(AskVerb verb);  // "submit", ...

// What a person asks of a coordinator that runs.
struct Ask {
  AskVerb verb = AskVerb::kStatus;
  std::string job;   // its name; empty: all (kSubmit: what the file says)
  std::string file;  // kSubmit: for messages
  std::string text;  // kSubmit: the job file
  std::int32_t priority = 0;
  std::string by;    // who asks: "user@host"
  bool json = false;  // how to answer: one JSON object a line, or for people

  bool operator==(const Ask&) const = default;
};
inline constexpr std::int32_t kMaxPriority = 1'000;  // and at least -kMaxPriority

// IF YOU ADD A VALUE: append, and add it to Name().
enum class ReplyCode : std::uint8_t {
  kOk = 0,
  kRefused = 1,  // what was asked is wrong
  kWrong = 2,    // it could not be done now
};
std::string_view Name(ReplyCode code);

struct Reply {
  ReplyCode code = ReplyCode::kOk;
  bool done = true;  // no more will come
  std::string text;  // whole lines; at most kMaxReplyBytes

  bool operator==(const Reply&) const = default;
};
inline constexpr std::size_t kMaxReplyBytes = 64 << 10;

using Message = std::variant<Hello, Welcome, Refuse, Ready, Grant, Prepare, Beat, BeatAck,
                             ReportMessage, Ack, RejectMessage, Cancel, Drain, Release, Bye, Ask, Reply>;

std::string_view Name(const Message& message);  // "HELLO", ...

}  // namespace pawl
