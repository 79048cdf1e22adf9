// What holds for every proposer, whatever the space and whatever became of its proposals.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "coordinator/search/proposer/tried.h"
#include "scripted_track.h"
#include "tests/kernels/arbitrary_structure.h"

namespace pawl {
namespace {

// One structure, or several as one.
Structure ArbitrarySpace() {
  return *rc::gen::arbitrary<bool>() ? ArbitraryStructure() : ArbitraryCompound();
}

// Settles proposals in arbitrary ways until none is left or `limit` were made.
template <typename See>
void Drive(const Proposer& proposer, const Space& space, ScriptedTrack& track, int limit, See see) {
  for (int i = 0; i < limit; ++i) {
    const auto proposal = proposer.Propose(track.state(), space);
    RC_ASSERT(proposer.Propose(track.state(), space) == proposal);
    if (!proposal) return;
    see(*proposal);
    const bool keep =
        proposal->violations.empty() && *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
    keep ? track.Keep(*proposal, 0.9) : track.Reject(*proposal);
  }
}

RC_GTEST_PROP(EveryFiniteProposer, NeverProposesAKernelTwice, ()) {
  const std::string name = *rc::gen::element<std::string>("coordinate", "random", "exhaustive");
  const SmallSpace small(ArbitrarySpace());
  const Space& space = small.space();
  ScriptedTrack track(small.structure().start, *rc::gen::arbitrary<std::uint64_t>());
  const auto proposer = MakeOrDie(name);
  std::set<std::string> kernels = {space.Canonical(track.state().incumbent).Text()};
  Drive(*proposer, space, track, 1000, [&](const Proposal& proposal) {
    RC_ASSERT(kernels.insert(space.Canonical(proposal.candidate).Text()).second);
    RC_ASSERT(proposal.violations.empty() == space.Validate(proposal.candidate).empty());
  });
  if (name == "coordinate") return;
  // These end when every valid kernel has been tried, and not before.
  std::size_t untried = 0;
  space.EnumerateDistinct([&](const Configuration& configuration) {
    untried += Tried(track.state(), space, configuration) ? 0 : 1;
    return true;
  });
  RC_ASSERT(untried == 0u);
}

RC_GTEST_PROP(EveryProposer, SaysWhatChangesFromTheIncumbent, ()) {
  const std::string name =
      *rc::gen::element<std::string>("coordinate", "random", "exhaustive", "same");
  const SmallSpace small(ArbitraryStructure());
  ScriptedTrack track(small.structure().start, *rc::gen::arbitrary<std::uint64_t>());
  Drive(*MakeOrDie(name), small.space(), track, 20, [&](const Proposal& proposal) {
    Configuration changed = track.state().incumbent;
    for (const Change& change : proposal.changes) {
      RC_ASSERT(*changed.Find(change.knob) == change.from);
      RC_ASSERT(change.from != change.to);
      changed.Set(change.knob, change.to);
    }
    RC_ASSERT(changed == proposal.candidate);
    RC_ASSERT(!proposal.hypothesis.empty());
  });
}

// With another structure come its knobs: at its start by coordinate, anywhere by the others.
RC_GTEST_PROP(EveryProposer, ChangesActiveKnobsOnly, ()) {
  const std::string name =
      *rc::gen::element<std::string>("coordinate", "random", "exhaustive", "same");
  const SmallSpace small(ArbitraryCompound());
  const Structure& structure = small.structure();
  ScriptedTrack track(structure.start, *rc::gen::arbitrary<std::uint64_t>());
  Drive(*MakeOrDie(name), small.space(), track, 40, [&](const Proposal& proposal) {
    const Configuration& incumbent = track.state().incumbent;
    const auto member = MemberOf(structure, proposal.candidate);
    RC_ASSERT(member.has_value());
    RC_ASSERT(proposal.candidate.settings.size() == 1 + structure.members[*member].knobs.size());
    const bool moves = member != MemberOf(structure, incumbent);
    Configuration changed = incumbent;
    for (const Change& change : proposal.changes) {
      RC_ASSERT(changed.Find(change.knob) != nullptr);
      RC_ASSERT(*changed.Find(change.knob) == change.from);
      changed = WithValue(structure, changed, change.knob, change.to);
    }
    if (!moves || name == "coordinate") RC_ASSERT(changed == proposal.candidate);
    if (moves) RC_ASSERT(proposal.changes.front().knob == "structure");
    if (moves && name != "coordinate") RC_ASSERT(proposal.changes.size() == 1u);
  });
}

// A list kept from another space must never show.
RC_GTEST_PROP(EveryProposer, IsAFunctionOfTrackAndSpaceAlone, ()) {
  const std::string name = *rc::gen::element<std::string>("coordinate", "random", "exhaustive");
  const SmallSpace one(ArbitrarySpace());
  const SmallSpace two(ArbitrarySpace());
  const auto used = MakeOrDie(name);
  for (int i = 0; i < 4; ++i) {
    const SmallSpace& small = *rc::gen::arbitrary<bool>() ? one : two;
    ScriptedTrack track(small.structure().start, *rc::gen::arbitrary<std::uint64_t>());
    Drive(*MakeOrDie(name), small.space(), track, *rc::gen::inRange(0, 5), [](const Proposal&) {});
    RC_ASSERT(used->Propose(track.state(), small.space()) ==
              MakeOrDie(name)->Propose(track.state(), small.space()));
  }
}

}  // namespace
}  // namespace pawl
