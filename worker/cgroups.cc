#include "worker/cgroups.h"

#include <algorithm>
#include <sstream>

namespace pawl {

bool Cgroup::Has(std::string_view controller) const {
  return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
}

std::vector<Cgroup> ParseCgroups(const std::string& text) {
  std::vector<Cgroup> cgroups;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    Cgroup& cgroup = cgroups.emplace_back();
    std::istringstream names(line.substr(first + 1, second - first - 1));
    for (std::string name; std::getline(names, name, ',');) cgroup.controllers.push_back(name);
    cgroup.path = line.substr(second + 1);
  }
  return cgroups;
}

}  // namespace pawl
