#pragma once
// Where a track stands, for people and scripts.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/search/track.h"
#include "schema/event.h"
#include "schema/result.h"

namespace pawl {

// The last confirmation of each of these tracks, of those that have one. A closed track's is the
// event that its state was settled by; what is not there is looked for from the ledger's end.
Result<std::map<TrackId, Confirmed>> LastConfirmations(
    const Ledger& ledger, const std::vector<const TrackState*>& tracks);

// generation.h's, and whether the track has another incumbent since.
std::string ConfirmationText(const Confirmed& confirmed, const TrackState& state);

// One object a track of `pawl status --json`; the keys are in docs/commands.md. `open`: how
// many generations are. `confirmation`: its last, null: none. `head`: of the ledger.
nlohmann::json TrackJson(const TrackState& state, std::size_t open, const Confirmed* confirmation,
                         Seq head);

// Generations decided so far; of several in flight a newer one may be decided before an older one.
std::uint32_t Decisions(const TrackState& state);

// What running the job again would do for these tracks, and what else could be done where that is
// nothing: "run again to go on".
std::string WhatNext(const std::vector<const TrackState*>& tracks);

}  // namespace pawl
