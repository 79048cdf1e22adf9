#pragma once
// A sitting as `pawl capture` keeps and prints it: JSON for the file, a table for people, and back
// from a file to what later sittings are held against. The keys are in docs/commands.md.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/errands.h"
#include "coordinator/search/sitting.h"
#include "schema/event.h"

namespace pawl {

// One sitting: what was asked, and what came back. `result` has a report and its order.
struct SittingRecord {
  LedgerId ledger;
  TrackId track;
  TrackSpec spec;
  std::int64_t unix_ms = 0;
  ErrandResult result;
};

// What it is judged by; without arms where they have no times.
Sitting SittingOf(const SittingRecord& record);

// `slow_earlier`: names of earlier sittings that are slow beside this one.
nlohmann::json SittingJson(const SittingRecord& record, const SittingVerdict& verdict,
                           const std::vector<std::string>& slow_earlier);
std::string SittingText(const SittingRecord& record, const SittingVerdict& verdict,
                        const std::vector<std::string>& slow_earlier, bool colour);

// nullopt: it is none of ours, or too damaged to be compared with.
std::optional<Sitting> ReadSitting(const std::string& name, const std::string& text);

}  // namespace pawl
