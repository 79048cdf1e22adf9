#pragma once
// The fold of a ledger's events into the state of one search.
//
//   TrackOpened -> searching;  Proposed -> a generation is open;  Granted/AttemptLost/Measured -> its
//   progress;  Decided -> settled (unless again);  TrackPaused <-> TrackResumed;  TrackClosed -> closed;
//   kConfirm's Granted/Measured and Confirmed -> a confirmation's progress.
//
// Apply is the only way state changes, live and on resuming alike, so that what is resumed is what was.

#include <optional>
#include <vector>

#include "schema/event.h"
#include "schema/snapshot.h"

namespace pawl {

// A granted attempt that has not been reported or given up.
struct OpenAttempt {
  Attempt attempt;
  std::uint32_t batch = 0;
  WorkerId worker;
  BootId boot;
  Digest order;
  std::uint32_t lease_ms = 0;
};

// A generation (or confirmation) between its proposal and its decision.
struct OpenGeneration {
  Proposed proposed;
  Attempt last_attempt;                // highest granted
  std::optional<OpenAttempt> attempt;  // waited for now
  std::vector<Report> reports;         // taken in this measurement, by batch
  std::uint32_t faults = 0;            // crashes and hangs so far
  std::uint32_t voids = 0;             // decided "again" so far
  std::uint32_t lost = 0;              // attempts lost so far
  std::vector<WorkerId> faulted_on;    // workers that saw a crash or hang
};

struct Track {
  TrackState state;                          // as of the last settled event
  std::optional<OpenGeneration> generation;  // measuring
  std::optional<OpenGeneration> confirmation;
  Seq last_applied;
};

Track OpenTrack(TrackId id, const TrackOpened& opened, Seq seq);

// CHECKs that the event can follow (the ledger's reader verified the chain; `pawl verify` uses
// CanApply first). Events of other tracks must not be given.
void Apply(Track& track, const Event& event);

// nullopt when the event can follow; else why not, in one line.
std::optional<std::string> WhyNotApply(const Track& track, const Event& event);

}  // namespace pawl
