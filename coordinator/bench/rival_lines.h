#pragma once
// What a rival and `pawl bench` say to each other: one JSON object a line, a request, then its
// answer. Pure. The words are in docs/bench.md.
//
// What a rival answers is anything at all until it has been parsed here. An error says what was
// seen, at most kMostQuoted bytes of it, and what is wanted.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

inline constexpr int kRivalProtocol = 1;
inline constexpr std::size_t kMostQuoted = 120;
inline constexpr std::size_t kMostRivalLine = 1 << 20;  // bytes

// The requests; `folder` has the set's files. An order's shape, buffers and timing.
std::string PrepareLine(const Order& order, const std::string& folder);
std::string RunLine(std::uint32_t warmup, std::uint32_t iterations);
std::string WriteLine(const Order& order, const std::string& folder);
std::string QuitLine();

// A buffer's file in a set's folder.
std::string InputFile(const Buffer& buffer, const std::string& folder);
std::string OutputFile(const Buffer& buffer, const std::string& folder);

struct RivalPrepared {
  std::vector<std::pair<std::string, std::string>> versions;  // "torch", "2.5.1+cu124"
};
struct RivalAbsent {
  std::string why;
};
using PrepareAnswer = std::variant<RivalPrepared, RivalAbsent>;
Result<PrepareAnswer> ParsePrepared(std::string_view line);

// The times of all iterations, in microseconds, finite and above 0.
Result<std::vector<double>> ParseTimes(std::string_view line, std::uint32_t iterations);

Status ParseWritten(std::string_view line);

// Text of any origin as one line of printable UTF-8, cut to `most` bytes.
std::string Quotable(std::string_view text, std::size_t most = kMostQuoted);

}  // namespace pawl
