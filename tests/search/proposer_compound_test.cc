// Proposers in a space where the structure is a knob, by what a planted time says of each kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/search/proposer/tried.h"
#include "kernels/compound.h"
#include "scripted_track.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Structure Member(const std::string& name, const std::vector<std::string>& knobs,
                 std::int64_t values) {
  Structure structure;
  structure.name = name;
  structure.backend = "host";
  structure.file = "host/" + name + ".toml";
  for (const std::string& named : knobs) {
    Knob knob;
    knob.name = named;
    for (std::int64_t value = 0; value < values; ++value) knob.values.push_back(value);
    structure.start.settings.push_back({named, knob.values.front()});
    structure.knobs.push_back(std::move(knob));
  }
  return structure;
}

// Two structures with a knob of the same name: `plain` has 9 kernels, `split` 16, of which 15 are
// valid.
Structure PlainOrSplit() {
  Structure split = Member("split", {"tile", "parts"}, 4);
  split.constraints.push_back({"tile + parts < 6", "{tile + parts} of tile and parts", {}});
  return MakeCompound({Member("plain", {"tile", "unroll"}, 3), split}).value();
}

std::int64_t ValueOf(const Configuration& configuration, const std::string& knob) {
  const KnobValue* value = configuration.Find(knob);
  CHECK(value != nullptr, knob, configuration.Text());
  return std::get<std::int64_t>(*value);
}

bool Splits(const Configuration& configuration) {
  return *configuration.Find("structure") == KnobValue(std::string("split"));
}

using Cost = std::function<double(const Configuration&)>;

// `split` is better from its start on, and best at tile 2, parts 3.
double SplitWins(const Configuration& at) {
  if (!Splits(at)) return 100 - double(ValueOf(at, "plain.tile"));
  return 90 - 10 * double(ValueOf(at, "split.tile") == 2) - double(ValueOf(at, "split.parts"));
}

double PlainWins(const Configuration& at) { return 200 - SplitWins(at); }

struct Search {
  ScriptedTrack track;
  std::vector<Proposal> proposals;
};

// Keeps what the planted time says is faster, until nothing is left or `limit` were proposed.
Search Follow(const std::string& proposer, const SmallSpace& small, const Cost& cost, int limit,
              std::uint64_t seed = 1) {
  Search search{ScriptedTrack(small.structure().start, seed), {}};
  for (int i = 0; i < limit; ++i) {
    const auto proposal = MakeOrDie(proposer)->Propose(search.track.state(), small.space());
    if (!proposal) break;
    const double ratio = cost(proposal->candidate) / cost(search.track.state().incumbent);
    proposal->violations.empty() && ratio < 1 ? search.track.Keep(*proposal, ratio)
                                              : search.track.Reject(*proposal);
    search.proposals.push_back(*proposal);
  }
  return search;
}

TEST(CoordinateOverStructures, TriesTheStructureFirstAndThenTheKnobsOfTheOneItIsIn) {
  const SmallSpace small(PlainOrSplit());
  const Search search = Follow("coordinate", small, SplitWins, 100);
  const Proposal& first = search.proposals.front();
  EXPECT_THAT(first.changes,
              ElementsAre(Change{"structure", std::string("plain"), std::string("split"), false}));
  EXPECT_EQ(first.candidate.Text(), "structure=split split.tile=0 split.parts=0");
  EXPECT_EQ(first.hypothesis, "structure plain -> split; first attempt, prior order 1 of 3");
  for (std::size_t i = 1; i < search.proposals.size(); ++i) {
    for (const Change& change : search.proposals[i].changes) {
      EXPECT_TRUE(change.knob == "split.tile" || change.knob == "split.parts") << change.knob;
    }
  }
  EXPECT_EQ(search.track.state().incumbent.Text(), "structure=split split.tile=2 split.parts=3");
}

TEST(CoordinateOverStructures, StaysWhereTheOtherStructuresStartIsNotFaster) {
  const SmallSpace small(PlainOrSplit());
  const Search search = Follow("coordinate", small, PlainWins, 100);
  std::size_t moves = 0;
  for (const Proposal& proposal : search.proposals) {
    if (Splits(proposal.candidate)) ++moves;
    for (const Change& change : proposal.changes) {
      EXPECT_TRUE(change.knob == "structure" || change.knob.starts_with("plain.")) << change.knob;
    }
  }
  EXPECT_EQ(moves, 1u);  // its start is tried once, whatever is kept later
  EXPECT_EQ(search.track.state().incumbent.Text(), "structure=plain plain.tile=0 plain.unroll=0");
}

TEST(CoordinateOverStructures, RestsTheStructureAfterTwoRefusals) {
  std::vector<Structure> members;
  for (const std::string name : {"one", "two", "three", "four"}) {
    members.push_back(Member(name, {"tile"}, 2));
  }
  const SmallSpace small(MakeCompound(members).value());
  const Search search = Follow(
      "coordinate", small, [](const Configuration&) { return 1.0; }, 100);
  std::vector<std::string> texts;
  for (const Proposal& proposal : search.proposals) texts.push_back(ChangesText(proposal.changes));
  EXPECT_THAT(texts,
              ElementsAre("structure one -> two", "structure one -> three", "one.tile 0 -> 1"));
}

TEST(CoordinateOverStructures, RepairsAStartThatIsNotValidAndSaysSo) {
  Structure split = Member("split", {"tile", "parts"}, 3);
  split.constraints.push_back({"tile + parts > 1", "{tile + parts} of tile and parts", {}});
  split.repairs.push_back({"parts", {std::int64_t{2}}});
  const SmallSpace small(MakeCompound({Member("plain", {"tile"}, 2), split}).value());
  const ScriptedTrack track(small.structure().start);
  const auto proposal = MakeOrDie("coordinate")->Propose(track.state(), small.space());
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->hypothesis,
            "structure plain -> split; first attempt, prior order 1 of 2; "
            "repaired: split.parts 0 -> 2");
  EXPECT_EQ(proposal->candidate.Text(), "structure=split split.tile=0 split.parts=2");
  EXPECT_THAT(proposal->violations, IsEmpty());
}

TEST(ExhaustiveOverStructures, GoesThroughOneAfterTheOther) {
  const SmallSpace small(PlainOrSplit());
  const Search search = Follow("exhaustive", small, SplitWins, 100);
  ASSERT_EQ(search.proposals.size(), 9u - 1 + 15);
  for (std::size_t i = 0; i < search.proposals.size(); ++i) {
    EXPECT_EQ(Splits(search.proposals[i].candidate), i >= 8) << i;
  }
  EXPECT_EQ(search.proposals[8].hypothesis, "number 10 of 24 in order: structure plain -> split");
  EXPECT_EQ(search.track.state().incumbent.Text(), "structure=split split.tile=2 split.parts=3");
}

TEST(RandomOverStructures, EndsWhenEveryKernelOfEachWasTried) {
  const SmallSpace small(PlainOrSplit());
  const Search search = Follow("random", small, SplitWins, 100);
  std::set<std::string> kernels;
  for (const Proposal& proposal : search.proposals) kernels.insert(proposal.candidate.Text());
  EXPECT_EQ(kernels.size(), 23u);
  EXPECT_EQ(search.proposals.size(), 23u);
  EXPECT_EQ(search.track.state().incumbent.Text(), "structure=split split.tile=2 split.parts=3");
}

TEST(RandomOverStructures, DrawsEachStructureAsOftenHoweverManyKernelsItHas) {
  const SmallSpace small(
      MakeCompound({Member("small", {"tile"}, 40), Member("large", {"a", "b", "c", "d"}, 40)})
          .value());
  const ScriptedTrack track(small.structure().start);
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const ScriptedTrack seeded(small.structure().start, seed);
    const auto proposal = MakeOrDie("random")->Propose(seeded.state(), small.space());
    ++drawn[ToText(*proposal->candidate.Find("structure"))];
  }
  EXPECT_GT(drawn["small"], 150);
  EXPECT_GT(drawn["large"], 150);
}

TEST(RandomOverStructures, SaysTheStructureOrTheKnobsThatChange) {
  const SmallSpace small(PlainOrSplit());
  for (const Proposal& proposal : Follow("random", small, PlainWins, 100).proposals) {
    const bool moves = Splits(proposal.candidate);  // the incumbent never does
    if (moves) {
      EXPECT_EQ(proposal.hypothesis, "drawn at random: structure plain -> split");
    } else {
      EXPECT_THAT(proposal.hypothesis, testing::HasSubstr("plain."));
    }
  }
}

// As resuming does: another proposer, and the same state.
TEST(EveryProposerOverStructures, IsAFunctionOfStateAndSeed) {
  const SmallSpace small(PlainOrSplit());
  for (const std::string name : {"coordinate", "random", "exhaustive"}) {
    const Search once = Follow(name, small, SplitWins, 100, 7);
    const Search again = Follow(name, small, SplitWins, 100, 7);
    EXPECT_EQ(once.proposals, again.proposals) << name;
  }
  EXPECT_NE(Follow("random", small, SplitWins, 100, 7).proposals,
            Follow("random", small, SplitWins, 100, 8).proposals);
}

}  // namespace
}  // namespace pawl
