#pragma once
// The proposer "random": any valid kernel that was never tried, each as likely as any other of its
// structure.
//
// What it draws depends on the track's seed and the generation's number only, and on what was
// tried. It draws ordinals of the whole product and passes over what is invalid, tried, or a second
// spelling of a kernel. Where almost all is (a thousand draws in a row), it takes the first that
// will do at or after the last ordinal drawn, all round the structure. So it ends exactly when
// every kernel has been tried, and never holds a list of the space.
//
// Of a compound it draws the structure first, each as likely as any other, and where that one has
// nothing left goes on to the next. How many kernels a structure has says how finely its file lists
// its knobs and not how good it is: drawn by their number, one of 1,792 would hardly ever be seen
// beside one of a million.

#include <memory>
#include <optional>

#include "coordinator/search/proposer.h"

namespace pawl {

class Random final : public Proposer {
 public:
  static Result<std::unique_ptr<Proposer>> Make(const Parameters& parameters);  // has no parameters

  std::optional<Proposal> Propose(const TrackState& track, const Space& space) const override;
  Parameters Effective() const override { return {}; }

 private:
  Random() = default;
};

}  // namespace pawl
