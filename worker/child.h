#pragma once
// The agent's view of its runner: a child process in a process group of its own that takes one
// order at a time. The seam between agent (must not crash) and device (may).
//
// Over a socketpair, length-prefixed frames: agent -> runner: 'O' order, 'P' prepare;
// runner -> agent: 'B' how its sandbox is, 'F' facts (once, at start), 'S' stage and arm, 'W' it is
// worn, 'R' report and evidence samples, 'E' error text.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

struct ChildStage {
  Stage stage;
  ArmRole arm;
};
struct ChildDone {
  Execution execution;
};
struct ChildError {  // the world failed; the runner lives on
  std::string message;
};
struct ChildExit {
  std::string how;     // "signal 11 (segmentation fault)", "exit code 3"
  bool by_us = false;  // killed by Kill(), never for a runner that ended by its own doing
};
using ChildEvent = std::variant<ChildStage, ChildDone, ChildError, ChildExit>;

class Child {
 public:
  virtual ~Child() = default;

  // Starts it when it is not running. Errors: the device cannot be opened (the runner's own line).
  virtual Result<DeviceFacts> Start() = 0;
  virtual bool Running() const = 0;
  virtual Status Send(const Order& order) = 0;
  virtual void Hint(const pawl::Prepare& hint) = 0;
  virtual int fd() const = 0;  // readable when Next would not block; -1: not running
  virtual std::optional<ChildEvent> Next() = 0;  // nullopt: nothing there now
  // The runner and all it started, SIGKILL; reaped before it returns, and no ChildExit follows.
  virtual void Kill() = 0;
};

}  // namespace pawl
