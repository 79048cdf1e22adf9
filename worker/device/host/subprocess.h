#pragma once
// A program run to its end with its output captured: compilers. In a process group of its own
// inside the runner's session, so that it can be stopped while kernels are timed, and dies with the
// runner.

#include <sys/types.h>
#include <mutex>
#include <string>
#include <vector>

#include "schema/result.h"

namespace pawl {

struct Finished {
  int exit_code = 0;   // of a normal end
  int signal = 0;      // that ended it, or 0
  std::string output;  // stdout and stderr together, the first 64 KiB
};

// Lets another thread stop and go on with the process that RunProgram is waiting for.
class ProcessHold {
 public:
  void Stop();  // also the next process, until Continue
  void Continue();

 private:
  friend Result<Finished> RunProgram(const std::vector<std::string>&, const std::string&,
                                     ProcessHold*);
  void Started(pid_t group);
  void Ended();

  std::mutex mutex_;
  pid_t group_ = -1;
  bool stopped_ = false;
};

// argv[0] is looked up in PATH; runs in `folder`, which is also its TMPDIR; stdin is empty;
// messages are in English. Errors: it cannot be started.
Result<Finished> RunProgram(const std::vector<std::string>& argv, const std::string& folder,
                            ProcessHold* hold = nullptr);

}  // namespace pawl
