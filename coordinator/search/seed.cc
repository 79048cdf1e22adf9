#include "coordinator/search/seed.h"

#include <string>

#include "schema/check.h"
#include "schema/digest.h"

namespace pawl {

std::uint64_t SeedFor(std::uint64_t seed, std::string_view purpose, std::uint64_t occasion,
                      std::uint64_t part) {
  return Hasher()
      .Field(std::to_string(seed))
      .Field(purpose)
      .Field(std::to_string(occasion))
      .Field(std::to_string(part))
      .Finish()
      .Prefix64();
}

std::uint64_t SplitMix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::uint64_t Below(std::uint64_t& state, std::uint64_t limit) {
  CHECK(limit > 0);
  const std::uint64_t uneven = (0 - limit) % limit;  // 2^64 mod limit
  std::uint64_t drawn = SplitMix64(state);
  while (drawn < uneven) drawn = SplitMix64(state);
  return drawn % limit;
}

}  // namespace pawl
