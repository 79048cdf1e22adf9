#include "coordinator/search/proposer/same.h"

#include "coordinator/search/parameters.h"

namespace pawl {

Result<std::unique_ptr<Proposer>> Same::Make(const Parameters& parameters) {
  auto filled = FillParameters("proposer same", {}, parameters);
  if (!filled) return filled.error();
  return std::unique_ptr<Proposer>(new Same());
}

std::optional<Proposal> Same::Propose(const TrackState& track, const Space&) const {
  Proposal proposal;
  proposal.candidate = track.incumbent;
  proposal.hypothesis = "the incumbent against itself";
  return proposal;
}

}  // namespace pawl
