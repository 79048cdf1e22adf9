#pragma once
// Bytes <-> value types. The only code that sees Cap'n Proto.
//
// Decoding copies into word-aligned memory, bounds traversal and nesting, catches every kj exception and
// validates: finite numbers, ranges, lengths, known enumerators, indices into the order's own lists. What
// it returns can be used without further checks. Encoding the same value gives the same bytes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schema/event.h"
#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"
#include "schema/snapshot.h"

namespace pawl {

inline constexpr std::size_t kMaxMessageBytes = 1 << 20;  // on the link; longer ones are refused

// The whole frame, envelope included. CHECKs that it is at most kMaxMessageBytes.
std::string EncodeMessage(const Message& message);

// Errors: not ours (magic), another protocol version (names both), unknown type, length, damaged or
// invalid payload (names the field, the value and what is allowed).
Result<Message> DecodeMessage(std::string_view frame);

// Of a frame that may be of another version: nullopt when it is not ours at all.
struct FrameVersion {
  unsigned major = 0;
  unsigned minor = 0;

  bool operator==(const FrameVersion&) const = default;
};
std::optional<FrameVersion> PeekVersion(std::string_view frame);

std::string EncodeOrder(const Order& order);
Result<Order> DecodeOrder(std::string_view bytes);

std::string EncodeReport(const Report& report);
Result<Report> DecodeReport(std::string_view bytes);

// An event as the ledger stores it. Bounds are wider than on the link (what is on our own disk is already
// covered by the hash chain).
std::string EncodeEvent(const Event& event);
Result<Event> DecodeEvent(std::string_view bytes);

std::string EncodeSnapshot(const Snapshot& snapshot);
Result<Snapshot> DecodeSnapshot(std::string_view bytes);

}  // namespace pawl
