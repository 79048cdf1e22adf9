#pragma once
// Which cores of this machine a GPU's worker uses, when it may be one of several.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pawl {

struct CoreShare {
  std::optional<int>
      measuring;  // for the thread that measures; none: too few cores for one of its own
  std::vector<int> building;   // for compilers: shared by all GPUs' workers
  std::uint32_t builders = 1;  // compilers at once, this worker's share
};

// Out of the cores that this process may use, or of `wanted` where some are named. The first ones
// measure, one for each of `gpus`; `gpu` is this worker's, from 0. With cores named a worker shares
// them with nobody.
CoreShare ShareCores(const std::vector<int>& wanted, std::size_t gpu, std::size_t gpus);

}  // namespace pawl
