#include "worker/memory_limit.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "worker/cgroups.h"

namespace pawl {
namespace {

// 0: there is no such file, or it says "max".
std::uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  file >> text;
  return std::strtoull(text.c_str(), nullptr, 10);
}

}  // namespace

std::uint64_t CgroupMemory(const std::string& cgroups, const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  for (const Cgroup& cgroup : ParseCgroups(cgroups)) {
    const bool old = cgroup.Has("memory");
    if (!old && !cgroup.controllers.empty()) continue;
    const std::string base = old ? root + "/memory" : root;
    const char* const name = old ? "/memory.limit_in_bytes" : "/memory.max";
    // One that lies elsewhere has only the root in common.
    std::string path = cgroup.IsElsewhere() ? "" : cgroup.path;
    while (true) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      if (const std::uint64_t limit = LimitIn(base + path + name)) least = std::min(least, limit);
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

std::uint64_t MemoryBytes() {
  const std::uint64_t machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream cgroups;
  cgroups << file.rdbuf();
  return std::min(machine, CgroupMemory(cgroups.str(), "/sys/fs/cgroup"));
}

}  // namespace pawl
