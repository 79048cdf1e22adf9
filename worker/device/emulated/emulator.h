#pragma once
// Runs a launch: a fiber for each CUDA thread, the blocks of a cluster together, clusters one after
// another. Threads change only where they wait for others, so that the same source, inputs and
// order give the same outcome to the bit and the same findings.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/emulated/kernel_object.h"
#include "worker/device/emulated/watch.h"

namespace pawl {

// Both of each are allowed by CUDA; a correct kernel gives the same outputs under either.
struct RunOrder {
  // Blocks, warps and lanes from the last to the first; and __activemask() is each lane's own, not
  // that of all that are there.
  bool descending = false;
  bool land_at_wait = false;  // asynchronous copies: not as they are asked for
  bool watched = true;        // the unit was compiled with the instrumentation
};

class Emulator {
 public:
  // Global memory is `ranges`: the order's buffers, then the arm's scratch.
  explicit Emulator(std::vector<GlobalRange> ranges);
  ~Emulator();
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  // What is wrong with it, or nothing. `index`: of the launch in its arm. Errors (kRetry): this
  // machine has no memory or no disk for it. Throws std::bad_alloc.
  Result<std::optional<Finding>> Run(KernelObject& kernel, const Launch& launch, std::size_t index,
                                     const std::vector<std::int64_t>& scalars,
                                     const RunOrder& order);
  void Memset(const Launch& launch);

  const Watch& watch() const { return watch_; }
  Watch& watch() { return watch_; }

  struct State;

 private:
  Watch watch_;
  std::unique_ptr<State> state_;
};

}  // namespace pawl
