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

struct OrderSets {
  std::vector<std::shared_ptr<const InputSet>> timed;  // as Order::input_seeds
  std::shared_ptr<const InputSet> hidden;
  // The first timed set with about one input element in 128 drawn anew (worker/device/fill.h): a
  // kernel that knows its inputs again by a few of their elements takes one for the other.
  std::shared_ptr<const InputSet> sibling;
};

class InputSets {
 public:
  InputSets(Compiler& compiler, ObjectCache& cache, std::string scratch, std::uint32_t threads);

  // `alive` is called about every second while a reference is computed. Errors: the order names no
  // reference or no timed set; the reference does not compile or load; it gives an element that is
  // not finite. They are the operation's fault, no arm's.
  Result<OrderSets> Of(const Order& order, const std::function<void()>& alive);

 private:
  struct Kept {
    Digest key;
    std::shared_ptr<const InputSet> set;
    std::size_t bytes = 0;
  };

  using FillFunction = void (*)(const Buffer&, std::uint32_t, std::uint64_t, void*);

  Result<std::shared_ptr<const InputSet>> Take(const Order& order, std::uint64_t seed,
                                               FillFunction fill,
                                               std::unique_ptr<Module>& reference,
                                               const std::function<void()>& alive);
  Result<std::shared_ptr<const InputSet>> Make(const Order& order, std::uint64_t seed,
                                               FillFunction fill, const Digest& key,
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
