#include <cstdint>
#include <cstdio>

extern "C" void floods_the_terminal(const float* in, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = 2.0f * in[i] + 1.0f;
    std::fprintf(stderr, "element %ld is done\n", static_cast<long>(i));
  }
}
