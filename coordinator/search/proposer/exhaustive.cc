#include "coordinator/search/proposer/exhaustive.h"

#include <algorithm>
#include <string>

#include "coordinator/search/parameters.h"
#include "coordinator/search/proposer/tried.h"
#include "schema/check.h"

namespace pawl {

Result<std::unique_ptr<Proposer>> Exhaustive::Make(const Parameters& parameters) {
  auto filled = FillParameters("proposer exhaustive", {}, parameters);
  if (!filled) return filled.error();
  return std::unique_ptr<Proposer>(new Exhaustive());
}

const std::vector<std::uint64_t>& Exhaustive::ListOf(const Space& space) const {
  if (listed_structure_ != &space.structure() || listed_shape_ != space.shape()) {
    ordinals_.clear();
    space.EnumerateDistinct([&](const Configuration& configuration) {
      const auto ordinal = space.OrdinalOf(configuration);
      CHECK(ordinal.has_value(), configuration.Text());
      ordinals_.push_back(*ordinal);
      return true;
    });
    listed_structure_ = &space.structure();
    listed_shape_ = space.shape();
  }
  return ordinals_;
}

std::optional<Proposal> Exhaustive::Propose(const TrackState& track, const Space& space) const {
  const std::vector<std::uint64_t>& ordinals = ListOf(space);
  // Each settled generation took the first untried one, so the first `last` of the list are tried.
  // Should a track have come here otherwise, what lies before is looked at when nothing after is
  // left.
  const std::size_t start = std::min<std::size_t>(track.last.value, ordinals.size());
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    const std::size_t index = (start + i) % ordinals.size();
    Configuration configuration = space.At(ordinals[index]);
    if (Tried(track, space, configuration)) continue;
    Proposal proposal;
    proposal.changes = ChangesBetween(track.incumbent, configuration);
    proposal.candidate = std::move(configuration);
    proposal.hypothesis = "number " + std::to_string(index + 1) + " of " +
                          std::to_string(ordinals.size()) +
                          " in order: " + ChangesText(proposal.changes);
    proposal.ordinal = ordinals[index] + 1;
    return proposal;
  }
  return std::nullopt;
}

}  // namespace pawl
