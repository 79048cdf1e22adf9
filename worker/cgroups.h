#pragma once
// /proc/PID/cgroup: which control groups a process is in.

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct Cgroup {
  std::vector<std::string> controllers;  // none: version 2's
  std::string path;                      // as the kernel names it, from its own root

  bool Has(std::string_view controller) const;
  // It lies outside of what is mounted here ("/../other").
  bool IsElsewhere() const { return path.find("/..") != std::string::npos; }
};

// One for each line "number:controllers:/path"; other lines are passed over.
std::vector<Cgroup> ParseCgroups(const std::string& text);

}  // namespace pawl
