#pragma once
// Input sets on the GPU, with what the outputs must then be in float64: made once by (buffers,
// scalars, reference, seed), the expected outputs by the operation's own reference, a thread an
// element; kept on the GPU for the last few problems.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/cuda/builder.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/gpu_tools.h"

namespace pawl {

struct GpuInputSet {
  std::vector<GpuMemory> contents;  // by buffer; none for outputs
  std::vector<GpuMemory> expected;  // by buffer, doubles; none for inputs
};

struct GpuOrderSets {
  std::vector<std::shared_ptr<const GpuInputSet>> timed;  // as Order::input_seeds
  std::shared_ptr<const GpuInputSet> hidden;
  // The first timed set with about one input element in 128 drawn anew (worker/device/fill.h).
  std::shared_ptr<const GpuInputSet> sibling;
};

class GpuInputSets {
 public:
  GpuInputSets(const Gpu& gpu, GpuTools& tools, Builder& builder)
      : gpu_(gpu), tools_(tools), builder_(builder) {}

  // `alive` is called between parts of the work. Errors: the order names no reference or no timed
  // set; the reference does not compile or run; it gives an element that is not finite; no memory.
  // They are no arm's fault.
  Result<GpuOrderSets> Of(const Order& order, const std::function<void()>& alive);

 private:
  struct Kept {
    Digest key;
    std::shared_ptr<const GpuInputSet> set;
    std::size_t bytes = 0;
  };
  class Reference;
  using Fill = void (*)(const Buffer&, std::uint32_t, std::uint64_t, void*);

  Result<std::shared_ptr<const GpuInputSet>> Take(const Order& order, std::uint64_t seed, Fill fill,
                                                  std::unique_ptr<Reference>& reference,
                                                  const std::function<void()>& alive);
  Result<std::shared_ptr<const GpuInputSet>> Make(const Order& order, std::uint64_t seed, Fill fill,
                                                  std::unique_ptr<Reference>& reference,
                                                  const std::function<void()>& alive);

  const Gpu& gpu_;
  GpuTools& tools_;
  Builder& builder_;
  std::list<Kept> kept_;  // the most recently used first
};

}  // namespace pawl
