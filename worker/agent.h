#pragma once
// The worker's own process: one order at a time, leases, beats, spool, evidence. It must not crash.
//
//   connecting -HELLO-> greeting -WELCOME-> idle -READY/GRANT-> working -REPORT-> idle ... -DRAIN/SIGTERM->
//   leaving -BYE-> done.   Coordinator silent for lost_ms: connecting again; work goes on up to the lease.
//
// Single-threaded; time comes in as milliseconds of a monotonic clock; its world is Link, Child, Spool.

#include <cstdint>
#include <memory>
#include <string>

#include "schema/message.h"
#include "worker/child.h"
#include "worker/evidence.h"
#include "worker/link.h"
#include "worker/spool.h"

namespace pawl {

struct AgentOptions {
  WorkerId worker;
  BootId boot;
  std::string version;
  std::string host;
  std::uint32_t reorders_per_child = 0;  // a fresh runner after this many orders; 0: never
};

// How an agent ended: the exit code of pawl-worker.
enum class AgentEnd : int { kRunning = -1, kDone = 0, kRefused = 4, kFailed = 3 };

class Agent {
 public:
  Agent(AgentOptions options, Link& link, Child& child, Spool& spool, Evidence* evidence);
  ~Agent();

  void Start(std::int64_t now_ms);          // opens the device, says HELLO
  void OnReadable(std::int64_t now_ms);     // link or child may have something
  void OnTick(std::int64_t now_ms);         // beats, deadlines, leases
  void OnStop(std::int64_t now_ms);         // SIGTERM: finish or release, then BYE
  std::int64_t NextDeadline() const;        // ms
  AgentEnd ended() const;
  const std::string& why() const;           // one line, when it ended badly

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pawl
