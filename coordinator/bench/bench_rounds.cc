#include "coordinator/bench/bench_rounds.h"

namespace pawl {

std::vector<BenchLeg> BenchLegs(const std::vector<bool>& of_worker, std::uint32_t rounds) {
  std::vector<BenchLeg> legs;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    bool joins = false;  // the next arm of the worker belongs to the leg before
    for (std::size_t i = 0; i < of_worker.size(); ++i) {
      const std::size_t arm = (i + round) % of_worker.size();
      if (!joins || !of_worker[arm]) legs.push_back({round, of_worker[arm], {}});
      legs.back().arms.push_back(arm);
      joins = of_worker[arm];
    }
  }
  return legs;
}

}  // namespace pawl
