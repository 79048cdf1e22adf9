#pragma once
// What Service holds. Private to service.cc (the loop) and service_jobs.cc (which jobs there are,
// and what they are bound to).

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/service/service.h"

namespace pawl {

struct Service::State {
  ServiceOptions options;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<Core> core;
  std::map<TrackId, Track> dormant;  // tracks of the ledger that this service does not search
  std::map<std::string, Job> jobs;   // that devices are bound to, by name
  std::set<std::string> unbound;     // of them, those to be bound to the devices that are there
  std::map<std::string, std::string> problems;  // of a daemon's jobs, the newest
  std::map<std::string, std::shared_ptr<const Operation>> operations;
  std::vector<std::string> refusals;
  std::vector<Received> unheard;  // received in a turn that could not be carried out to its end
  Effects pending;  // not carried out yet: core has gone on as if they were, so they go first
  std::int64_t last_turn_ms = 0;
  std::int64_t last_tick_ms = 0;
  Seq last_snapshot;

  // Packages are loaded once for the jobs that were submitted since the last one was.
  Result<std::shared_ptr<const Operation>> OperationOf(const std::string& name);
  // Takes a job up: what devices are bound to from now on.
  void TakeUp(const Job& job);
};

}  // namespace pawl
