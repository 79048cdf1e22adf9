#pragma once
// A track's state driven by hand: proposals are settled as a test says, by the rules that
// schema/snapshot.h states for KnobRecord and TrackState.

#include <algorithm>

#include "coordinator/search/proposer.h"
#include "kernels/operation.h"
#include "kernels/space.h"
#include "schema/check.h"

namespace pawl {

class ScriptedTrack {
 public:
  explicit ScriptedTrack(const Configuration& start, std::uint64_t seed = 1) {
    state_.id = TrackId(1);
    state_.spec.seed = seed;
    state_.incumbent = start;
    for (const Setting& setting : start.settings)
      state_.knobs.push_back({setting.knob, 0, 0, 0, 0, {}});
    Try(start);
  }

  const TrackState& state() const { return state_; }
  const KnobRecord& Knob(const std::string& name) const {
    const auto found = std::find_if(state_.knobs.begin(), state_.knobs.end(),
                                    [&](const KnobRecord& record) { return record.knob == name; });
    CHECK(found != state_.knobs.end(), name);
    return *found;
  }

  void Keep(const Proposal& proposal, double ratio) {
    Settle(proposal);
    for (KnobRecord& record : state_.knobs) {
      if (Changes(proposal, record.knob)) record.payoff += 1 - ratio;
      record.refusals = 0;
      record.refused.clear();
    }
    state_.incumbent = proposal.candidate;
  }

  void Reject(const Proposal& proposal) {
    Settle(proposal);
    const auto own = std::count_if(proposal.changes.begin(), proposal.changes.end(),
                                   [](const Change& change) { return !change.repair; });
    if (own != 1) return;
    for (KnobRecord& record : state_.knobs) {
      if (!Changes(proposal, record.knob)) continue;
      ++record.refusals;
      record.refused.push_back(proposal.changes.front().to);
    }
  }

 private:
  static bool Changes(const Proposal& proposal, const std::string& knob) {
    return std::any_of(proposal.changes.begin(), proposal.changes.end(),
                       [&](const Change& change) { return !change.repair && change.knob == knob; });
  }

  void Try(const Configuration& configuration) {
    state_.tried.insert(configuration.Hash().Prefix64());
  }

  void Settle(const Proposal& proposal) {
    state_.last = state_.last.Next();
    Try(proposal.candidate);
    for (const Change& change : proposal.changes) {
      const bool known =
          std::any_of(state_.knobs.begin(), state_.knobs.end(),
                      [&](const KnobRecord& record) { return record.knob == change.knob; });
      if (!known && !change.repair) state_.knobs.push_back({change.knob, 0, 0, 0, 0, {}});
    }
    for (KnobRecord& record : state_.knobs) record.tries += Changes(proposal, record.knob) ? 1 : 0;
  }

  TrackState state_;
};

inline std::unique_ptr<Proposer> MakeOrDie(const std::string& name,
                                           const Parameters& parameters = {}) {
  return std::move(MakeProposer(name, parameters)).value();
}

// A structure as a file would make it, for spaces that a test needs to be small or odd.
class SmallSpace {
 public:
  explicit SmallSpace(Structure structure) : structure_(std::move(structure)), space_(Make()) {}

  const Structure& structure() const { return structure_; }
  const Space& space() const { return space_; }

 private:
  Space Make() {
    for (const Knob& knob : structure_.knobs) {
      if (!structure_.members.empty()) break;  // a compound has a start
      if (structure_.start.Find(knob.name) == nullptr) {
        structure_.start.settings.push_back({knob.name, knob.values.front()});
      }
    }
    return std::move(Space::Make(structure_, {})).value();
  }

  Structure structure_;
  Space space_;
};

}  // namespace pawl
