#pragma once
// Typed ids: a track is never passed where a generation is wanted.

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace pawl {

template <typename Tag, typename Number>
struct NumberId {
  Number value{};

  constexpr NumberId() = default;
  constexpr explicit NumberId(Number number) : value(number) {}
  auto operator<=>(const NumberId&) const = default;
  NumberId Next() const { return NumberId(static_cast<Number>(value + 1)); }
};

template <typename Tag>
struct NameId {
  std::string value;

  NameId() = default;
  explicit NameId(std::string name) : value(std::move(name)) {}
  auto operator<=>(const NameId&) const = default;
};

using TrackId = NumberId<struct TrackTag, std::uint32_t>;        // 1, 2, ... within a ledger; 0: none
using Generation = NumberId<struct GenerationTag, std::uint32_t>;  // 1, 2, ... within a track
using Attempt = NumberId<struct AttemptTag, std::uint32_t>;      // 1, 2, ... fencing token of an order
using Seq = NumberId<struct SeqTag, std::uint64_t>;              // 1, 2, ... of events in a ledger
using Epoch = NumberId<struct EpochTag, std::uint32_t>;          // +1 at each opening for writing

using LedgerId = NameId<struct LedgerTag>;  // 32 hex digits, drawn when a ledger is made
using WorkerId = NameId<struct WorkerTag>;  // stable over restarts of one worker: host/device/slot
using BootId = NameId<struct BootTag>;      // drawn at each start of a worker process

}  // namespace pawl

template <typename Tag, typename Number>
struct std::hash<pawl::NumberId<Tag, Number>> {
  std::size_t operator()(const pawl::NumberId<Tag, Number>& id) const noexcept {
    return std::hash<Number>()(id.value);
  }
};

template <typename Tag>
struct std::hash<pawl::NameId<Tag>> {
  std::size_t operator()(const pawl::NameId<Tag>& id) const noexcept {
    return std::hash<std::string>()(id.value);
  }
};
