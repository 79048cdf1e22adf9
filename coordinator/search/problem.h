#pragma once
// Orders over one problem: what they all have in common, and the kernels they are about. Pure: the
// same arguments give the same order to the byte.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/operation.h"
#include "schema/digest.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// How an order over a problem is filled, timed and watched.
struct ProblemTerms {
  std::uint64_t seed = 0;        // of the inputs
  std::uint32_t input_sets = 2;  // timed ones; beside them a hidden one is checked
  Timing timing;
  Deadlines deadlines;  // for a problem of no size
  // false: for a replay, which finds its answer by configuration. No sources; nothing is checked.
  bool with_sources = true;
};

// Buffers, shape, reference, headers, check, input seeds, timing and deadlines; no arms and no
// rounds yet. Errors: the shape, the package's expressions, no reference.
Result<Order> OrderOver(const Operation& operation, const Backend& backend,
                        const std::vector<Scalar>& shape, const ProblemTerms& terms);

// A kernel of a package: the committed one, or a configuration of a structure.
struct Kernel {
  const Structure* structure = nullptr;  // nullptr: the committed kernel
  Configuration configuration;
};

// Adds the kernel as an arm, with its source where the order has a reference to check it against.
// Errors: none is committed at the shape; it has no source; the configuration is not valid there.
Status AddKernel(Order& order, const Operation& operation, const Backend& backend,
                 const Kernel& kernel, ArmRole role, const std::string& label);

// The seeds under which a track and all that is measured beside it fills its inputs.
std::uint64_t InputSeed(std::uint64_t seed, std::uint32_t input_set);
std::uint64_t HiddenSeed(std::uint64_t seed);

// Over all that the arms of an order read: the buffers, their fills and the seeds of every input
// set. Equal digests are equal inputs to the bit.
Digest InputsDigest(const Order& order);

}  // namespace pawl
