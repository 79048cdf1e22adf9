#pragma once
// Bytes <-> value types. The only code that sees Cap'n Proto.
//
// Decoding copies into word-aligned memory, bounds traversal and nesting, catches every kj exception and
// validates: finite numbers, ranges, lengths, known enumerators, indices into the order's own lists, one
// line of UTF-8 without control characters where a line is meant. What it returns can be used without
// further checks. An error names the field, what was seen and what is allowed:
// "order.arms[1].source is 9; allowed: an index into 3 sources".
//
// Encoding the same value gives the same bytes, on every machine, and decoding gives the value back.
// One thing is not taken literally: text for people (details, reasons, logs, versions, device and
// toolchain lines), which comes from compilers and drivers, is made fit to be decoded: control
// characters become blanks, what is no UTF-8 '?', and beyond 4096 bytes it is cut and ends in "...".

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
// covered by the hash chain). CHECKs that the event can be decoded again: what could not would make its
// ledger unreadable.
std::string EncodeEvent(const Event& event);
Result<Event> DecodeEvent(std::string_view bytes);

std::string EncodeSnapshot(const Snapshot& snapshot);
Result<Snapshot> DecodeSnapshot(std::string_view bytes);

}  // namespace pawl
