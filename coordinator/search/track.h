#pragma once
// The fold of a ledger's events into the state of one search.
//
//   TrackOpened -> searching;  Proposed -> one more generation is open;  Granted/AttemptLost/
//   Measured -> its progress;  Decided -> settled (unless again);  TrackPaused -> paused, or
//   TrackClosed -> closed, until TrackResumed;  kConfirm's Granted/Measured and Confirmed -> a
//   confirmation's progress.
//
// Apply is the only way state changes, live and on resuming alike, so that what is resumed is what
// was.
//
// Generations may be open side by side, and are decided in any order. They are numbered in the
// order of their proposals.
//
// Invariants: 1. generations and a confirmation are never open at once. 2. Track{Settled()} with
// the events after its `settled` folded in is the track again, so that it alone can be kept in a
// snapshot: it is the state of when nothing was open, and what is open never shows in it. A search
// that ends with a confirmation is therefore still searching in `state` until it is confirmed;
// `closing` says why it ends. 3. A keep rests on reports that were all measured against the
// incumbent that it replaces.

#include <map>
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
  // The track's incumbent when it was granted, and so its order's: the generation that it came
  // with, and the track's gain by then.
  Configuration incumbent;
  Generation incumbent_since;
  double gain = 1;

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
  std::uint32_t voids = 0;       // decided "again" so far, other than as superseded
  // Attempts up to this one are of a measurement that was superseded: not taken any more.
  Attempt superseded;
  std::uint32_t lost = 0;            // attempts lost so far
  std::vector<WorkerId> faulted_on;  // workers that saw a crash or hang
  double seconds = 0;                // of worker time, as reported so far

  const GrantedAttempt* Find(Attempt attempt) const;  // nullptr: never granted
  // The grant of the reports taken in this measurement, which are all against one incumbent;
  // nullptr: there are none.
  const OpenAttempt* Evidence() const;
  bool operator==(const OpenGeneration&) const = default;
};

struct Track {
  TrackState state;  // with every decision so far; its `settled`: when nothing was open last
  std::map<Generation, OpenGeneration> generations;  // measuring, or waiting to be
  std::optional<OpenGeneration> confirmation;
  std::optional<std::string> closing;  // TrackClosed's reason while its confirmation is awaited
  // A generation that came to the end of a replay's data, since the search was opened or resumed.
  std::optional<Generation> at_end;
  // Why no generation can be measured, as the newest decision has it.
  std::optional<std::string> broken;
  // `state` of when nothing was open last, where something was decided beside what is open since.
  std::optional<TrackState> before;
  Seq last_applied;

  // What a snapshot holds of it.
  const TrackState& Settled() const { return before ? *before : state; }
  // The newest proposed generation; 0: none.
  Generation Newest() const;
  const OpenGeneration* Find(OrderKind kind, Generation number) const;  // nullptr: not open

  bool operator==(const Track&) const = default;
};

// Why a report of this attempt is no part of the measurement that what is open is in now, since the
// incumbent was replaced meanwhile. nullopt: it may be taken.
std::optional<std::string> WhyTooLate(const OpenGeneration& open, const GrantedAttempt& granted);

// Whether the replay that measured what is open has come to its end.
bool DataExhausted(const OpenGeneration& open);

// Why a track cannot go on after this void: an arm that every generation needs (committed, the
// present incumbent) does not build, does not launch or gives wrong output. nullopt: it can.
std::optional<std::string> WhyBroken(const OpenGeneration& open, const Decision& decision,
                                     const Configuration& incumbent);

Track OpenTrack(TrackId id, const TrackOpened& opened, Seq seq);

// CHECKs that the event can follow (the ledger's reader verified the chain; `pawl verify` uses
// WhyNotApply first). Events of other tracks must not be given.
void Apply(Track& track, const Event& event);

// nullopt when the event can follow; else why not, in one line.
std::optional<std::string> WhyNotApply(const Track& track, const Event& event);

// What a settled decision does to the state: verdict counts, stale, incumbent, tried, the knobs'
// records.
//   keep:   payoff += (1 - ratio) / changed knobs, for each of them; refusals of every knob are
//   cleared. reject: counts as stale; one that changed a single knob of the present incumbent is a
//   refusal of that knob and value. void:   neither, unless the policy's parameter void_is_refusal
//   is not 0; superseded: never.
// Voids in a row are those of measurements: missing data and superseded ones neither count nor do
// they or a reject before anything ran (geometry) end them, since they say nothing about the
// device.
// Repairs are never a knob's try. `tried` gets the candidate and what was proposed before its
// repairs.
void SettleInto(TrackState& state, const Proposed& proposed, const Decision& decision);

// The policy's parameter of that name is there and not 0: what is nobody's fault counts like a
// refusal, as a reject with a void's reason (the policy's own) or as a void (core's).
bool VoidIsRefusal(const TrackSpec& spec);

// The candidate with its repairs undone: what the proposer asked for.
Configuration Unrepaired(const Proposed& proposed);

}  // namespace pawl
