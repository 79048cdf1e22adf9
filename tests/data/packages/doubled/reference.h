// out = 2 in + 1 in float64, an element at a time.
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

PAWL_REFERENCE double reference_out(const float* in, std::int64_t n, std::int64_t i) {
  static_cast<void>(n);
  return 2 * static_cast<double>(in[i]) + 1;
}
