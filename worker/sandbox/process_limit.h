#pragma once
// A limit on how many processes and threads there are inside a sandbox: a cgroup of its own with
// the controller "pids", made, filled and removed from outside.
//
// A keeper that is killed leaves its empty cgroup behind; whoever makes the next one takes it away.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "schema/result.h"

namespace pawl {

class ProcessLimit {
 public:
  // `root`: where cgroups are mounted. Without one that may be made, Problem() says why.
  ProcessLimit(const std::string& root, std::uint32_t processes);
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;
  ~ProcessLimit() { Remove(); }

  // Why there is none; empty: there is one, and it holds for what was put into it.
  const std::string& Problem() const { return problem_; }
  // From now on it holds for `process` and all that it starts.
  void Take(pid_t process);
  // Everything inside has ended.
  void Remove();
  // Of a copy in another process: it is not its to remove.
  void Disown() { folder_.clear(); }

 private:
  std::string folder_;  // empty: there is none
  std::string problem_;
};

// The cgroup folder, below `root`, of the process whose /proc/PID/cgroup is `cgroups`, in the
// hierarchy that has the controller "pids". Empty: there is none.
std::string PidsCgroup(const std::string& cgroups, const std::string& root);

}  // namespace pawl
