#include "coordinator/search/track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::UnorderedElementsAre;

Configuration Knobs(std::int64_t tile, bool packed, const std::string& staging) {
  return Configuration{{{"tile", tile}, {"packed", packed}, {"staging", staging}}};
}

TrackSpec Spec() {
  TrackSpec spec;
  spec.job = "unit";
  spec.operation = "matmul";
  spec.start = Knobs(32, false, "shared");
  spec.budget.generations = 20;
  spec.confirm = false;
  return spec;
}

// Makes events of one track, numbers them and folds them in.
class Story {
 public:
  explicit Story(const TrackSpec& spec = Spec())
      : track_(OpenTrack(TrackId(1), TrackOpened{spec, TrackId(0)}, Seq(5))) {
    history_.push_back({Seq(5), 0, TrackId(1), TrackOpened{spec, TrackId(0)}});
  }

  const Track& track() const { return track_; }
  const TrackState& state() const { return track_.state; }
  const std::vector<Event>& history() const { return history_; }

  std::optional<std::string> Why(const EventBody& body) const {
    return WhyNotApply(track_, Next(body));
  }

  Story& Tell(const EventBody& body) {
    history_.push_back(Next(body));
    Apply(track_, history_.back());
    return *this;
  }

  Story& Propose(std::vector<Change> changes, std::vector<std::string> violations = {}) {
    return Tell(Proposal(std::move(changes), std::move(violations)));
  }

  Proposed Proposal(std::vector<Change> changes, std::vector<std::string> violations = {}) const {
    Proposed proposed;
    proposed.generation = state().last.Next();
    proposed.incumbent = state().incumbent;
    proposed.candidate = state().incumbent;
    for (const Change& change : changes) proposed.candidate.Set(change.knob, change.to);
    proposed.changes = std::move(changes);
    proposed.violations = std::move(violations);
    return proposed;
  }

  Granted Grant(OrderKind kind = OrderKind::kMeasure) const {
    const auto& open = kind == OrderKind::kMeasure ? track_.generation : track_.confirmation;
    Granted granted;
    granted.kind = kind;
    granted.generation = open ? open->proposed.generation : Generation(state().confirmations + 1);
    granted.attempt = open ? open->last_attempt.Next() : Attempt(1);
    granted.batch = open ? open->reports.size() : 0;
    granted.worker = WorkerId("w1");
    granted.boot = BootId("b1");
    granted.order = Sha256("order");
    granted.lease_ms = 60'000;
    granted.incumbent = state().incumbent;
    return granted;
  }

  Measured Measure(Attempt attempt, OutcomeKind kind = OutcomeKind::kMeasured,
                   std::optional<ArmRole> arm = std::nullopt) const {
    const OpenGeneration& open = track_.generation ? *track_.generation : *track_.confirmation;
    Report report;
    report.kind = track_.generation ? OrderKind::kMeasure : OrderKind::kConfirm;
    report.track = TrackId(1);
    report.generation = open.proposed.generation;
    report.attempt = attempt;
    report.batch = open.reports.size();
    report.worker = WorkerId("w1");
    report.outcome = {kind, arm, kind == OutcomeKind::kMeasured ? "" : "detail"};
    report.build_seconds = 1;
    report.check_seconds = 0.5;
    report.run_seconds = 0.25;
    return {report, Sha256("report " + std::to_string(attempt.value))};
  }

  Decided Decide(Reason reason, std::optional<double> ratio = std::nullopt,
                 bool again = false) const {
    Decided decided;
    decided.generation = track_.generation->proposed.generation;
    decided.decision.reason = reason;
    decided.decision.verdict = VerdictOf(reason);
    decided.decision.ratio = ratio;
    decided.again = again;
    return decided;
  }

  // One whole generation.
  Story& Run(std::vector<Change> changes, Reason reason,
             std::optional<double> ratio = std::nullopt) {
    Propose(std::move(changes));
    Tell(Grant());
    Tell(Measure(Attempt(1)));
    return Tell(Decide(reason, ratio));
  }

  const KnobRecord& Knob(const std::string& name) const {
    for (const KnobRecord& record : state().knobs) {
      if (record.knob == name) return record;
    }
    ADD_FAILURE() << "no knob " << name;
    return state().knobs.front();
  }

 private:
  Event Next(const EventBody& body) const {
    return {track_.last_applied.Next(), 0, TrackId(1), body};
  }

  Track track_;
  std::vector<Event> history_;
};

Change To(const std::string& knob, KnobValue from, KnobValue to, bool repair = false) {
  return {knob, std::move(from), std::move(to), repair};
}

const Change kTile64 = To("tile", std::int64_t{32}, std::int64_t{64});
const Change kTile16 = To("tile", std::int64_t{32}, std::int64_t{16});
const Change kPacked = To("packed", false, true);
const Change kExact = To("staging", std::string("shared"), std::string("exact"), true);

std::uint64_t Name64(const Configuration& configuration) { return configuration.Hash().Prefix64(); }

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
  ASSERT_TRUE(story.track().generation);
  EXPECT_EQ(story.track().generation->voids, 1u);
  EXPECT_THAT(story.track().generation->reports, IsEmpty());
  EXPECT_EQ(story.Grant().attempt, Attempt(2)) << "attempts are never numbered twice";
}

TEST(Track, LostAttemptIsCountedAndItsLateReportStillCounts) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(AttemptLost{OrderKind::kMeasure, Generation(1), Attempt(1), "lease expired"});
  EXPECT_EQ(story.track().generation->lost, 1u);
  EXPECT_FALSE(story.track().generation->attempt);
  story.Tell(story.Grant());
  EXPECT_EQ(story.track().generation->attempt->attempt, Attempt(2));
  story.Tell(story.Measure(Attempt(1)));
  EXPECT_FALSE(story.track().generation->attempt) << "the newer attempt's batch is answered";
  EXPECT_EQ(story.track().generation->Find(Attempt(1))->taken, Sha256("report 1"));
  EXPECT_TRUE(story.track().generation->Find(Attempt(2))->taken.IsZero());
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
  const OpenGeneration& open = *story.track().generation;
  EXPECT_EQ(open.faults, 1u);
  EXPECT_TRUE(open.fault);
  EXPECT_THAT(open.faulted_on, ElementsAre(WorkerId("w1")));
  EXPECT_THAT(open.reports, IsEmpty());
  story.Tell(story.Grant());
  EXPECT_FALSE(story.track().generation->fault);
  EXPECT_EQ(story.track().generation->faults, 1u);
}

TEST(Track, CrashOfAnotherArmIsNoFaultOfTheCandidate) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant());
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kHung, ArmRole::kIncumbent));
  EXPECT_EQ(story.track().generation->faults, 0u);
  EXPECT_TRUE(story.track().generation->fault);
}

TEST(Track, BatchesAccumulate) {
  Story story;
  story.Propose({kTile64}).Tell(story.Grant()).Tell(story.Measure(Attempt(1)));
  const Granted second = story.Grant();
  EXPECT_EQ(second.batch, 1u);
  EXPECT_EQ(second.attempt, Attempt(2));
  story.Tell(second).Tell(story.Measure(Attempt(2)));
  EXPECT_EQ(story.track().generation->reports.size(), 2u);
}

TEST(Track, PausesAndResumesUnderANewBudget) {
  Story story;
  story.Run({kTile64}, Reason::kControlDrift);
  story.Tell(TrackPaused{"unstable"});
  EXPECT_EQ(story.state().status, TrackStatus::kPaused);
  EXPECT_EQ(story.state().why, "unstable");
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("paused")));
  Budget budget;
  budget.generations = 99;
  story.Tell(TrackResumed{budget});
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.state().why, "");
  EXPECT_EQ(story.state().voids_in_row, 0u);
  EXPECT_EQ(story.state().spec.budget, budget);
}

TEST(Track, ClosesAtOnceWithoutAConfirmation) {
  Story story;
  story.Tell(TrackClosed{"nothing left to propose"});
  EXPECT_EQ(story.state().status, TrackStatus::kClosed);
  EXPECT_EQ(story.state().why, "nothing left to propose");
  EXPECT_FALSE(story.track().confirmation);
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("closed")));
}

TEST(Track, IsClosedOnceItsConfirmationIsThere) {
  TrackSpec spec = Spec();
  spec.confirm = true;
  Story story(spec);
  story.Tell(TrackClosed{"nothing left to propose"});
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.track().closing, "nothing left to propose");
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("closing")));
  story.Tell(story.Grant(OrderKind::kConfirm)).Tell(story.Measure(Attempt(1)));
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = story.state().incumbent;
  confirmed.valid = true;
  story.Tell(confirmed);
  EXPECT_EQ(story.state().status, TrackStatus::kClosed);
  EXPECT_EQ(story.state().why, "nothing left to propose");
  EXPECT_EQ(story.state().confirmations, 1u);
  EXPECT_DOUBLE_EQ(story.state().worker_seconds, 1.75);
  EXPECT_FALSE(story.track().closing);
}

TEST(Track, ResumingWhileClosingDropsAConfirmationThatNobodyWorksOn) {
  TrackSpec spec = Spec();
  spec.confirm = true;
  Story story(spec);
  story.Tell(TrackClosed{"generation limit 20 reached"}).Tell(TrackResumed{spec.budget});
  EXPECT_FALSE(story.track().closing);
  EXPECT_FALSE(story.track().confirmation);
  story.Tell(TrackClosed{"generation limit 20 reached"}).Tell(story.Grant(OrderKind::kConfirm));
  story.Tell(TrackResumed{spec.budget});
  EXPECT_TRUE(story.track().confirmation) << "attempt 1 of it must not be granted twice";
}

TEST(Track, ConfirmationOfASearchingTrackLeavesItSearching) {
  Story story;
  story.Tell(story.Grant(OrderKind::kConfirm));
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("confirmation is open")));
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kNoData));
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = story.state().incumbent;
  confirmed.detail = "no recorded data";
  story.Tell(confirmed);
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.state().confirmations, 1u);
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
  refuses(story.Proposal({kTile16}), "generation 1 is open");
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
    resumed.state = whole.state;
    resumed.last_applied = whole.state.settled;
    EXPECT_EQ(fold(resumed, history.size()), story.track()) << "snapshot after event " << count;
  }
}

}  // namespace
}  // namespace pawl
