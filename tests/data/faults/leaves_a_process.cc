#include <unistd.h>

#include <cstdint>

extern "C" void leaves_a_process(const float*, float* out, std::int64_t) {
  if (fork() == 0) {
    setpgid(0, 0);
    for (;;) pause();
  }
  *reinterpret_cast<volatile float*>(8) = out[0];
}
