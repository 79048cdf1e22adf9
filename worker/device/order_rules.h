#pragma once
// What every device asks of an order before anything is built, and what names its problem. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// An error, which begins with `device`: the order is for another backend, an arm has no source or
// no launch, an argument points at nothing, or a visit asks for an arm or an input set that the
// order does not have.
Status ValidateArms(const Order& order, const std::string& device, const std::string& backend);

// An error: the order's instrument is none of `have`, or nothing is timed in a visit. Says nothing
// of an order without rounds.
Status ValidateTiming(const Order& order, const std::string& device,
                      const std::vector<Instrument>& have);

// Why an order is not taken whose buffers and references need more than a runner may take.
Error TooLarge(const std::string& device, const Order& order, std::uint64_t bytes,
               std::uint64_t allowed);

// Adds what an input set and its reference hang on, but for the seed: the reference's text, the
// buffers and the scalars. The order names a reference.
void AddProblem(const Order& order, Hasher& hasher);

// Of an input set and its expected outputs on a device of this kind; `sibling`: the set that
// differs from the seed's own in some elements.
Digest InputSetKey(const Order& order, const std::string& device, std::uint64_t seed, bool sibling);

// What a check's outcome depends on beside the object and the arm's launches: the problem, the
// bounds, the seeds.
void AddCheck(const Order& order, Hasher& hasher);

}  // namespace pawl
