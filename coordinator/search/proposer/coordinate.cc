#include "coordinator/search/proposer/coordinate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "coordinator/search/figures.h"
#include "coordinator/search/parameters.h"
#include "coordinator/search/proposer/tried.h"
#include "kernels/compound.h"
#include "kernels/operation.h"
#include "schema/check.h"

namespace pawl {
namespace {

struct Candidate {
  const Knob* knob = nullptr;
  std::size_t prior = 0;  // place of the knob among the active ones, from 0
  KnobRecord record;
};

KnobRecord RecordOf(const TrackState& track, const std::string& knob) {
  for (const KnobRecord& record : track.knobs) {
    if (record.knob == knob) return record;
  }
  KnobRecord fresh;
  fresh.knob = knob;
  return fresh;
}

std::string Hypothesis(const Candidate& candidate, std::size_t knobs, const Proposal& proposal) {
  const KnobRecord& record = candidate.record;
  std::string text = ChangesText({proposal.changes.front()});
  if (record.tries == 0) {
    text += "; first attempt, prior order " + std::to_string(candidate.prior + 1) + " of " +
            std::to_string(knobs);
  } else {
    text += "; payoff " + Fixed(record.payoff, 4) + ", " + std::to_string(record.refusals) +
            (record.refusals == 1 ? " refusal" : " refusals") + " under this incumbent";
  }
  if (proposal.changes.size() > 1) {
    text += "; repaired: " + ChangesText({proposal.changes.begin() + 1, proposal.changes.end()});
  }
  return text;
}

// The knob's next value, or nullopt when it has none left.
std::optional<Proposal> Next(const Candidate& candidate, const TrackState& track,
                             const Space& space) {
  const std::string& name = candidate.knob->name;
  const KnobValue* current = track.incumbent.Find(name);
  CHECK(current != nullptr, name, "is not in", track.incumbent.Text());
  const std::vector<KnobValue>& refused = candidate.record.refused;
  for (const KnobValue& value : candidate.knob->values) {
    if (value == *current || std::find(refused.begin(), refused.end(), value) != refused.end())
      continue;
    Proposal proposal;
    proposal.candidate = WithValue(space.structure(), track.incumbent, name, value);
    if (Tried(track, space, proposal.candidate)) continue;
    proposal.changes.push_back({name, *current, value, false});
    const std::vector<Violation> violations = space.Validate(proposal.candidate);
    if (violations.empty()) return proposal;
    if (auto repaired = space.Repair(proposal.candidate)) {
      if (Tried(track, space, repaired->configuration)) continue;
      proposal.candidate = std::move(repaired->configuration);
      for (Change& change : repaired->changes) proposal.changes.push_back(std::move(change));
      return proposal;
    }
    for (const Violation& violation : violations) proposal.violations.push_back(violation.text);
    return proposal;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Proposer>> Coordinate::Make(const Parameters& parameters) {
  auto filled = FillParameters("proposer coordinate", {{"freeze", 2, 1, 1000, true}}, parameters);
  if (!filled) return filled.error();
  return std::unique_ptr<Proposer>(
      new Coordinate(static_cast<std::uint32_t>(Number(*filled, "freeze"))));
}

std::optional<Proposal> Coordinate::Propose(const TrackState& track, const Space& space) const {
  std::vector<Candidate> candidates;
  std::size_t active = 0;
  for (const Knob& knob : space.structure().knobs) {
    if (track.incumbent.Find(knob.name) == nullptr) continue;  // inactive: of another structure
    Candidate candidate{&knob, active++, RecordOf(track, knob.name)};
    if (candidate.record.refusals < freeze_) candidates.push_back(std::move(candidate));
  }
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.record.payoff > b.record.payoff; });
  for (const Candidate& candidate : candidates) {
    if (auto proposal = Next(candidate, track, space)) {
      proposal->hypothesis = Hypothesis(candidate, active, *proposal);
      return proposal;
    }
  }
  return std::nullopt;
}

Parameters Coordinate::Effective() const { return {{"freeze", double(freeze_)}}; }

}  // namespace pawl
