#pragma once
// What `pawl measure` prints of one measurement.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coordinator/search/measurement.h"

namespace pawl {

// For people, several lines. `result` has a report.
std::string MeasuredText(const Measurement& measurement, const ErrandResult& result, bool colour);

// One object; the keys are in docs/commands.md. `result` has a report.
nlohmann::json MeasuredJson(const Measurement& measurement, const ErrandResult& result);

}  // namespace pawl
