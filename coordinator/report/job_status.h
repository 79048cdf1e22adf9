#pragma once
// Where a daemon's jobs stand and which workers it has, for people and scripts.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coordinator/report/text.h"
#include "coordinator/search/core.h"
#include "schema/snapshot.h"

namespace pawl {

// "waiting" (no device has come that it could use), "going", "done" (all its tracks are closed),
// "stopped" (the others are paused as unstable); or what a person wants of it: "paused",
// "cancelled".
std::string JobStanding(const JobState& job, const std::vector<const TrackState*>& tracks);

// One object a job and a worker of `pawl status --json`; the keys are in docs/commands.md.
// `problem`: why a device that came could not be bound to it; empty: none.
nlohmann::json JobJson(const JobState& job, const std::vector<const TrackState*>& tracks,
                       const std::string& problem);
// `why_idle`: why it can serve no track; empty: it can.
nlohmann::json WorkerJson(const WorkerView& worker, const std::string& why_idle);

TextTable JobTable();
std::vector<Cell> JobRow(const JobState& job, const std::vector<const TrackState*>& tracks,
                         const std::string& problem);
TextTable WorkerTable();
std::vector<Cell> WorkerRow(const WorkerView& worker, const std::string& why_idle);

}  // namespace pawl
