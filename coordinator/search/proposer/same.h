#pragma once
// The proposer "same": the incumbent against itself, for ever. What a policy keeps of these is its
// rate of false keeps on the device; only a budget ends it.

#include <memory>
#include <optional>

#include "coordinator/search/proposer.h"

namespace pawl {

class Same final : public Proposer {
 public:
  static Result<std::unique_ptr<Proposer>> Make(const Parameters& parameters);  // has no parameters

  std::optional<Proposal> Propose(const TrackState& track, const Space& space) const override;
  Parameters Effective() const override { return {}; }

 private:
  Same() = default;
};

}  // namespace pawl
