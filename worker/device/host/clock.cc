#include "worker/device/host/clock.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace pawl {
namespace {

std::int64_t Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t ReadInstrument(Instrument instrument) {
  return Read(instrument == Instrument::kCpuTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC_RAW);
}

// The CPU clock is a system call of 0.2 to 0.5 us; the raw one is read without one, in about 25 ns.
std::int64_t ShortestSpanNs(Instrument instrument) {
  return instrument == Instrument::kCpuTime ? 200'000 : 20'000;
}

double MeasureClockMhz() {
  constexpr int kBlocks = 1'000;
  constexpr int kBlockAdditions = 64;
  double best = 0;
  for (int run = 0; run < 3; ++run) {
    std::uint64_t sum = 1;
    const std::uint64_t term = 3;
    const std::int64_t start = Read(CLOCK_MONOTONIC_RAW);
    for (int block = 0; block < kBlocks; ++block) {
#if defined(__x86_64__)
      asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(term));
#elif defined(__aarch64__)
      asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(term));
#else
      return 0;
#endif
    }
    const std::int64_t ns = std::max<std::int64_t>(1, Read(CLOCK_MONOTONIC_RAW) - start);
    best = std::max(best, 1e3 * kBlocks * kBlockAdditions / static_cast<double>(ns));
  }
  return best;
}

bool WaitUntilQuiet() {
  constexpr std::int64_t kLookNs = 200'000;
  constexpr std::int64_t kLimitNs = 100'000'000;
  const auto others = [] { return Read(CLOCK_PROCESS_CPUTIME_ID) - Read(CLOCK_THREAD_CPUTIME_ID); };
  const std::int64_t start = Read(CLOCK_MONOTONIC_RAW);
  for (;;) {
    const std::int64_t wall = Read(CLOCK_MONOTONIC_RAW);
    const std::int64_t used = others();
    const timespec look{0, kLookNs};
    ::nanosleep(&look, nullptr);
    const std::int64_t now = Read(CLOCK_MONOTONIC_RAW);
    if ((others() - used) * 10 < now - wall) return true;
    if (now - start > kLimitNs) return false;
  }
}

}  // namespace pawl
