#pragma once
// Input sets with what the outputs must then be, in float64: made once by (buffers, scalars,
// reference, seed), kept in memory for the last few problems and on disk in the object cache.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/host/compiler.h"
#include "worker/device/host/module.h"
#include "worker/object_cache.h"

namespace pawl {

struct InputSet {
  std::vector<std::vector<std::byte>> contents;  // by buffer; empty for outputs
  std::vector<std::vector<double>> expected;     // by buffer; empty for inputs
};

class InputSets {
 public:
  InputSets(Compiler& compiler, ObjectCache& cache, std::string scratch, std::uint32_t threads);

  // Of the order's timed seeds in their order, then of the hidden one. `alive` is called about
  // every second while a reference is computed. Errors: the order names no reference; it does not
  // compile or load; it gives an element that is not finite. They are the operation's fault, no
  // arm's.
  Result<std::vector<std::shared_ptr<const InputSet>>> Of(const Order& order,
                                                          const std::function<void()>& alive);

 private:
  struct Kept {
    Digest key;
    std::shared_ptr<const InputSet> set;
    std::size_t bytes = 0;
  };

  Result<std::shared_ptr<const InputSet>> Make(const Order& order, std::uint64_t seed,
                                               const Digest& key,
                                               std::unique_ptr<Module>& reference,
                                               const std::function<void()>& alive);
  Status Compute(const Order& order, const Buffer& output, const Module& reference,
                 const InputSet& set, std::vector<double>& expected,
                 const std::function<void()>& alive);
  Result<std::unique_ptr<Module>> LoadReference(const Order& order);

  Compiler& compiler_;
  ObjectCache& cache_;
  const std::string scratch_;
  const std::uint32_t threads_;
  std::list<Kept> kept_;  // the most recently used first
};

}  // namespace pawl
