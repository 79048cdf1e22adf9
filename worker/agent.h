#pragma once
// The worker's own process: one order at a time, leases, beats, spool, evidence. It must not crash.
//
//   connecting -HELLO-> greeting -WELCOME-> serving: READY, GRANT, the order's work, REPORT, READY
//   ... A new connection, or REFUSE not_ready: HELLO again.  Coordinator silent for lost_ms:
//   connecting again. DRAIN or SIGTERM: what is held is finished, or given back when its lease
//   ends; then BYE. Work goes on through all of that, up to its lease.
//
// 1. A report is in the spool, synced, before it is sent, and stays there until it is acknowledged.
// It is
//    sent to no other ledger than the one that granted it.
// 2. A lease runs on this clock, from the grant or from the sending of a beat that was answered
// after a
//    unit of work was finished; so it ends here before it ends at the coordinator. Then the runner
//    is killed.
// 3. A runner's death or a deadline is its order's outcome. A runner that lives on after a fault,
// or after
//    a kernel that wrote what it should not, is replaced before the next order.
// 4. An attempt is run once, however often it is granted.
//
// Single-threaded; time comes in as milliseconds of a monotonic clock; its world is Link, Child,
// Spool and Evidence. When a call comes more than a second later than NextDeadline() asked for,
// this process was stopped: stage deadlines and the coordinator's silence are not held against
// anyone, leases are.

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
  // `evidence` may be null: none is kept.
  Agent(AgentOptions options, Link& link, Child& child, Spool& spool, Evidence* evidence);
  ~Agent();

  void Start(std::int64_t now_ms);       // opens the device
  void OnReadable(std::int64_t now_ms);  // link or child may have something
  void OnTick(std::int64_t now_ms);      // beats, deadlines, leases
  // SIGTERM: finishes or releases, then BYE. Asked again, or with no coordinator there: at once.
  void OnStop(std::int64_t now_ms);
  // What it measures on has changed under it (its clocks were let go): what is held is given back,
  // and the runner is started anew.
  void OnDisturbed(std::int64_t now_ms, const std::string& why);
  std::int64_t NextDeadline() const;  // ms; when to call OnTick at the latest
  AgentEnd ended() const;
  const std::string& why() const;  // one line, when it ended badly

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pawl
