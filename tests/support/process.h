#pragma once
// Real processes under test: started in a process group of their own, read line by line with a
// deadline, killed with everything they started.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/places.h"

namespace pawl::test {

class Process {
 public:
  // `arguments[0]` is the program. stderr goes to `stderr_path` (appended), or /dev/null.
  explicit Process(const std::vector<std::string>& arguments, const std::string& stderr_path = "",
                   const std::vector<std::string>& environment = {});
  ~Process();  // SIGKILL to the group, reaped
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of stdout; nullopt at its end or when `timeout_ms` is over.
  std::optional<std::string> ReadLine(int timeout_ms);
  bool AtEnd() const { return at_end_; }
  void Signal(int signal);  // to the process alone
  // Waits for its end: exit code, or 128 + signal; -1 when the time is over.
  int Wait(int timeout_ms);

 private:
  pid_t pid_ = -1;
  int stdout_ = -1;
  std::string buffered_;
  bool at_end_ = false;
  bool reaped_ = false;
  int result_ = -1;
};

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs to the end. Kills it, with code -1, when the time is over.
Finished RunToEnd(const std::vector<std::string>& arguments, int timeout_ms = 60'000,
                  const std::vector<std::string>& environment = {});

// Polls until `done` gives true; false when the time is over. `done` may note its last state for
// messages.
bool WaitFor(const std::function<bool()>& done, int timeout_ms);

// Direct children of a process, and all below it.
std::vector<pid_t> ChildrenOf(pid_t pid);
std::string CommandLineOf(pid_t pid);

}  // namespace pawl::test
