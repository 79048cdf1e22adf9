#include "coordinator/search/proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "coordinator/search/proposer/tried.h"
#include "recorded.h"
#include "scripted_track.h"
#include "tests/support/least_time.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string WhyNot(const std::string& name, const Parameters& parameters) {
  const auto made = MakeProposer(name, parameters);
  return made ? "" : made.error().message;
}

const Operation& Package(const std::string& name) {
  static std::map<std::string, Operation>& packages = *new std::map<std::string, Operation>();
  const auto found = packages.find(name);
  if (found != packages.end()) return found->second;
  return packages.emplace(name, LoadOperation(test::SourceFolder() + "/kernels/" + name).value())
      .first->second;
}

// The field note's space at 1024^3.
Space Tiled() {
  const Structure* structure = Package("matmul").FindStructure("cuda", "tiled");
  CHECK(structure != nullptr);
  return Space::Make(*structure, {{"m", 1024}, {"n", 1024}, {"k", 1024}}).value();
}

// Three knobs of three values; a + b must not exceed 3; c may be lowered to make up for it.
Structure Triple() {
  Structure structure;
  structure.name = "triple";
  structure.backend = "host";
  structure.file = "host/triple.toml";
  for (const std::string name : {"a", "b", "c"}) {
    Knob knob;
    knob.name = name;
    for (std::int64_t value = 0; value < 3; ++value) knob.values.push_back(value);
    structure.knobs.push_back(std::move(knob));
  }
  structure.constraints.push_back({"a + b + c <= 4", "sum {a + b + c} above 4", {}});
  return structure;
}

// Two knobs; `detail` has no effect in the plain mode, so that 2 of its 3 values there are
// spellings.
Structure WithIgnored() {
  Structure structure;
  structure.name = "ignored";
  structure.backend = "host";
  structure.file = "host/ignored.toml";
  Knob detail;
  detail.name = "detail";
  for (std::int64_t value = 0; value < 3; ++value) detail.values.push_back(value);
  Knob mode;
  mode.name = "mode";
  mode.values = {std::string("plain"), std::string("fancy")};
  structure.knobs = {detail, mode};
  structure.ignored.push_back({"detail", "mode == 'plain'", {}});
  return structure;
}

TEST(Coordinate, ReproducesTheNotesFirstElevenProposals) {
  const RecordedLedger ledger = ReadRecorded("matmul");
  const Space space = Tiled();
  const auto proposer = MakeOrDie("coordinate");
  ScriptedTrack track(ledger.start);
  for (const RecordedGeneration& recorded : ledger.generations) {
    SCOPED_TRACE("generation " + std::to_string(recorded.generation));
    const auto proposal = proposer->Propose(track.state(), space);
    ASSERT_TRUE(proposal.has_value());
    if (recorded.generation == 12) {
      // The note measured generation 11's repaired kernel a second time; here it counts as tried.
      EXPECT_EQ(recorded.candidate, ledger.generations[10].candidate);
      EXPECT_NE(proposal->candidate, recorded.candidate);
      EXPECT_EQ(proposal->hypothesis,
                "staging guarded -> pipeline; payoff 0.0000, 1 refusal under this incumbent");
      break;
    }
    EXPECT_EQ(proposal->candidate, recorded.candidate) << proposal->candidate.Text();
    ASSERT_FALSE(proposal->changes.empty());
    EXPECT_EQ(proposal->changes[0].knob, recorded.knob);
    EXPECT_EQ(proposal->changes[0].to, recorded.to);
    EXPECT_FALSE(proposal->changes[0].repair);
    if (recorded.repair) {
      ASSERT_EQ(proposal->changes.size(), 2u);
      EXPECT_EQ(proposal->changes[1], *recorded.repair);
    } else {
      EXPECT_EQ(proposal->changes.size(), 1u);
    }
    if (recorded.valid) {
      EXPECT_THAT(proposal->violations, IsEmpty());
    } else {
      EXPECT_THAT(proposal->violations, ElementsAre(recorded.invalid_reason));
    }
    recorded.kept_by_median ? track.Keep(*proposal, recorded.ratio.value())
                            : track.Reject(*proposal);
  }
  EXPECT_NEAR(track.Knob("transpose_a").payoff, 0.2222, 5e-5);
  EXPECT_NEAR(track.Knob("quad_stage").payoff, 0.0879, 5e-5);
  EXPECT_NEAR(track.Knob("k_step").payoff, 0.0757, 5e-5);
}

TEST(Coordinate, SaysWhyInASentence) {
  const RecordedLedger ledger = ReadRecorded("matmul");
  const Space space = Tiled();
  const auto proposer = MakeOrDie("coordinate");
  ScriptedTrack track(ledger.start);
  std::vector<std::string> said;
  for (const RecordedGeneration& recorded : ledger.generations) {
    const auto proposal = proposer->Propose(track.state(), space);
    said.push_back(proposal->hypothesis);
    if (recorded.generation == 11) break;
    recorded.kept_by_median ? track.Keep(*proposal, recorded.ratio.value())
                            : track.Reject(*proposal);
  }
  EXPECT_EQ(said[0], "transpose_a false -> true; first attempt, prior order 1 of 6");
  EXPECT_EQ(said[1], "quad_stage false -> true; first attempt, prior order 2 of 6");
  EXPECT_EQ(said[2], "transpose_a true -> false; payoff 0.2222, 0 refusals under this incumbent");
  EXPECT_EQ(said[7], "k_step 32 -> 128; payoff 0.0757, 1 refusal under this incumbent");
  EXPECT_EQ(said[10],
            "staging guarded -> shared; first attempt, prior order 5 of 6; repaired: staging "
            "shared -> exact");
}

TEST(Coordinate, ReproducesTheNotesLayerNormProposals) {
  const Structure* structure = Package("layer_norm").FindStructure("cuda", "split");
  ASSERT_NE(structure, nullptr);
  const Space space = Space::Make(*structure, {{"rows", 4096}, {"width", 768}}).value();
  const RecordedLedger ledger = ReadRecorded("layer_norm");
  const auto proposer = MakeOrDie("coordinate");
  ScriptedTrack track(ledger.start);
  for (const RecordedGeneration& recorded : ledger.generations) {
    const auto proposal = proposer->Propose(track.state(), space);
    ASSERT_TRUE(proposal.has_value());
    EXPECT_EQ(proposal->candidate, recorded.candidate);
    track.Reject(*proposal);  // as the rule of the day did
  }
  EXPECT_FALSE(proposer->Propose(track.state(), space).has_value()) << "both knobs are frozen";
}

TEST(Coordinate, ChangesOneKnobAndNeverOffersATupleTwice) {
  const Space space = Tiled();
  const auto proposer = MakeOrDie("coordinate", {{"freeze", 1000.0}});
  ScriptedTrack track(ReadRecorded("matmul").start);
  std::set<std::string> seen = {track.state().incumbent.Text()};
  int proposals = 0;
  for (; const auto proposal = proposer->Propose(track.state(), space); ++proposals) {
    EXPECT_TRUE(seen.insert(proposal->candidate.Text()).second) << proposal->candidate.Text();
    const auto own = std::count_if(proposal->changes.begin(), proposal->changes.end(),
                                   [](const Change& change) { return !change.repair; });
    EXPECT_EQ(own, 1);
    track.Reject(*proposal);
  }
  EXPECT_GT(proposals, 10);
}

TEST(Coordinate, OffersAKnobNoMoreAfterTwoRefusals) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate");
  std::vector<std::string> knobs;
  while (const auto proposal = proposer->Propose(track.state(), small.space())) {
    knobs.push_back(proposal->changes[0].knob);
    track.Reject(*proposal);
  }
  EXPECT_THAT(knobs, ElementsAre("a", "a", "b", "b", "c", "c"));
  EXPECT_EQ(track.Knob("a").refusals, 2u);
}

TEST(Coordinate, FreezesAfterAsManyRefusalsAsAJobSays) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate", {{"freeze", 1.0}});
  std::vector<std::string> knobs;
  while (const auto proposal = proposer->Propose(track.state(), small.space())) {
    knobs.push_back(proposal->changes[0].knob);
    track.Reject(*proposal);
  }
  EXPECT_THAT(knobs, ElementsAre("a", "b", "c"));
}

TEST(Coordinate, KeepFreesFrozenKnobsButNotWhatWasTried) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate");
  for (int i = 0; i < 2; ++i) track.Reject(*proposer->Propose(track.state(), small.space()));
  EXPECT_EQ(track.Knob("a").refusals, 2u);
  const auto kept = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(kept->changes[0].knob, "b");
  track.Keep(*kept, 0.9);
  // b has paid, so it goes first; its value 0 is the start, which was tried.
  const auto next = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(next->candidate.Text(), "a=0 b=2 c=0");
  track.Reject(*next);
  EXPECT_EQ(proposer->Propose(track.state(), small.space())->candidate.Text(), "a=1 b=1 c=0");
}

TEST(Coordinate, HighestPayoffGoesFirst) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate");
  track.Keep(*proposer->Propose(track.state(), small.space()), 0.95);  // a
  track.Reject(*proposer->Propose(track.state(), small.space()));      // a 2
  const auto b = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(b->changes[0].knob, "b");
  track.Keep(*b, 0.80);
  EXPECT_EQ(proposer->Propose(track.state(), small.space())->changes[0].knob, "b");
}

TEST(Coordinate, BuildsOnWhatWasMeasuredAfterARepair) {
  Structure structure = Triple();
  structure.start = {{{"a", std::int64_t{1}}, {"b", std::int64_t{1}}, {"c", std::int64_t{2}}}};
  structure.repairs.push_back({"c", {std::int64_t{2}, std::int64_t{1}, std::int64_t{0}}});
  const SmallSpace small(structure);
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate");
  track.Reject(*proposer->Propose(track.state(), small.space()));  // a 0
  const auto repaired = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(repaired->candidate.Text(), "a=2 b=1 c=1");
  EXPECT_EQ(repaired->changes,
            (std::vector<Change>{{"a", std::int64_t{1}, std::int64_t{2}, false},
                                 {"c", std::int64_t{2}, std::int64_t{1}, true}}));
  track.Keep(*repaired, 0.9);
  const auto next = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(next->candidate.Text(), "a=0 b=1 c=1") << "c is what the kept kernel had";
}

TEST(Coordinate, UnrepairableProposalIsOnRecordWithItsFigures) {
  Structure structure = Triple();
  structure.start = {{{"a", std::int64_t{1}}, {"b", std::int64_t{1}}, {"c", std::int64_t{2}}}};
  const SmallSpace small(structure);
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("coordinate");
  track.Reject(*proposer->Propose(track.state(), small.space()));
  const auto invalid = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(invalid->candidate.Text(), "a=2 b=1 c=2");
  EXPECT_THAT(invalid->violations, ElementsAre("sum 5 above 4"));
}

TEST(Coordinate, DoesNotOfferASecondSpellingOfAKernel) {
  Structure structure = WithIgnored();
  const SmallSpace small(structure);
  ScriptedTrack track(small.structure().start);  // detail 0, plain
  const auto proposer = MakeOrDie("coordinate");
  const auto first = proposer->Propose(track.state(), small.space());
  EXPECT_EQ(first->candidate.Text(), "detail=0 mode=fancy")
      << "detail changes nothing in the plain mode";
}

TEST(Coordinate, AskingChangesNothing) {
  const Space space = Tiled();
  const auto proposer = MakeOrDie("coordinate");
  ScriptedTrack track(ReadRecorded("matmul").start);
  const TrackState before = track.state();
  const auto asked = proposer->Propose(track.state(), space);
  EXPECT_EQ(proposer->Propose(track.state(), space), asked);
  EXPECT_EQ(MakeOrDie("coordinate")->Propose(track.state(), space), asked);
  EXPECT_EQ(track.state(), before);
}

TEST(Random, ProposesEveryKernelOnceAndEnds) {
  for (const Structure& structure : {Triple(), WithIgnored()}) {
    const SmallSpace small(structure);
    ScriptedTrack track(small.structure().start);
    const auto proposer = MakeOrDie("random");
    std::set<std::string> kernels = {small.space().Canonical(track.state().incumbent).Text()};
    while (const auto proposal = proposer->Propose(track.state(), small.space())) {
      EXPECT_THAT(small.space().Validate(proposal->candidate), IsEmpty());
      EXPECT_TRUE(kernels.insert(small.space().Canonical(proposal->candidate).Text()).second);
      track.Reject(*proposal);
    }
    EXPECT_EQ(kernels.size(), small.space().CountDistinct()) << structure.name;
  }
}

TEST(Random, IsEvenOverKernels) {
  const SmallSpace small(WithIgnored());  // kernels: plain, fancy 0, fancy 1, fancy 2
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ScriptedTrack track(small.space().At(1), seed);  // fancy 0
    ++drawn[MakeOrDie("random")->Propose(track.state(), small.space())->candidate.Text()];
  }
  ASSERT_EQ(drawn.size(), 3u);
  for (const auto& [text, times] : drawn) EXPECT_NEAR(times, 1000, 120) << text;
}

TEST(Random, DependsOnSeedAndGenerationOnly) {
  const Space space = Tiled();
  const auto proposer = MakeOrDie("random");
  ScriptedTrack track(space.structure().start, 5);
  const auto first = proposer->Propose(track.state(), space);
  EXPECT_EQ(first, MakeOrDie("random")->Propose(track.state(), space));
  ScriptedTrack other(space.structure().start, 6);
  EXPECT_NE(first->candidate, proposer->Propose(other.state(), space)->candidate);
  track.Reject(*first);
  EXPECT_NE(first->candidate, proposer->Propose(track.state(), space)->candidate);
}

// What a draw is mapped to must never change: a ledger that goes on with other draws is another
// search.
TEST(Random, DrawsWhatItAlwaysDrew) {
  const Space space = Tiled();
  ScriptedTrack track(space.structure().start, 20260910);
  const auto proposal = MakeOrDie("random")->Propose(track.state(), space);
  EXPECT_EQ(proposal->hypothesis,
            "drawn at random: k_step 64 -> 32, block 64x64 -> 128x128, staging shared -> exact, "
            "thread_tile 4x4 -> 8x4");
}

// A space of tens of thousands with nine in ten tried: a proposal must not cost a walk of the
// space.
TEST(Random, IsQuickWhenMostIsTried) {
  const Structure* structure = Package("gemm").FindStructure("cuda", "clblast");
  ASSERT_NE(structure, nullptr);
  const Space space = Space::Make(*structure, {{"m", 4096}, {"n", 4096}, {"k", 4096}}).value();
  std::uint64_t index = 0;
  ScriptedTrack track(structure->start, 1);
  TrackState state = track.state();
  space.Enumerate([&](const Configuration& configuration) {
    if (index++ % 10 != 0) state.tried.insert(configuration.Hash().Prefix64());
    return true;
  });
  ASSERT_GT(index, 10'000u);
  const auto proposer = MakeOrDie("random");
  constexpr double kLimit = 25;  // half a second a proposal, in a build that is not optimised
  const double seconds = test::LeastCpuSeconds(kLimit, [&] {
    for (int i = 0; i < 50; ++i) {
      state.last = state.last.Next();
      const auto proposal = proposer->Propose(state, space);
      ASSERT_TRUE(proposal.has_value());
      EXPECT_THAT(space.Validate(proposal->candidate), IsEmpty());
    }
  });
  RecordProperty("ms_a_proposal", std::to_string(seconds * 1000 / 50));
  EXPECT_LT(seconds, kLimit);
}

TEST(Exhaustive, GoesThroughTheKernelsInOrder) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("exhaustive");
  std::vector<std::string> proposed;
  while (const auto proposal = proposer->Propose(track.state(), small.space())) {
    EXPECT_EQ(small.space().At(proposal->ordinal - 1), proposal->candidate);
    proposed.push_back(proposal->candidate.Text());
    track.Reject(*proposal);
  }
  std::vector<std::string> expected;
  small.space().EnumerateDistinct([&](const Configuration& configuration) {
    if (configuration != small.structure().start) expected.push_back(configuration.Text());
    return true;
  });
  EXPECT_EQ(proposed, expected);
}

TEST(Exhaustive, SaysWhereItIs) {
  const SmallSpace small(WithIgnored());
  ScriptedTrack track(small.structure().start);
  const auto proposal = MakeOrDie("exhaustive")->Propose(track.state(), small.space());
  EXPECT_EQ(proposal->hypothesis, "number 2 of 4 in order: mode plain -> fancy");
}

TEST(Exhaustive, ListsAnewForAnotherShape) {
  const auto proposer = MakeOrDie("exhaustive");
  const Structure* structure = Package("matmul").FindStructure("cuda", "tiled");
  const auto count = [&](std::int64_t side) {
    const Space space = Space::Make(*structure, {{"m", side}, {"n", side}, {"k", side}}).value();
    ScriptedTrack track(space.NextValid(0)->configuration);
    std::uint64_t proposed = 0;
    while (const auto proposal = proposer->Propose(track.state(), space)) {
      track.Reject(*proposal);
      ++proposed;
    }
    EXPECT_EQ(proposed + 1, space.CountDistinct()) << side;
    return proposed;
  };
  EXPECT_EQ(count(1024) + 1, 464u);
  EXPECT_LT(count(96), 400u);
}

TEST(Same, ProposesTheIncumbentForEver) {
  const SmallSpace small(Triple());
  ScriptedTrack track(small.structure().start);
  const auto proposer = MakeOrDie("same");
  for (int i = 0; i < 3; ++i) {
    const auto proposal = proposer->Propose(track.state(), small.space());
    ASSERT_TRUE(proposal.has_value());
    EXPECT_EQ(proposal->candidate, track.state().incumbent);
    EXPECT_THAT(proposal->changes, IsEmpty());
    EXPECT_EQ(proposal->hypothesis, "the incumbent against itself");
    track.Reject(*proposal);
  }
}

TEST(SameKernel, ListsEverySpelling) {
  const SmallSpace small(WithIgnored());
  const auto spellings = [&](std::uint64_t ordinal) {
    std::set<std::string> texts;
    for (const Configuration& same : SameKernel(small.space(), small.space().At(ordinal))) {
      texts.insert(same.Text());
    }
    return texts;
  };
  EXPECT_THAT(spellings(2),
              ElementsAre("detail=0 mode=plain", "detail=1 mode=plain", "detail=2 mode=plain"));
  EXPECT_THAT(spellings(3), ElementsAre("detail=1 mode=fancy"));
}

TEST(MakeProposer, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(WhyNot("coordinat", {}), "unknown proposer 'coordinat'; nearest is 'coordinate'");
  EXPECT_EQ(WhyNot("coordinate", {{"freze", 2.0}}),
            "unknown parameter of proposer coordinate 'freze'; nearest is 'freeze'");
  EXPECT_EQ(WhyNot("random", {{"freeze", 2.0}}),
            "unknown parameter of proposer random 'freeze'; there are none");
  EXPECT_THAT(WhyNot("coordinate", {{"freeze", 0.0}}),
              HasSubstr("wanted a whole number from 1 to 1000"));
}

TEST(MakeProposer, FillsInDefaults) {
  EXPECT_EQ(MakeOrDie("coordinate")->Effective(), (Parameters{{"freeze", 2.0}}));
  EXPECT_EQ(MakeOrDie("same")->Effective(), Parameters{});
}

}  // namespace
}  // namespace pawl
