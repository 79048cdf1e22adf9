#pragma once
// Errands with workers of their own on this machine: what `pawl audit`, `pawl measure`,
// `pawl capture` and `pawl bench` are made of. Ctrl-C (SIGINT) or SIGTERM ends it; nothing is lost
// but what was under way.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/search/errands.h"
#include "coordinator/service/hub.h"
#include "coordinator/service/own_folder.h"
#include "coordinator/service/session.h"
#include "coordinator/service/stop_signals.h"
#include "coordinator/service/worker_process.h"
#include "schema/result.h"

namespace pawl {

struct ErrandOptions {
  std::string device;         // as OpenDevice takes it
  std::uint32_t workers = 1;  // at least 1
  std::string state;          // folder of the workers' cache, evidence and logs; empty: one that is
                              // gone with the session
  std::vector<std::string> worker_options;  // more of pawl-worker's
};

class ErrandSession {
 public:
  // Listens and starts the workers.
  static Result<std::unique_ptr<ErrandSession>> Open(const ErrandOptions& options);
  ~ErrandSession();

  // Serves the workers until every item has its result, each given to `on_result` as it comes, or a
  // signal comes. `on_turn` after each turn, for progress. Errors: no worker is left that could go
  // on, with why the last one went.
  Result<SessionEnd> Run(Errands& errands,
                         const std::function<void(const ErrandResult&)>& on_result,
                         const std::function<void()>& on_turn);

  // From `on_turn`, where that takes long: answers the workers that have said something meanwhile,
  // without waiting. False: a signal has come, and Run will end.
  bool Serve(Errands& errands, const std::function<void(const ErrandResult&)>& on_result);
  // From `on_turn`: nothing more is added to the list.
  void Close(Errands& errands);

  // A name for a list of errands that no other has had.
  static LedgerId NewId();

 private:
  ErrandSession() = default;
  void Turn(Errands& errands, std::int64_t timeout_ms,
            const std::function<void(const ErrandResult&)>& on_result);
  void SeeOff(Errands& errands);

  std::unique_ptr<OwnFolder> folder_;  // the socket's, and the state's where none was given
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::unique_ptr<StopSignals> stop_;
  std::string note_;  // the last one
};

}  // namespace pawl
