#include "worker/device/cuda/core_share.h"

#include <sched.h>

#include <algorithm>

namespace pawl {

CoreShare ShareCores(const std::vector<int>& wanted, std::size_t gpu, std::size_t gpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> allowed;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      const bool named =
          wanted.empty() || std::find(wanted.begin(), wanted.end(), core) != wanted.end();
      if (CPU_ISSET(core, &set) && named) allowed.push_back(core);
    }
  }
  CoreShare cores;
  const std::size_t sharing = wanted.empty() ? std::max<std::size_t>(gpus, 1) : 1;
  const std::size_t mine = wanted.empty() ? gpu : 0;
  cores.building = allowed;
  if (allowed.size() > sharing) {
    cores.measuring = allowed[mine];
    cores.building.erase(cores.building.begin(),
                         cores.building.begin() + static_cast<std::ptrdiff_t>(sharing));
  }
  cores.builders =
      static_cast<std::uint32_t>(std::max<std::size_t>(cores.building.size() / sharing, 1));
  return cores;
}

}  // namespace pawl
