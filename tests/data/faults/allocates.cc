#include <cstdint>
#include <cstring>

extern "C" void allocates(const float*, float* out, std::int64_t) {
  for (;;) {
    char* more = new char[1 << 20];
    std::memset(more, 1, 1 << 20);
    out[0] = more[7];
  }
}
