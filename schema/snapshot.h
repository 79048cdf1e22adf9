#pragma once
// The settled state of every track of a ledger at some event, so that opening need not fold from the
// start. A cache: folding the log from 1 gives the same (pawl verify compares).

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "schema/event.h"

namespace pawl {

enum class TrackStatus : std::uint8_t { kSearching = 0, kPaused = 1, kClosed = 2 };
std::string_view Name(TrackStatus status);  // "searching", "paused", "closed"

// What a knob has earned and lost so far.
struct KnobRecord {
  std::string knob;
  double payoff = 0;                // sum over keeps of 1 - ratio
  std::uint32_t tries = 0;          // proposals that changed it (repairs not counted)
  std::uint32_t keeps = 0;
  std::uint32_t refusals = 0;       // rejected under the present incumbent
  std::vector<KnobValue> refused;   // the values rejected under the present incumbent

  bool operator==(const KnobRecord&) const = default;
};

// A track as of its last settled generation; the fold is coordinator/search/track.h.
struct TrackState {
  TrackId id;
  TrackSpec spec;
  TrackId forked_from;
  TrackStatus status = TrackStatus::kSearching;
  std::string why;                      // paused or closed: the reason
  Configuration incumbent;
  Generation incumbent_since;           // the generation that was kept; 0: the start configuration
  Generation last;                      // the highest settled generation; 0: none
  std::uint32_t kept = 0, rejected = 0, voided = 0;
  std::uint32_t stale = 0;              // rejections in a row
  std::uint32_t voids_in_row = 0;
  double gain = 1;                      // product of the kept ratios
  double worker_seconds = 0;            // build, check and run, as reported
  std::uint32_t confirmations = 0;
  std::vector<KnobRecord> knobs;        // in knob order; behind them those that came with another structure
  std::unordered_set<std::uint64_t> tried;  // Configuration::Hash().Prefix64(), start and repaired ones included
  std::uint64_t last_ordinal = 0;       // exhaustive: of the last candidate in the space, plus 1
  Seq settled;                          // the last event folded in

  bool operator==(const TrackState&) const = default;
};

// A job as it was last submitted, and where it was moved to since; the fold is coordinator/search/job_board.h.
struct JobState {
  JobSubmitted submitted;
  JobStatus status = JobStatus::kGoing;
  std::string by;  // who moved it last; who submitted it, where nobody did
  Seq at;          // the event that says so

  bool operator==(const JobState&) const = default;
};

struct Snapshot {
  Seq seq;        // taken after this event
  Epoch epoch;
  LedgerId ledger;
  std::vector<TrackState> tracks;  // by id
  std::vector<JobState> jobs;      // by name

  bool operator==(const Snapshot&) const = default;
};

}  // namespace pawl
