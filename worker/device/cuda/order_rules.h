#pragma once
// What the CUDA device takes, what the outcome of a check hangs on, and what visits are worth.
// Pure.

#include <optional>
#include <vector>

#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

// An error: the order makes no sense on this device, whoever's arms are in it.
Status ValidateCudaOrder(const Order& order, const std::vector<Instrument>& instruments);

// What a check's outcome depends on, beside the object: the problem and the arm's launches. The
// order is valid and names a reference.
Digest CudaCheckKey(const Order& order, const Arm& arm);

// Whether an order's arms are worth the second instrument, of those at `have`: a candidate that may
// be kept, and what is confirmed.
bool WorthCapturing(const Order& order, const Report& report, const std::vector<Instrument>& have);

// What rounds are that a throttle has moved the clocks of: they say nothing about the arms. nullopt
// where the clocks held. Reads report.conditions.clock_reasons and each visit's clock_mhz.
std::optional<Outcome> JudgeClocks(const Report& report);

}  // namespace pawl
