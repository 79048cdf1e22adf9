#pragma once
// The child as a real process: spawned from a program (normally this one again), spoken to over a
// socketpair, watched by a pidfd, killed with everything it started.
//
// 1. After Kill() and after a ChildExit the runner is reaped, and everything it started is killed:
//    compilers, and whatever a kernel forked, also into a session of its own; that is killed after
//    every order too. This process adopts orphans for it (worker/descendants.h).
// 2. What a runner sends is bounded and checked; one that sends damage is killed: an exit.
// 3. What kernels print goes to a memory file of 64 KiB, never to the agent's terminal; its last
//    line is part of ChildExit::how.
// 4. A runner that says that it is worn (a kernel has filled its private disks) is replaced after its
//    report: it is not running then.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/child.h"
#include "worker/runner.h"

namespace pawl {

struct ProcessChildOptions {
  std::string program = "/proc/self/exe";  // started with RunnerArguments
  std::string device;                      // as OpenDevice takes it
  DeviceOptions device_options;
  int start_ms = 60'000;  // how long opening the device may take
  SandboxMode sandbox = SandboxMode::kAuto;
  std::vector<std::string> hidden{};  // folders that kernels see empty
  // Told how the sandbox is (SandboxReport::Line) at the first start, and when it has changed.
  std::function<void(const std::string&)> on_sandbox{};
};

std::unique_ptr<Child> MakeProcessChild(ProcessChildOptions options);

}  // namespace pawl
