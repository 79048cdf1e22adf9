#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

PAWL_REFERENCE double reference_Y(const float* X, std::int64_t, std::int64_t i) {
  return 2.0 * static_cast<double>(X[i]);
}
