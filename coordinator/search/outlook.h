#pragma once
// A track's state as its proposer is to see it: what is open is guessed to be rejected.
//
// So the candidates in flight at once are distinct; while nothing is kept they are the ones that
// would come one after another; and the budget has room for a further one exactly where it would
// have when all of them are rejected. What is open against an earlier incumbent keeps its knob's
// value from being proposed meanwhile, and is no refusal.

#include <cstdint>
#include <unordered_set>

#include "coordinator/search/track.h"

namespace pawl {

// The track is only lent: its state's set of what was tried is taken out and put back as it was. (A
// copy would cost more than a proposal: all that was ever tried.) While an Outlook lives, the
// track's own state must not be used.
class Outlook {
 public:
  explicit Outlook(Track& lender);
  ~Outlook();
  Outlook(const Outlook&) = delete;
  Outlook& operator=(const Outlook&) = delete;

  const TrackState& state() const { return borrowed_ ? state_ : lender_.state; }

  // Guesses this one rejected too: `proposed` is what comes next in `state()`.
  void Reject(const Proposed& proposed);

 private:
  void Borrow();

  Track& lender_;
  bool borrowed_ = false;
  TrackState state_;                         // where borrowed
  std::unordered_set<std::uint64_t> added_;  // to what was tried
};

}  // namespace pawl
