#pragma once
// Which arm is visited when. Pure.
//
// Arms stand in a ring: the worker's own first, then the rivals that are processes of their own.
// Each round visits every arm once and begins one arm later than the round before, so that over as
// many rounds as there are arms each has had every place. Arms of the worker that follow each other
// in a round are one order: one leg. A rival's visit is a leg by itself. No leg has two libraries:
// an outcome names the role of its arm, and they have the same.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coordinator/bench/bench.h"

namespace pawl {

struct BenchLeg {
  std::uint32_t round = 0;
  bool worker = false;            // an order for the worker; else a rival's visit
  std::vector<std::size_t> arms;  // places in the ring, in the order of their visits

  bool operator==(const BenchLeg&) const = default;
};

// `ring`: what stands at each place.
std::vector<BenchLeg> BenchLegs(const std::vector<BenchArm::Kind>& ring, std::uint32_t rounds);

}  // namespace pawl
