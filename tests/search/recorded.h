#pragma once
// The field note's recorded ledgers (tests/data/rtx4090) as reports and configurations.

#include <optional>
#include <string>
#include <vector>

#include "schema/configuration.h"
#include "schema/report.h"

namespace pawl {

struct RecordedGeneration {
  std::uint32_t generation = 0;
  std::string knob;
  KnobValue to;
  Configuration candidate;  // as measured: repaired
  std::optional<Change> repair;
  bool valid = true;
  std::string invalid_reason;
  std::vector<std::vector<ArmRole>> orders;  // by round
  Report report;
  std::optional<double> ratio;
  std::optional<double> control_drift;
  bool kept = false;            // by the rule of the day
  bool kept_by_median = false;  // by the rule as restated
};

struct RecordedLedger {
  Configuration start;
  std::vector<RecordedGeneration> generations;
};

// `name`: "matmul", "layer_norm". Throws on anything unexpected: a test's data is part of the test.
RecordedLedger ReadRecorded(const std::string& name);

}  // namespace pawl
