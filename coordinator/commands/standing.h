#pragma once
// Where the tracks, jobs and workers of a ledger or a daemon stand, as `pawl status` prints it.

#include <map>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/search/core.h"
#include "coordinator/search/job_board.h"
#include "coordinator/search/track.h"
#include "coordinator/service/service.h"
#include "schema/result.h"

namespace pawl {

// Lines, each ended. `tracks` by id.
Result<std::string> TracksStanding(const Ledger& ledger,
                                   const std::map<TrackId, const Track*>& tracks, bool json,
                                   bool colour);
// `problems` by job; those without one may lack. Empty without jobs.
std::string JobsStanding(const JobBoard& board, const std::map<TrackId, const Track*>& tracks,
                         const std::map<std::string, std::string>& problems, bool json,
                         bool colour);
std::string WorkersStanding(const Core& core, bool json, bool colour);

// Of a daemon: all three, for one that asks, of one job or of all.
void SayStanding(Service& service, const PeerId& peer, const Ask& ask);

}  // namespace pawl
