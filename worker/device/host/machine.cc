#include "worker/device/host/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

#include "worker/memory_limit.h"

namespace pawl {
namespace {

constexpr std::uint64_t kDefaultCacheBytes = 32ull << 20;

std::string FirstLineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "32768K" -> bytes.
std::uint64_t CacheSize(const std::string& text) {
  if (text.empty()) return 0;
  const std::uint64_t number = std::strtoull(text.c_str(), nullptr, 10);
  if (text.back() == 'K') return number << 10;
  if (text.back() == 'M') return number << 20;
  return number;
}

std::uint64_t LastLevelCacheBytes(int core) {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(core) +
                               "/cache/index" + std::to_string(index);
    largest = std::max(largest, CacheSize(FirstLineOf(folder + "/size")));
  }
  return largest > 0 ? largest : kDefaultCacheBytes;
}

// cgroup v2's "quota period" or "max period": whole cores, rounded up.
std::uint32_t QuotaCores() {
  std::istringstream text(FirstLineOf("/sys/fs/cgroup/cpu.max"));
  double quota = 0, period = 0;
  if (!(text >> quota >> period) || period <= 0) return UINT32_MAX;
  return std::max(1u, static_cast<std::uint32_t>(std::ceil(quota / period)));
}

void Replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// 12 independent chains: enough for two units of latency 5 or less, and few enough
// for 16 registers. The vectors' starting values are not known to the compiler and the sum is used.
typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

template <typename Vector>
__attribute__((always_inline)) inline double FusedLoop(std::int64_t repeats) {
  constexpr int kLanes = sizeof(Vector) / sizeof(float);
  constexpr int kChains = 12;
  Vector sums[kChains];
  float start = 0.5f;
  asm volatile("" : "+m"(start));
  for (int c = 0; c < kChains; ++c) sums[c] = Vector{} + (start + static_cast<float>(c));
  const Vector factor = Vector{} + (start + 0.4999f);
  const Vector term = Vector{} + start * 1e-4f;
  for (std::int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * factor + term;
  }
  float total = 0;
  for (int c = 0; c < kChains; ++c) {
    for (int lane = 0; lane < kLanes; ++lane) total += sums[c][lane];
  }
  asm volatile("" : "+m"(total));
  return 2.0 * kLanes * kChains * static_cast<double>(repeats);
}

double BaseLoop(std::int64_t repeats) { return FusedLoop<Floats4>(repeats); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double Avx2Loop(std::int64_t repeats) {
  return FusedLoop<Floats8>(repeats);
}
__attribute__((target("avx512f"))) double Avx512Loop(std::int64_t repeats) {
  return FusedLoop<Floats16>(repeats);
}
#endif

using FlopLoop = double (*)(std::int64_t);

FlopLoop WidestLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Avx512Loop;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Loop;
#endif
  return BaseLoop;
}

double ThreadSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// What all usable cores do together in a second: each runs `work(core)`, which says how much it
// did, in a thread of its own, at the same time. By the threads' CPU time, so that what else runs
// on a busy machine does not make it a slower one.
double RateOnCores(const Machine& machine, const std::function<double(std::uint32_t)>& work) {
  std::vector<double> rates(machine.usable_cores);
  std::vector<std::thread> threads;
  for (std::uint32_t core = 0; core < machine.usable_cores; ++core) {
    threads.emplace_back([&machine, &work, &rates, core] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(machine.cores[core % machine.cores.size()], &set);
      ::sched_setaffinity(0, sizeof set, &set);
      const double start = ThreadSeconds();
      const double done = work(core);
      rates[core] = done / std::max(1e-9, ThreadSeconds() - start);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

std::string ShortCpuName(const std::string& name) {
  std::string text = name;
  for (const char* noise : {"(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor"})
    Replace(text, noise, "");
  if (const std::size_t at = text.find(" @"); at != std::string::npos) text.resize(at);
  std::istringstream words(text);
  std::string word, kept;
  while (words >> word) {
    if (word.size() > 5 && word.compare(word.size() - 5, 5, "-Core") == 0) continue;
    kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

Machine ReadMachine(const std::vector<int>& wanted) {
  Machine machine;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), core) == wanted.end()) continue;
    machine.cores.push_back(core);
  }
  machine.usable_cores = std::min(static_cast<std::uint32_t>(machine.cores.size()), QuotaCores());

  std::ifstream info("/proc/cpuinfo");
  std::string line, name;
  while (std::getline(info, line) && !line.empty()) {  // the first processor's paragraph
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name") name = value;
    for (const char* part : {"vendor_id", "cpu family", "model", "stepping", "flags",
                             "CPU implementer", "CPU part", "Features"}) {
      if (key == part) machine.instructions += value + ";";
    }
  }
  struct utsname system {};
  ::uname(&system);
  machine.cpu = name.empty() ? std::string(system.machine) : ShortCpuName(name);
  machine.instructions = std::string(system.machine) + ";" + machine.instructions;
  machine.cache_bytes = LastLevelCacheBytes(machine.cores.empty() ? 0 : machine.cores[0]);
  machine.memory_bytes = MemoryBytes();
  return machine;
}

double MeasurePeakGflops(const Machine& machine) {
  const FlopLoop loop = WidestLoop();
  constexpr std::int64_t kRepeats = 2'000'000;
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    best = std::max(best, RateOnCores(machine, [&](std::uint32_t) { return loop(kRepeats); }));
  }
  return best / 1e9;
}

double MeasurePeakGbytesPerSecond(const Machine& machine) {
  constexpr std::uint64_t kMaxBytes = 1ull << 30;
  const std::uint64_t bytes =
      std::min({4 * machine.cache_bytes, kMaxBytes, machine.memory_bytes / 16});
  const std::unique_ptr<char[]> from(new char[bytes]), to(new char[bytes]);
  const std::uint64_t share = bytes / machine.usable_cores;
  const auto copy = [&](std::uint32_t core) {
    std::memcpy(to.get() + core * share, from.get() + core * share, share);
    return 2.0 * static_cast<double>(share);
  };
  std::memset(from.get(), 1, bytes);
  RateOnCores(machine, copy);  // brings the pages in
  double best = 0;
  for (int run = 0; run < 3; ++run) best = std::max(best, RateOnCores(machine, copy));
  return best / 1e9;
}

}  // namespace pawl
