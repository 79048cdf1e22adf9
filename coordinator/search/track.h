#pragma once
// The fold of a ledger's events into the state of one search.
//
//   TrackOpened -> searching;  Proposed -> a generation is open;  Granted/AttemptLost/Measured ->
//   its progress;  Decided -> settled (unless again);  TrackPaused -> paused, or TrackClosed ->
//   closed, until TrackResumed;  kConfirm's Granted/Measured and Confirmed -> a confirmation's
//   progress.
//
// Apply is the only way state changes, live and on resuming alike, so that what is resumed is what
// was.
//
// Invariants: 1. a generation and a confirmation are never open at once. 2. Track{state} with the
// events after state.settled folded in is the track again: what is open never shows in `state`, so
// `state` alone can be kept in a snapshot. A search that ends with a confirmation is therefore
// still searching in `state` until it is confirmed; `closing` says why it ends.

#include <optional>
#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/snapshot.h"

namespace pawl {

// A granted attempt.
struct OpenAttempt {
  Attempt attempt;
  std::uint32_t batch = 0;
  WorkerId worker;
  BootId boot;
  Digest order;
  std::uint32_t lease_ms = 0;

  bool operator==(const OpenAttempt&) const = default;
};

// An attempt of what is open, and the report that was taken of it.
struct GrantedAttempt {
  OpenAttempt grant;
  Digest taken;  // of the report; zero: none

  bool operator==(const GrantedAttempt&) const = default;
};

// A generation (or confirmation) between its proposal and its decision.
struct OpenGeneration {
  Proposed proposed;                    // a confirmation's: its number and the incumbent
  Attempt last_attempt;                 // highest granted
  std::optional<OpenAttempt> attempt;   // waited for now
  std::vector<GrantedAttempt> granted;  // every attempt, from 1
  std::vector<Report> reports;   // taken in this measurement, by batch; crashes and hangs are not
  std::optional<Outcome> fault;  // the crash or hang that the newest report was
  std::uint32_t faults = 0;      // crashes and hangs of the candidate (or of a confirmation) so far
  std::uint32_t voids = 0;       // decided "again" so far
  std::uint32_t lost = 0;        // attempts lost so far
  std::vector<WorkerId> faulted_on;  // workers that saw a crash or hang
  double seconds = 0;                // of worker time, as reported so far

  const GrantedAttempt* Find(Attempt attempt) const;  // nullptr: never granted
  bool operator==(const OpenGeneration&) const = default;
};

struct Track {
  TrackState state;                          // as of the last settled event
  std::optional<OpenGeneration> generation;  // measuring
  std::optional<OpenGeneration> confirmation;
  std::optional<std::string> closing;  // TrackClosed's reason while its confirmation is awaited
  Seq last_applied;

  bool operator==(const Track&) const = default;
};

Track OpenTrack(TrackId id, const TrackOpened& opened, Seq seq);

// CHECKs that the event can follow (the ledger's reader verified the chain; `pawl verify` uses
// WhyNotApply first). Events of other tracks must not be given.
void Apply(Track& track, const Event& event);

// nullopt when the event can follow; else why not, in one line.
std::optional<std::string> WhyNotApply(const Track& track, const Event& event);

// What a settled decision does to the state: verdict counts, stale, incumbent, tried, the knobs'
// records.
//   keep:   payoff += (1 - ratio) / changed knobs, for each of them; refusals of every knob are
//   cleared. reject: counts as stale; one that changed a single knob is a refusal of that knob and
//   value. void:   neither, unless the policy's parameter void_is_refusal is not 0.
// Voids in a row are those of measurements: missing data neither counts nor does a reject before
// anything ran (geometry) end them, since both say nothing about the device.
// Repairs are never a knob's try. `tried` gets the candidate and what was proposed before its
// repairs.
void SettleInto(TrackState& state, const Proposed& proposed, const Decision& decision);

// The policy's parameter of that name is there and not 0: what is nobody's fault counts like a
// refusal, as a reject with a void's reason (the policy's own) or as a void (core's).
bool VoidIsRefusal(const TrackSpec& spec);

// The candidate with its repairs undone: what the proposer asked for.
Configuration Unrepaired(const Proposed& proposed);

}  // namespace pawl
