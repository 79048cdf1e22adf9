#pragma once
// An order over the smallest operation, out = 2 in + 1, for devices under test: the candidate
// beside committed and incumbent, which both run the right kernel.

#include <cstdint>
#include <string>

#include "schema/order.h"

namespace pawl::test {

SourceText TextSource(const std::string& name, const std::string& text);

// `kernel` over (in, out, n), one block of one thread.
Launch DoubleLaunch(const std::string& kernel);

// A kernel of the operation: its source and the launch of it.
struct DoubleKernel {
  SourceText source;
  Launch launch;
};

// Checked to rtol 1e-5 and atol 1e-6; two rounds on two input sets, 2 warm-ups and 5 iterations a
// visit.
Order DoubleOrder(const std::string& backend, Instrument instrument, const SourceText& reference,
                  const DoubleKernel& right, const DoubleKernel& candidate, std::int64_t n);

}  // namespace pawl::test
