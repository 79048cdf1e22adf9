#include "coordinator/bench/bench_rounds.h"

namespace pawl {

std::vector<BenchLeg> BenchLegs(const std::vector<BenchArm::Kind>& ring, std::uint32_t rounds) {
  std::vector<BenchLeg> legs;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    bool open = false;  // the next arm of the worker may join the leg before
    bool has_library = false;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t arm = (i + round) % ring.size();
      const bool of_worker = ring[arm] != BenchArm::Kind::kProgram;
      const bool library = ring[arm] == BenchArm::Kind::kLibrary;
      if (!open || !of_worker || (library && has_library)) {
        legs.push_back({round, of_worker, {}});
        has_library = false;
      }
      legs.back().arms.push_back(arm);
      open = of_worker;
      has_library = has_library || library;
    }
  }
  return legs;
}

}  // namespace pawl
