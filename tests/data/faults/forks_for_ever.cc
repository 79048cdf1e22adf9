#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

// All of them fork until they cannot any more. Aborts after 4000: nobody stops it.
extern "C" void forks_for_ever(const float* in, float* out, std::int64_t n) {
  static std::atomic<int>* const count = static_cast<std::atomic<int>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  static bool begun = false;
  if (!begun) {
    begun = true;
    const pid_t first = getpid();
    while (count->load() < 4000) {
      if (fork() < 0) break;
      ++*count;
    }
    if (getpid() != first) {
      for (;;) pause();
    }
    if (count->load() >= 4000) abort();
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
}
