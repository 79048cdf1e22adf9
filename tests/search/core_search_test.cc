// Core and the search of a track: what is proposed, measured again, set aside, closed and
// confirmed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/search/core.h"
#include "schema/codec.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopyKnobs;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::Failure;
using fakes::Told;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const WorkerId kW1("w1");

// Reports the order that is out, by w1.
std::vector<std::string> Measure(CoreBench& bench, double ratio) {
  return Told(bench.Report("w1", Answer(bench.granted(), kW1, ratio)));
}
std::vector<std::string> Fail(CoreBench& bench, OutcomeKind kind,
                              std::optional<ArmRole> arm = std::nullopt) {
  return Told(bench.Report("w1", Failure(bench.granted(), kW1, kind, arm)));
}
// The control drifted: the committed arm's times differ.
std::vector<std::string> Drift(CoreBench& bench) {
  Report report = Answer(bench.granted(), kW1, 1);
  report.rounds[1].visits[0].median_us *= 1.125;
  return Told(bench.Report("w1", report));
}
const Decision& LastDecision(const CoreBench& bench) {
  for (auto event = bench.log().rbegin(); event != bench.log().rend(); ++event) {
    if (const auto* decided = std::get_if<Decided>(&event->body)) return decided->decision;
  }
  ADD_FAILURE() << "nothing is decided";
  return std::get<Decided>(bench.log().front().body).decision;
}

CoreBench::MakeWorkshopOf WithRule(fakes::FunctionProposer::Rule rule) {
  return [rule](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(), rule);
  };
}

TEST(CoreSearch, KeptCandidateIsTheIncumbentOfTheNextGeneration) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Measure(bench, 0.5), Contains("+ decided g1 keep faster"));
  EXPECT_EQ(bench.track().state.incumbent, CopyKnobs(1, 1, "stream"));
  EXPECT_EQ(bench.granted().arms[2].configuration, CopyKnobs(1, 1, "stream"));
  EXPECT_EQ(bench.granted().generation, Generation(2));
}

TEST(CoreSearch, ProposedNamesTheSourcesOfItsArms) {
  CoreBench bench;
  const Effects opened = bench.Open();
  bench.Join("w1");
  const auto& proposed = std::get<Proposed>(opened.append[1].body);
  const Order& order = bench.granted();
  EXPECT_EQ(proposed.candidate_source, order.sources[*order.arms[1].source].digest);
  EXPECT_EQ(proposed.incumbent_source, order.sources[*order.arms[2].source].digest);
  EXPECT_EQ(proposed.hypothesis, "the next one");
}

TEST(CoreSearch, InvalidProposalIsRejectedBeforeAnyBuildAndTheNextOneFollowsAtOnce) {
  CoreBench bench;
  const Effects opened =
      bench.Open(CopySpec(), WithRule([](const TrackState& track, const Space& space) {
                   const Configuration asked =
                       track.last.value == 0 ? CopyKnobs(8, 8, "plain") : CopyKnobs(2, 1, "plain");
                   Proposal proposal;
                   proposal.candidate = asked;
                   for (const Setting& setting : track.incumbent.settings) {
                     const KnobValue& to = *asked.Find(setting.knob);
                     if (to != setting.value) {
                       proposal.changes.push_back({setting.knob, setting.value, to, false});
                     }
                   }
                   for (const Violation& violation : space.Validate(asked)) {
                     proposal.violations.push_back(violation.text);
                   }
                   return std::optional<Proposal>(proposal);
                 }));
  EXPECT_THAT(Told(opened), ElementsAre("+ opened", "+ proposed g1", "+ decided g1 reject geometry",
                                        "+ proposed g2"));
  EXPECT_EQ(LastDecision(bench).detail, "64 elements at once, 16 allowed");
  const auto& proposed = std::get<Proposed>(opened.append[1].body);
  EXPECT_TRUE(proposed.candidate_source.IsZero());
  EXPECT_FALSE(proposed.incumbent_source.IsZero());
}

TEST(CoreSearch, RunOfInvalidProposalsLetsTheOtherTracksAndWorkersHaveTheirTurn) {
  TrackSpec spec = CopySpec();
  spec.budget.generations = 200;
  CoreBench bench;
  const Effects opened = bench.Open(
      spec, WithRule([](const TrackState& track, const Space&) -> std::optional<Proposal> {
        Proposal proposal;
        proposal.candidate = track.incumbent;
        proposal.violations = {"never valid"};
        return proposal;
      }));
  EXPECT_EQ(bench.track().state.last, Generation(64));
  EXPECT_EQ(bench.core().NextDeadline(), bench.now_ms) << "it has more to do";
  EXPECT_FALSE(bench.core().Done());
  bench.Tick();
  bench.Tick();
  bench.Tick();
  EXPECT_EQ(bench.track().state.why, "generation limit 200 reached");
  EXPECT_TRUE(bench.core().Done());
  EXPECT_EQ(bench.core().NextDeadline(), std::numeric_limits<std::int64_t>::max());
}

TEST(CoreSearch, AnotherBatchIsAskedForOnTheSameGeneration) {
  CoreBench bench;
  bench.Open(CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(3, 2),
                               fakes::Everything());
  });
  bench.Join("w1");
  EXPECT_THAT(Measure(bench, 0.5),
              ElementsAre("+ measured g1 a1 measured", "+ granted g1 a2 b1 to w1",
                          "w1 < ACK t1 g1 a1 b0", "w1 < GRANT t1 g1 a2 b1"))
      << "and no new hints";
  EXPECT_THAT(Measure(bench, 0.9), Contains("+ decided g1 keep faster"));
  EXPECT_EQ(LastDecision(bench).ratios.size(), 6u);
}

TEST(CoreSearch, AnotherBatchIsAskedForAgainAfterARestart) {
  CoreBench bench;
  bench.Open(CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(3, 2),
                               fakes::Everything());
  });
  bench.Join("w1");
  Measure(bench, 0.5);
  bench.Restart();
  bench.Send("w1", fakes::HelloOf("w1", "boot 2"));
  EXPECT_THAT(Told(bench.Send("w1", Ready{1})),
              ElementsAre("+ granted g1 a3 b1 to w1", "w1 < GRANT t1 g1 a3 b1"));
}

TEST(CoreSearch, CrashOfTheCandidateIsTriedOnceMoreInAFreshProcessOnAnotherWorker) {
  for (const OutcomeKind kind : {OutcomeKind::kCrashed, OutcomeKind::kHung}) {
    CoreBench bench;
    bench.Open();
    bench.Join("w1", 2);  // it has a place left, and yet
    bench.Join("w2");
    EXPECT_FALSE(bench.granted().fresh_process);
    const std::string name(Name(kind));
    EXPECT_THAT(
        Fail(bench, kind, ArmRole::kCandidate),
        ElementsAre("+ measured g1 a1 " + name, "+ granted g1 a2 b0 to w2", "w1 < ACK t1 g1 a1 b0",
                    "w2 < GRANT t1 g1 a2 b0 fresh", "w2 < PREPARE 2"));
    const Report second = Failure(bench.granted(), WorkerId("w2"), kind, ArmRole::kCandidate);
    EXPECT_THAT(Told(bench.Report("w2", second)), Contains("+ decided g1 reject " + name));
    EXPECT_EQ(LastDecision(bench).detail, "twice (on w1, w2): as scripted");
    EXPECT_EQ(bench.track().state.rejected, 1u);
  }
}

TEST(CoreSearch, CandidateThatCrashedOnceMayStillBeKept) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Fail(bench, OutcomeKind::kCrashed, ArmRole::kCandidate),
              Contains("w1 < GRANT t1 g1 a2 b0 fresh"))
      << "where there is only one worker it is asked again";
  EXPECT_THAT(Measure(bench, 0.5), Contains("+ decided g1 keep faster"));
}

TEST(CoreSearch, SecondTryIsInAFreshProcessAlsoWhenItsWorkerIsLost) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  Fail(bench, OutcomeKind::kCrashed, ArmRole::kCandidate);
  bench.Send("w1", Bye{"preempted"});
  EXPECT_THAT(Told(bench.Join("w2")), Contains("w2 < GRANT t1 g1 a3 b0 fresh"));
}

TEST(CoreSearch, CrashOfAnotherArmIsNotTheCandidatesFault) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Fail(bench, OutcomeKind::kCrashed, ArmRole::kIncumbent),
              Contains("+ decided g1 void device_fault again"));
  EXPECT_EQ(LastDecision(bench).detail, "incumbent: crashed: as scripted");
  EXPECT_THAT(Fail(bench, OutcomeKind::kHung), Contains("+ decided g1 void device_fault again"));
  EXPECT_EQ(LastDecision(bench).detail, "runner hung outside any arm: as scripted");
  EXPECT_THAT(Measure(bench, 0.5), Contains("+ decided g1 keep faster"));
}

TEST(CoreSearch, VoidIsMeasuredAgainTwiceThenSetAside) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Drift(bench),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 void control_drift again",
                          "+ granted g1 a2 b0 to w1", "w1 < ACK t1 g1 a1 b0",
                          "w1 < GRANT t1 g1 a2 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(Fail(bench, OutcomeKind::kThrottled), Contains("+ decided g1 void throttled again"));
  EXPECT_THAT(Drift(bench), Contains("+ decided g1 void control_drift"));
  EXPECT_EQ(bench.track().state.voided, 1u);
  EXPECT_EQ(bench.track().state.stale, 0u);
  EXPECT_EQ(bench.granted().generation, Generation(2));
}

TEST(CoreSearch, VoidThatIsMeasuredAgainCanBeKept) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  Drift(bench);
  EXPECT_THAT(Measure(bench, 0.5), Contains("+ decided g1 keep faster"));
  EXPECT_EQ(LastDecision(bench).ratios.size(), 3u) << "the voided batch does not count";
}

TEST(CoreSearch, TenVoidsInARowPauseTheTrackUntilItIsResumed) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_voids = 0;
  CoreBench bench(options);
  bench.Open();
  bench.Join("w1");
  for (int i = 0; i < 9; ++i) EXPECT_THAT(Drift(bench), Not(Contains(HasSubstr("paused"))));
  EXPECT_THAT(Drift(bench),
              ElementsAre("+ measured g10 a1 measured", "+ decided g10 void control_drift",
                          "+ paused: unstable: 10 voids in a row, the last: control_drift",
                          "w1 < ACK t1 g10 a1 b0"));
  EXPECT_TRUE(bench.core().Done());
  EXPECT_THAT(Told(bench.Carry(bench.core().OnResumeTrack(TrackId(1), bench.now_ms))),
              ElementsAre("+ resumed", "+ proposed g11", "+ granted g11 a1 b0 to w1",
                          "w1 < GRANT t1 g11 a1 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(Told(bench.Carry(bench.core().OnResumeTrack(TrackId(1), bench.now_ms))), IsEmpty());
}

TEST(CoreSearch, ArmThatEveryGenerationNeedsAndIsBrokenPausesTheTrack) {
  for (const ArmRole arm : {ArmRole::kIncumbent, ArmRole::kCommitted}) {
    CoreBench bench;
    bench.Open();
    bench.Join("w1");
    EXPECT_THAT(Fail(bench, OutcomeKind::kBuildFailed, arm),
                Contains("+ decided g1 void device_fault again"));
    Fail(bench, OutcomeKind::kBuildFailed, arm);
    EXPECT_THAT(Fail(bench, OutcomeKind::kBuildFailed, arm),
                Contains("+ paused: no generation can be measured: " + std::string(Name(arm)) +
                         ": build_failed: as scripted"));
    EXPECT_TRUE(bench.core().Done());
  }
}

TEST(CoreSearch, MissingDataIsSetAsideAtOnceAndEndsTheReplayOfALedger) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Fail(bench, OutcomeKind::kNoData), Contains("+ decided g1 void no_data"));
  EXPECT_EQ(bench.granted().generation, Generation(2)) << "a table goes on";
  Report last = Failure(bench.granted(), kW1, OutcomeKind::kNoData);
  last.data_exhausted = true;
  EXPECT_THAT(Told(bench.Report("w1", last)),
              ElementsAre("+ measured g2 a1 no_data", "+ decided g2 void no_data",
                          "+ closed: the replay has no record of generation 2's configuration",
                          "w1 < ACK t1 g2 a1 b0"));
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreSearch, GenerationWhoseWorkersAreLostAgainAndAgainIsSetAside) {
  CoreBench bench;
  bench.Open();
  std::vector<std::string> told;
  for (int i = 0; i < 8; ++i) {
    bench.Join("w1");
    told = Told(bench.Send("w1", Bye{"preempted"}));
  }
  EXPECT_THAT(told, ElementsAre("+ lost a8: worker left: preempted",
                                "+ decided g1 void worker_lost", "+ proposed g2"));
  EXPECT_EQ(LastDecision(bench).detail, "8 attempts lost");
}

TEST(CoreSearch, BudgetsEndTheSearchInTheirOwnWords) {
  TrackSpec spec = CopySpec();
  spec.budget.generations = 2;
  CoreBench generations;
  generations.Open(spec);
  generations.Join("w1");
  Measure(generations, 1);
  EXPECT_THAT(Measure(generations, 1), Contains("+ closed: generation limit 2 reached"));
  EXPECT_TRUE(generations.core().Done());

  spec.budget = {0, 0, 3};
  CoreBench stale;
  stale.Open(spec);
  stale.Join("w1");
  Measure(stale, 1);
  Measure(stale, 1);
  Measure(stale, 0.5);
  Measure(stale, 1);
  Measure(stale, 1);
  EXPECT_THAT(Measure(stale, 1), Contains("+ closed: 3 rejections in a row"));

  spec.budget = {0, 0.05, 0};  // 3 s; each generation takes 1.75
  CoreBench minutes;
  minutes.Open(spec);
  minutes.Join("w1");
  EXPECT_THAT(Measure(minutes, 1), Not(Contains(HasSubstr("closed"))));
  EXPECT_THAT(Measure(minutes, 1), Contains("+ closed: 0.05 minutes of worker time spent"));

  CoreBench nothing;
  nothing.Open(CopySpec(), WithRule([](const TrackState&, const Space&) { return std::nullopt; }));
  EXPECT_EQ(nothing.track().state.why, "nothing left to propose");
}

TEST(CoreSearch, OrderThatCannotBeSentSetsItsGenerationAside) {
  auto files = fakes::CopyFiles();
  files["host/committed.cc"] += "// " + std::string(kMaxMessageBytes, 'x') + "\n";
  auto loaded = LoadOperation(files, "copy");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto operation = std::make_shared<const Operation>(*std::move(loaded));
  CoreBench bench;
  bench.Open(CopySpec(), [&](const TrackSpec& spec) {
    auto workshop = MakeWorkshop(spec, operation);
    EXPECT_TRUE(workshop);
    workshop->proposer = std::make_unique<fakes::FunctionProposer>(fakes::Everything());
    return *std::move(workshop);
  });
  const auto told = Told(bench.Join("w1"));
  EXPECT_THAT(told, ElementsAre("+ decided g1 void device_fault"));
  EXPECT_THAT(LastDecision(bench).detail, HasSubstr("no order can be made: the order has "));
  for (int i = 0; i < 20; ++i) bench.Tick();
  EXPECT_THAT(bench.track().state.why, HasSubstr("unstable: 10 voids in a row")) << "and that ends";
}

}  // namespace
}  // namespace pawl
