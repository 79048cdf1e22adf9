#include <cstdint>

extern "C" void slow(const float* in, float* out, std::int64_t n) {
  for (int pass = 0; pass < 5; ++pass) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
    asm volatile("" : : "r"(out) : "memory");
  }
}
