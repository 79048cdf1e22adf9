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

#include <memory>
#include <string>

#include "worker/child.h"
#include "worker/runner.h"

namespace pawl {

struct ProcessChildOptions {
  std::string program = "/proc/self/exe";  // started with RunnerArguments
  std::string device;                      // as OpenDevice takes it
  DeviceOptions device_options;
  int start_ms = 60'000;  // how long opening the device may take
};

std::unique_ptr<Child> MakeProcessChild(ProcessChildOptions options);

}  // namespace pawl
