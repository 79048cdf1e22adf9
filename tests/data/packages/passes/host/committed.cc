#include <cstdint>

extern "C" void passes_committed(const float* X, float* Y, std::int64_t n) {
  for (int pass = 0; pass < 100; ++pass) {
    for (std::int64_t i = 0; i < n; ++i) Y[i] = X[i] * 1.5f + 1.0f;
    asm volatile("" ::: "memory");
  }
}
