#pragma once
// The runner: the program inside the child process. It owns the device, takes one order after
// another from its socket and answers with stages and results (worker/child.h has the
// conversation).
//
// It may crash or hang, and dies with its parent: its own session, SIGKILL when the agent dies, no
// core files, a memory limit, first in line for the kernel's out-of-memory killer; in a sandbox
// (worker/sandbox/sandbox.h).

#include <optional>
#include <string>
#include <vector>

#include "worker/device.h"
#include "worker/sandbox/sandbox.h"

namespace pawl {

// What a runner is told on its command line.
struct RunnerCommand {
  int fd = -1;  // the socket to the agent
  std::string device;
  DeviceOptions options;
  SandboxMode sandbox = SandboxMode::kAuto;
  std::vector<std::string> hidden;  // folders that its kernels see empty
};

// The arguments after argv[0] that start a runner, and back. Parse: nullopt when this is not a
// runner's command line (argv[1] is not "--runner"); an error names the argument that makes no
// sense.
std::vector<std::string> RunnerArguments(const RunnerCommand& command);
std::optional<Result<RunnerCommand>> ParseRunnerArguments(int argc, const char* const* argv);

// Serves until the socket closes; the exit code of the process: 0, or 3 when the device cannot be
// opened (the agent has been told why).
int RunnerMain(const RunnerCommand& command);

}  // namespace pawl
