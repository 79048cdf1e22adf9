#pragma once
// The proposer "exhaustive": every kernel of the space once, in ordinal order (the last knob
// changing fastest); of a compound, one structure after another.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/search/proposer.h"

namespace pawl {

// Lists the space's kernels when it is first asked and keeps the list (8 bytes each), so that one
// proposal costs the same at the end of a space as at its start. Asked about another structure or
// shape it lists anew.
class Exhaustive final : public Proposer {
 public:
  static Result<std::unique_ptr<Proposer>> Make(const Parameters& parameters);  // has no parameters

  std::optional<Proposal> Propose(const TrackState& track, const Space& space) const override;
  Parameters Effective() const override { return {}; }

 private:
  Exhaustive() = default;
  const std::vector<std::uint64_t>& ListOf(const Space& space) const;

  // What was listed last, a function of the space alone.
  mutable const Structure* listed_structure_ = nullptr;
  mutable std::vector<Scalar> listed_shape_;
  mutable std::vector<std::uint64_t> ordinals_;
};

}  // namespace pawl
