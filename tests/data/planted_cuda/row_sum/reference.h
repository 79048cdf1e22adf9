#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

PAWL_REFERENCE double reference_Y(const float* X, std::int64_t, std::int64_t width, std::int64_t r) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(X[r * width + c]);
  return sum;
}
