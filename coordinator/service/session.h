#pragma once
// A service with workers of its own on this machine: what `pawl run` and `pawl confirm` are made
// of. Ctrl-C (SIGINT) or SIGTERM drains; a second one stops at once, which loses seconds of
// measuring at most.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/service/service.h"
#include "coordinator/service/stop_signals.h"
#include "coordinator/service/worker_process.h"
#include "schema/result.h"

namespace pawl {

struct SessionOptions {
  ServiceOptions service;
  std::vector<std::string> devices;  // as OpenDevice takes them
  std::uint32_t workers = 1;         // for each device; 0: wait for workers started by hand
  std::string state;                 // folder of the workers' state; empty: in the ledger's folder
  std::vector<std::string> worker_options{};  // more of pawl-worker's, for each
};

enum class SessionEnd { kDone, kInterrupted };

class Session {
 public:
  static Result<std::unique_ptr<Session>> Open(SessionOptions options);
  ~Session();

  Service& service() { return *service_; }
  // Turns until the service is done, or a signal drained it. `on_turn` after each turn, for
  // progress. Errors: what the service says; a ledger that is behind what a worker has seen of it;
  // a worker that cannot run, once no other is left or those that are have nothing to do.
  Result<SessionEnd> Run(const std::function<void()>& on_turn);
  // What went wrong beside a run that ended well, a line each: workers that could not run, devices
  // that no track can use.
  std::vector<std::string> Problems() const;

 private:
  Session() = default;
  bool OnSignal();  // true: stop at once
  Status Tend();
  // A worker of our own has not said yet which device it is: tracks may be waiting for it that the
  // service does not know of.
  bool AwaitsGreeting();
  bool Idle() const;  // every worker that is left is connected, and none has work

  std::unique_ptr<Service> service_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::unique_ptr<StopSignals> stop_;
  int signals_ = 0;
  bool stays_ = false;                 // a daemon: others may come in a worker's place
  std::set<std::string> greeted_;      // slots of workers that have joined at least once
  std::vector<std::string> problems_;  // of workers that will not be started again
  std::int64_t idle_since_ms_ = -1;
};

}  // namespace pawl
