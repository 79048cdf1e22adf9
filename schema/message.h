#pragma once
// Link messages between worker (DEALER) and coordinator (ROUTER). On the wire each is one frame: an
// envelope (magic "PAWL", major, minor, type, length) and a Cap'n Proto payload; see
// schema/codec.h.
//
// A conversation: HELLO -> WELCOME | REFUSE; READY -> GRANT (and PREPARE hints); BEAT <-> BEAT_ACK
// while it works; REPORT -> ACK | REJECT; CANCEL and DRAIN from the coordinator; RELEASE and BYE
// from the worker.

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
inline constexpr std::uint8_t kProtocolMinor = 0;

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

using Message = std::variant<Hello, Welcome, Refuse, Ready, Grant, Prepare, Beat, BeatAck,
                             ReportMessage, Ack, RejectMessage, Cancel, Drain, Release, Bye>;

std::string_view Name(const Message& message);  // "HELLO", ...

}  // namespace pawl
