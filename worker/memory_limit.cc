#include "worker/memory_limit.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace pawl {
namespace {

// 0: there is no such file, or it says "max".
std::uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  file >> text;
  return std::strtoull(text.c_str(), nullptr, 10);
}

bool Lists(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

}  // namespace

std::uint64_t CgroupMemory(const std::string& cgroups, const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  // A line is "number:controllers:/path"; cgroup v2's has number 0 and no controllers.
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool old = Lists(controllers, "memory");
    if (!old && !controllers.empty()) continue;
    const std::string base = old ? root + "/memory" : root;
    const char* const name = old ? "/memory.limit_in_bytes" : "/memory.max";
    // A path that leads out of what is mounted here ("/../other") has only the root in common.
    std::string path = line.substr(second + 1);
    if (path.find("/..") != std::string::npos) path.clear();
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
