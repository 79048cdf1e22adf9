#pragma once
// From a ledger to the state of its searches: the newest snapshot, and the events after it folded
// in.

#include <map>
#include <memory>

#include "coordinator/ledger/ledger.h"
#include "coordinator/search/job_board.h"
#include "coordinator/search/orders.h"
#include "coordinator/search/track.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

struct FoldedLedger {
  std::map<TrackId, Track> tracks;
  JobBoard board;
  std::uint64_t events_read = 0;  // after the snapshot
};

// Errors: an event that cannot follow (names its seq and why).
Result<FoldedLedger> FoldLedger(const Ledger& ledger, bool use_snapshot = true);

// What a snapshot of these tracks holds: taken so that every open generation's events come after
// it.
Snapshot TakeSnapshot(const std::map<TrackId, const Track*>& tracks, const JobBoard& board,
                      const Ledger& ledger);

// The operation package a track was opened with, from the ledger's own blobs.
Result<std::shared_ptr<const Operation>> PackageOf(const Ledger& ledger, const TrackSpec& spec);

// Keeps a package's bound files as blobs.
Status KeepPackage(Ledger& ledger, const Operation& operation, const TrackSpec& spec);

}  // namespace pawl
