#pragma once
// The proposer "coordinate": coordinate descent, one knob at a time, the knobs that have paid
// first.
//
// Source: superposition/mage, field note 005, without three traps of its loop (below).
//
// Among the knobs with fewer than `freeze` refusals under the present incumbent, each offers its
// first listed value that is not the current one, was not refused under this incumbent, and whose
// kernel, as asked for and as repaired, was never tried. The knob with the highest payoff (the sum
// of 1 - ratio over its keeps) is proposed; equal payoffs go by prior order, the order of the knobs
// in the structure's file. A keep clears every knob's refusals and never what was tried (the fold
// of coordinator/search/track.h does both). An invalid configuration is repaired by the space
// (Space::Repair); one that no repair helps is proposed with its violations, so that the refusal is
// on record and freezes the knob.
//
// Of a compound (kernels/compound.h) only the active knobs are offered, `structure` among them and
// first in prior order. Another value of it is proposed at that structure's start configuration;
// where it is kept, that structure's knobs are the active ones from then on. A start that was tried
// is not tried again, so that the search never goes round in a ring.
//
// The note's traps, and what holds here: 1. a repaired configuration counts as tried, so that no
// kernel is measured twice; 2. the incumbent is what was measured and kept, repaired or not; 3.
// asking changes nothing.

#include <cstdint>
#include <memory>
#include <optional>

#include "coordinator/search/proposer.h"

namespace pawl {

class Coordinate final : public Proposer {
 public:
  // Parameters: freeze, 1 to 1000, 2 when not given.
  static Result<std::unique_ptr<Proposer>> Make(const Parameters& parameters);

  std::optional<Proposal> Propose(const TrackState& track, const Space& space) const override;
  Parameters Effective() const override;

 private:
  explicit Coordinate(std::uint32_t freeze) : freeze_(freeze) {}

  const std::uint32_t freeze_;
};

}  // namespace pawl
