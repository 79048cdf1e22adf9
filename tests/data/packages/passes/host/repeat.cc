#include <cstdint>

// pawl: knobs
constexpr int passes = 100;
// pawl: end

extern "C" void passes_repeat(const float* X, float* Y, std::int64_t n) {
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < n; ++i) Y[i] = X[i] * 1.5f + 1.0f;
    asm volatile("" ::: "memory");  // each pass is done, whatever the last one wrote
  }
}
