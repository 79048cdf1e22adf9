#pragma once
// A bench's result for people, and as an object an arm. Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coordinator/bench/bench.h"

namespace pawl {

std::string BenchText(const BenchResult& result, bool colour);

// One an arm, in the ring's order, each complete by itself; the keys are in docs/bench.md.
std::vector<nlohmann::json> BenchJson(const BenchResult& result);

}  // namespace pawl
