#pragma once
// The summary of a visit: the median, for an even count the mean of the middle two.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "schema/check.h"

namespace pawl {

inline double Median(std::vector<double> values) {
  CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace pawl
