#include <cstdint>

extern "C" void spin(const float*, float* out, std::int64_t) {
  for (volatile bool on = true; on;) out[0] = 1.0f;
}
