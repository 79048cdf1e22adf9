#pragma once
// Keys that job files and manifests have in common, each taken out of a table and checked. A key
// that is absent leaves its field as it was; errors carry file and line.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/search/job.h"
#include "kernels/document.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

inline constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMostInFlight = 256;     // candidates of one track at once
inline constexpr std::int64_t kMostCalls = 1'000'000;  // warm-up or timed, of one visit

// Something that a person reads in one line of a table.
bool IsLine(const std::string& text);

// Letters, digits, '_' and '-', 64 at most: what may name a file or folder, on every system.
bool IsFileStem(const std::string& text);

// A whole number from `low` to `high` into a field of any integer type.
template <typename T>
Status TakeInteger(Table& table, std::string_view key, std::int64_t low, std::int64_t high,
                   std::optional<T>& into) {
  auto value = table.OptionalInteger(key, low, high);
  if (!value) return value.error();
  if (*value) into = static_cast<T>(**value);
  return {};
}

// One line of text.
Status TakeLine(Table& table, std::string_view key, std::optional<std::string>& into);
// The name of a file or folder.
Status TakeName(Table& table, std::string_view key, std::optional<std::string>& into);
// A word out of a few.
Status TakeChoice(Table& table, const std::string& key, const std::vector<std::string>& known,
                  std::optional<std::string>& into);
// `instrument`.
Status TakeInstrument(Table& table, std::optional<Instrument>& into);
// `shape`: letters and their extents, in file order.
Status TakeShape(Table& table, std::optional<std::vector<Scalar>>& into);
// `structure`, or `structures`: several, joined by '+' (kernels/compound.h).
Status TakeStructure(Table& table, std::optional<std::string>& into);
// A table of knobs and values, with the place of each. A table in it is a structure of a compound:
// "tiled.k_step" and tiled = { k_step = ... } are the same.
Status TakeKnobs(Table& table, std::string_view key, std::vector<StartValue>& into);

// A device as a file in `folder` names it: a replay's file is relative to that folder.
std::string DeviceFrom(const std::string& folder, const std::string& device);

}  // namespace pawl
