#pragma once
// One output against its float64 reference: every element, |out - ref| <= atol + rtol * |ref|, all
// finite, the bound too. Reads each array about once: as quick as memory.

#include <cstdint>
#include <string>

#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

struct Comparison {
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  double max_abs_error = 0;  // infinity when an element is not finite
  std::int64_t worst =
      -1;              // flat index of the element furthest outside its bound; -1: none is wrong
  std::string detail;  // of the worst; empty when none is wrong

  bool operator==(const Comparison&) const = default;
};

// `output`: buffer.Elements() of buffer.dtype; `reference`: as many doubles, all finite.
Comparison Compare(const Buffer& buffer, const void* output, const double* reference, double rtol,
                   double atol);

// "C[3,17]" of a flat index.
std::string ElementName(const Buffer& buffer, std::int64_t flat);

}  // namespace pawl
