#pragma once
// How quick something is, on a machine that is busy with something else.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

namespace pawl::test {

// The least CPU time of this process that a call of `run` took, in seconds. What runs beside it,
// and what the host of a virtual machine takes for itself, only ever makes a call slower: it is
// made again until one is below `limit`, or forty seconds are over, before ctest loses its
// patience.
template <typename Run>
double LeastCpuSeconds(double limit, const Run& run) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  double least = std::numeric_limits<double>::infinity();
  do {
    const std::clock_t before = std::clock();
    run();
    least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  } while (least >= limit && std::chrono::steady_clock::now() < end);
  return least;
}

}  // namespace pawl::test
