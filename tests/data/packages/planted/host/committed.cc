#include <cstdint>

extern "C" void planted_committed(const float* X, float* Y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) Y[i] = X[i] + 1.0f;
}
