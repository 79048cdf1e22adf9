#pragma once
// Global memory of one arm on the emulated device: the order's buffers, then the arm's scratch.

#include <cstdint>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/emulated/watch.h"
#include "worker/device/host/guarded.h"

namespace pawl {

struct ArmMemory {
  // Nothing is in it yet. Errors as GuardedMemory's.
  static Result<ArmMemory> Allocate(const Order& order, const Arm& arm);

  std::vector<GuardedMemory> guarded;
  std::vector<GlobalRange> ranges;  // at guarded's places
};

// What an order takes of this machine at most, while one of its arms is checked: input sets with
// their references, the arm's memory, and the watch's if accesses are watched.
std::uint64_t MemoryFor(const Order& order, bool watched);

}  // namespace pawl
