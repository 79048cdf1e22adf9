#pragma once
// What the CUDA device takes, and what the outcome of a check hangs on. Pure.

#include <vector>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// An error: the order makes no sense on this device, whoever's arms are in it.
Status ValidateCudaOrder(const Order& order, const std::vector<Instrument>& instruments);

// What a check's outcome depends on, beside the object: the problem and the arm's launches. The
// order is valid and names a reference.
Digest CudaCheckKey(const Order& order, const Arm& arm);

}  // namespace pawl
