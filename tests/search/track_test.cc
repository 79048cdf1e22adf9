#include "coordinator/search/track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/search/track_story.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::UnorderedElementsAre;

TEST(Track, StartsWithItsStartConfigurationTriedAndItsKnobsInOrder) {
  const Story story;
  const TrackState& state = story.state();
  EXPECT_EQ(state.status, TrackStatus::kSearching);
  EXPECT_EQ(state.incumbent, Spec().start);
  EXPECT_EQ(state.incumbent_since, Generation(0));
  EXPECT_EQ(state.last, Generation(0));
  EXPECT_EQ(state.settled, Seq(5));
  EXPECT_THAT(state.tried, UnorderedElementsAre(Name64(Spec().start)));
  ASSERT_EQ(state.knobs.size(), 3u);
  EXPECT_EQ(state.knobs[0].knob, "tile");
  EXPECT_EQ(state.knobs[2].knob, "staging");
}

TEST(Track, KeepMovesTheIncumbentPaysTheKnobAndForgetsRefusals) {
  Story story;
  story.Run({kPacked}, Reason::kNotFaster, 1.01);
  EXPECT_EQ(story.Knob("packed").refusals, 1u);
  EXPECT_THAT(story.Knob("packed").refused, ElementsAre(KnobValue(true)));
  EXPECT_EQ(story.state().stale, 1u);

  story.Run({kTile64}, Reason::kFaster, 0.75);
  const TrackState& state = story.state();
  EXPECT_EQ(state.incumbent, Knobs(64, false, "shared"));
  EXPECT_EQ(state.incumbent_since, Generation(2));
  EXPECT_EQ(state.kept, 1u);
  EXPECT_EQ(state.rejected, 1u);
  EXPECT_EQ(state.stale, 0u);
  EXPECT_DOUBLE_EQ(state.gain, 0.75);
  EXPECT_DOUBLE_EQ(story.Knob("tile").payoff, 0.25);
  EXPECT_EQ(story.Knob("tile").keeps, 1u);
  EXPECT_EQ(story.Knob("packed").refusals, 0u);
  EXPECT_THAT(story.Knob("packed").refused, IsEmpty());
  EXPECT_EQ(story.Knob("packed").tries, 1u) << "tries outlive a keep";
  EXPECT_TRUE(state.tried.contains(Name64(Knobs(32, true, "shared")))) << "so does what was tried";
  EXPECT_DOUBLE_EQ(state.worker_seconds, 3.5);

  story.Run({To("tile", std::int64_t{64}, std::int64_t{16})}, Reason::kFaster, 0.9);
  EXPECT_DOUBLE_EQ(story.state().gain, 0.75 * 0.9);
  EXPECT_DOUBLE_EQ(story.Knob("tile").payoff, 0.35);
}

TEST(Track, KeepOfSeveralKnobsSplitsThePayoff) {
  Story story;
  story.Run({kTile64, kPacked}, Reason::kFaster, 0.8);
  EXPECT_DOUBLE_EQ(story.Knob("tile").payoff, 0.1);
  EXPECT_DOUBLE_EQ(story.Knob("packed").payoff, 0.1);
  EXPECT_EQ(story.Knob("tile").keeps, 1u);
  EXPECT_EQ(story.Knob("packed").tries, 1u);
}

TEST(Track, RejectOfSeveralKnobsIsStaleButBlamesNone) {
  Story story;
  story.Run({kTile64, kPacked}, Reason::kNotFaster, 1.2);
  EXPECT_EQ(story.state().stale, 1u);
  EXPECT_EQ(story.Knob("tile").refusals, 0u);
  EXPECT_EQ(story.Knob("tile").tries, 1u);
}

TEST(Track, RepairedProposalCountsAsTriedBothWaysAndBlamesOnlyTheProposedKnob) {
  Story story;
  story.Run({kTile64, kExact}, Reason::kWrongOutput);
  EXPECT_THAT(story.state().tried,
              UnorderedElementsAre(Name64(Spec().start), Name64(Knobs(64, false, "exact")),
                                   Name64(Knobs(64, false, "shared"))));
  EXPECT_EQ(story.Knob("tile").refusals, 1u);
  EXPECT_THAT(story.Knob("tile").refused, ElementsAre(KnobValue(std::int64_t{64})));
  EXPECT_EQ(story.Knob("staging").refusals, 0u);
  EXPECT_EQ(story.Knob("staging").tries, 0u) << "a repair is no try";
}

TEST(Track, KeptRepairedCandidateBecomesTheIncumbentWithItsRepair) {
  Story story;
  story.Run({kTile64, kExact}, Reason::kFaster, 0.5);
  EXPECT_EQ(story.state().incumbent, Knobs(64, false, "exact"));
  EXPECT_DOUBLE_EQ(story.Knob("tile").payoff, 0.5);
  EXPECT_DOUBLE_EQ(story.Knob("staging").payoff, 0.0);
}

TEST(Track, InvalidProposalIsRefusedWithoutAGrant) {
  Story story;
  story.Propose({kTile64}, {"shared memory: 67584 B needed, 46080 B allowed"});
  EXPECT_THAT(story.Why(story.Grant()), Optional(HasSubstr("violates constraints")));
  story.Tell(story.Decide(Reason::kGeometry));
  EXPECT_EQ(story.state().rejected, 1u);
  EXPECT_EQ(story.state().stale, 1u);
  EXPECT_EQ(story.Knob("tile").refusals, 1u);
}

TEST(Track, VoidIsNeitherStaleNorARefusalButStaysTried) {
  Story story;
  story.Run({kPacked}, Reason::kNotFaster, 1.0);
  story.Run({kTile64}, Reason::kControlDrift);
  const TrackState& state = story.state();
  EXPECT_EQ(state.voided, 1u);
  EXPECT_EQ(state.voids_in_row, 1u);
  EXPECT_EQ(state.stale, 1u);
  EXPECT_EQ(story.Knob("tile").refusals, 0u);
  EXPECT_EQ(story.Knob("tile").tries, 1u);
  EXPECT_TRUE(state.tried.contains(Name64(Knobs(64, false, "shared"))));
  story.Run({kTile16}, Reason::kNotFaster, 1.0);
  EXPECT_EQ(story.state().voids_in_row, 0u);
}

TEST(Track, VoidsCountAsRefusalsWhereThePolicySaysSo) {
  TrackSpec spec = Spec();
  spec.policy_parameters["void_is_refusal"] = 1.0;
  Story story(spec);
  story.Run({kTile64}, Reason::kControlDrift);
  EXPECT_EQ(story.state().voided, 1u);
  EXPECT_EQ(story.state().rejected, 0u);
  EXPECT_EQ(story.state().stale, 1u);
  EXPECT_EQ(story.Knob("tile").refusals, 1u);
}

TEST(Track, RejectForAVoidsReasonFollowsOnlyWhereThePolicySaysSo) {
  TrackSpec spec = Spec();
  for (const bool refusal : {false, true}) {
    if (refusal) spec.policy_parameters["void_is_refusal"] = 1.0;
    Story story(spec);
    story.Propose({kTile64}).Tell(story.Grant()).Tell(story.Measure(Attempt(1)));
    Decided decided = story.Decide(Reason::kControlDrift);
    decided.decision.verdict = Verdict::kReject;
    EXPECT_EQ(story.Why(decided).has_value(), !refusal);
  }
}

TEST(Track, WhatIsRefusedBeforeItRunsLeavesTheVoidsInARow) {
  Story story;
  story.Run({kPacked}, Reason::kControlDrift);
  story.Propose({kTile64}, {"shared memory: 67584 B needed, 46080 B allowed"});
  story.Tell(story.Decide(Reason::kGeometry));
  EXPECT_EQ(story.state().voids_in_row, 1u);
}

TEST(Track, MissingDataSaysNothingAboutTheDevice) {
  Story story;
  story.Run({kTile64}, Reason::kControlDrift);
  story.Run({kTile16}, Reason::kNoData);
  EXPECT_EQ(story.state().voids_in_row, 1u);
  EXPECT_EQ(story.state().voided, 2u);
}

TEST(Track, VoidMeasuredAgainKeepsTheGenerationOpenAndChangesNoState) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant()).Tell(story.Measure(Attempt(1)));
  const TrackState before = story.state();
  story.Tell(story.Decide(Reason::kControlDrift, std::nullopt, true));
  EXPECT_EQ(story.state(), before);
  ASSERT_EQ(story.track().generations.size(), 1u);
  EXPECT_EQ(story.track().generations.begin()->second.voids, 1u);
  EXPECT_THAT(story.track().generations.begin()->second.reports, IsEmpty());
  EXPECT_EQ(story.Grant().attempt, Attempt(2)) << "attempts are never numbered twice";
}

TEST(Track, LostAttemptIsCountedAndItsLateReportStillCounts) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(AttemptLost{OrderKind::kMeasure, Generation(1), Attempt(1), "lease expired"});
  EXPECT_EQ(story.track().generations.begin()->second.lost, 1u);
  EXPECT_FALSE(story.track().generations.begin()->second.attempt);
  story.Tell(story.Grant());
  EXPECT_EQ(story.track().generations.begin()->second.attempt->attempt, Attempt(2));
  story.Tell(story.Measure(Attempt(1)));
  EXPECT_FALSE(story.track().generations.begin()->second.attempt)
      << "the newer attempt's batch is answered";
  EXPECT_EQ(story.track().generations.begin()->second.Find(Attempt(1))->taken, Sha256("report 1"));
  EXPECT_TRUE(story.track().generations.begin()->second.Find(Attempt(2))->taken.IsZero());
  EXPECT_THAT(story.Why(story.Measure(Attempt(1))), Optional(HasSubstr("measured twice")));
  EXPECT_THAT(story.Why(story.Measure(Attempt(3))), Optional(HasSubstr("never granted")));
}

TEST(Track, SecondReportOfABatchIsRefused) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(AttemptLost{OrderKind::kMeasure, Generation(1), Attempt(1), "lease expired"});
  story.Tell(story.Grant());
  story.Tell(story.Measure(Attempt(2)));
  Measured late = story.Measure(Attempt(1));
  late.report.batch = 0;
  EXPECT_THAT(story.Why(late), Optional(HasSubstr("batch 1 is awaited")));
}

TEST(Track, CrashOfTheCandidateIsAFaultAndNoReportOfTheBatch) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kCrashed, ArmRole::kCandidate));
  const OpenGeneration& open = story.track().generations.begin()->second;
  EXPECT_EQ(open.faults, 1u);
  EXPECT_TRUE(open.fault);
  EXPECT_THAT(open.faulted_on, ElementsAre(WorkerId("w1")));
  EXPECT_THAT(open.reports, IsEmpty());
  story.Tell(story.Grant());
  EXPECT_FALSE(story.track().generations.begin()->second.fault);
  EXPECT_EQ(story.track().generations.begin()->second.faults, 1u);
}

TEST(Track, CrashOfAnotherArmIsNoFaultOfTheCandidate) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kHung, ArmRole::kIncumbent));
  EXPECT_EQ(story.track().generations.begin()->second.faults, 0u);
  EXPECT_TRUE(story.track().generations.begin()->second.fault);
}

TEST(Track, BatchesAccumulate) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant()).Tell(story.Measure(Attempt(1)));
  const Granted second = story.Grant();
  EXPECT_EQ(second.batch, 1u);
  EXPECT_EQ(second.attempt, Attempt(2));
  story.Tell(second).Tell(story.Measure(Attempt(2)));
  EXPECT_EQ(story.track().generations.begin()->second.reports.size(), 2u);
}

// A track whose structure is a knob, of `plain` (tile) and `split` (tile, parts).
TrackSpec SpecOfTwo() {
  TrackSpec spec = Spec();
  spec.structure = "plain+split";
  spec.start =
      Configuration{{{"structure", std::string("plain")}, {"plain.tile", std::int64_t{32}}}};
  return spec;
}

Proposed MoveToSplit(const Story& story) {
  Proposed proposed = story.Proposal({});
  proposed.candidate = Configuration{{{"structure", std::string("split")},
                                      {"split.tile", std::int64_t{8}},
                                      {"split.parts", std::int64_t{2}}}};
  proposed.changes = {To("structure", std::string("plain"), std::string("split"))};
  return proposed;
}

TEST(Track, AnotherStructureBringsItsKnobsAndTheirRecords) {
  Story story(SpecOfTwo());
  Proposed proposed = MoveToSplit(story);
  proposed.changes.push_back(To("split.parts", std::int64_t{1}, std::int64_t{2}, true));
  story.Tell(proposed).Tell(story.Grant());
  story.Tell(story.Measure(Attempt(1))).Tell(story.Decide(Reason::kFaster, 0.5));
  EXPECT_EQ(story.state().incumbent, proposed.candidate);
  EXPECT_DOUBLE_EQ(story.Knob("structure").payoff, 0.5);
  Configuration unrepaired = proposed.candidate;
  unrepaired.Set("split.parts", std::int64_t{1});
  EXPECT_TRUE(story.state().tried.contains(Name64(unrepaired)));

  story.Run({To("split.tile", std::int64_t{8}, std::int64_t{16})}, Reason::kNotFaster, 1.1);
  EXPECT_EQ(story.Knob("split.tile").refusals, 1u);
  EXPECT_EQ(story.Knob("split.tile").tries, 1u);
  EXPECT_EQ(story.Knob("plain.tile").tries, 0u);
}

TEST(Track, ChangesOfStructureLeadToACandidateOfThatStructure) {
  const Story story(SpecOfTwo());
  EXPECT_EQ(story.Why(MoveToSplit(story)), std::nullopt);
  Proposed other = MoveToSplit(story);
  other.changes[0].to = std::string("spilt");
  EXPECT_THAT(story.Why(other), Optional(HasSubstr("do not lead from the incumbent")));
  Proposed unsaid = MoveToSplit(story);
  unsaid.changes.clear();
  EXPECT_THAT(story.Why(unsaid), Optional(HasSubstr("do not lead from the incumbent")));
  Proposed nowhere = MoveToSplit(story);
  nowhere.candidate = Configuration{};
  EXPECT_THAT(story.Why(nowhere), Optional(HasSubstr("the candidate has no knob 'structure'")));
  Proposed repaired = MoveToSplit(story);
  repaired.changes.push_back(To("plain.tile", std::int64_t{32}, std::int64_t{8}, true));
  EXPECT_THAT(story.Why(repaired), Optional(HasSubstr("name knob 'plain.tile'")));
  // Where the structure is no knob, nothing comes along.
  TrackSpec spec = SpecOfTwo();
  spec.structure = "plain";
  const Story one(spec);
  EXPECT_THAT(one.Why(MoveToSplit(one)), Optional(HasSubstr("do not lead from the incumbent")));
}

TEST(Track, RefusesAKeepAgainstAnIncumbentThatWasReplaced) {
  Story story;
  story.Propose({kTile64}).Propose({kTile16});
  Granted second = story.Grant();
  second.generation = Generation(2);
  story.Tell(story.Grant()).Tell(second);
  Measured measured = story.Measure(Attempt(1));
  story.Tell(measured);
  measured.report.generation = Generation(2);
  story.Tell(measured).Tell(story.Decide(Reason::kFaster, 0.5));
  const Decided keep = story.Decide(Reason::kFaster, 0.25);  // of generation 2
  EXPECT_THAT(story.Why(keep), Optional(HasSubstr("kept against tile=32")));
  EXPECT_FALSE(story.Why(story.Decide(Reason::kSuperseded, 0.25, true)));
  EXPECT_FALSE(story.Why(story.Decide(Reason::kNotFaster, 1.25)));
}

TEST(Track, RefusesWhatCannotFollow) {
  Story story;
  const auto refuses = [&](const EventBody& body, const std::string& why) {
    EXPECT_THAT(story.Why(body), Optional(HasSubstr(why)));
  };
  refuses(Decided{Generation(1), {}, false}, "none is open");
  refuses(story.Grant(), "none is open");
  refuses(TrackOpened{}, "open already");
  refuses(EpochStarted{}, "about the ledger");
  refuses(Confirmed{}, "without a confirmation");
  Proposed proposed = story.Proposal({kTile64});
  proposed.generation = Generation(2);
  refuses(proposed, "generation 1 is next");
  proposed = story.Proposal({kTile64});
  proposed.incumbent.Set("tile", std::int64_t{8});
  refuses(proposed, "the incumbent is tile=32");
  proposed = story.Proposal({kTile64});
  proposed.changes.clear();
  refuses(proposed, "do not lead from the incumbent to the candidate: they give tile=32");
  proposed = story.Proposal({kTile64, kTile64});
  refuses(proposed, "a change of knob 'tile' starts from 32, it is 64");
  proposed = story.Proposal({kTile64});
  proposed.candidate.settings.pop_back();
  refuses(proposed, "do not lead from the incumbent to the candidate");

  story.Propose({kTile64});
  EXPECT_FALSE(story.Why(story.Proposal({kTile16}))) << "beside what is open";
  proposed = story.Proposal({kTile16});
  proposed.generation = Generation(1);
  refuses(proposed, "generation 2 is next");
  refuses(TrackPaused{"x"}, "generation 1 is open");
  refuses(TrackClosed{"x"}, "generation 1 is open");
  refuses(story.Grant(OrderKind::kConfirm), "while a generation is open");
  refuses(story.Decide(Reason::kFaster, 0.5), "without a report");
  Granted granted = story.Grant();
  granted.attempt = Attempt(2);
  refuses(granted, "attempt 1 is next");
  granted = story.Grant();
  granted.batch = 1;
  refuses(granted, "batch 0 is next");
  story.Tell(story.Grant());
  refuses(story.Decide(Reason::kNotFaster), "attempt 1 is out");
  refuses(story.Grant(), "attempt 1 is out");
  story.Tell(story.Measure(Attempt(1)));
  refuses(story.Decide(Reason::kFaster), "without a ratio");
  refuses(story.Decide(Reason::kNotFaster, 1.0, true), "no void");
  Decided mismatched = story.Decide(Reason::kNotFaster);
  mismatched.decision.verdict = Verdict::kKeep;
  refuses(mismatched, "decided keep for the reason not_faster");

  const Event old{story.track().last_applied, 0, TrackId(1), story.Decide(Reason::kNotFaster)};
  EXPECT_THAT(WhyNotApply(story.track(), old), Optional(HasSubstr("come after event")));
  const Event other{Seq(99), 0, TrackId(2), story.Decide(Reason::kNotFaster)};
  EXPECT_THAT(WhyNotApply(story.track(), other), Optional(HasSubstr("track 2")));
}

// What a snapshot promises: the settled state and the events after it are the track.
TEST(Track, ComesBackFromItsSettledStateAtAnyMoment) {
  TrackSpec spec = Spec();
  spec.confirm = true;
  Story story(spec);
  std::vector<Track> moments;
  story.Run({kPacked}, Reason::kNotFaster, 1.0);
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(AttemptLost{OrderKind::kMeasure, Generation(2), Attempt(1), "released"});
  story.Tell(TrackResumed{spec.budget});
  story.Tell(story.Grant());
  story.Tell(ReportConflict{Generation(1), Attempt(1), WorkerId("w1"), {}, {}});
  story.Tell(story.Measure(Attempt(2)));
  story.Tell(story.Decide(Reason::kThrottled, std::nullopt, true));
  story.Tell(story.Grant()).Tell(story.Measure(Attempt(3)));
  story.Tell(story.Decide(Reason::kFaster, 0.9));
  story.Tell(TrackClosed{"nothing left to propose"}).Tell(story.Grant(OrderKind::kConfirm));
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kCrashed));
  story.Tell(story.Grant(OrderKind::kConfirm)).Tell(story.Measure(Attempt(2)));
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = story.state().incumbent;
  story.Tell(confirmed);

  const std::vector<Event>& history = story.history();
  const auto fold = [&](Track track, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
      if (history[i].seq > track.last_applied) Apply(track, history[i]);
    }
    return track;
  };
  const Track opened =
      OpenTrack(TrackId(1), std::get<TrackOpened>(history[0].body), history[0].seq);
  for (std::size_t count = 1; count <= history.size(); ++count) {
    const Track whole = fold(opened, count);
    Track resumed;
    resumed.state = whole.Settled();
    resumed.last_applied = resumed.state.settled;
    EXPECT_EQ(fold(resumed, history.size()), story.track()) << "snapshot after event " << count;
  }
}

}  // namespace
}  // namespace pawl
