// Core and confirmations, and the budget a job is run again with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/search/core.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::Failure;
using fakes::Told;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WorkerId kW1("w1");

TrackSpec ConfirmedSpec(std::uint32_t generations) {
  TrackSpec spec = CopySpec();
  spec.confirm = true;
  spec.budget.generations = generations;
  return spec;
}

Confirmed LastConfirmed(const CoreBench& bench) {
  for (auto event = bench.log().rbegin(); event != bench.log().rend(); ++event) {
    if (const auto* confirmed = std::get_if<Confirmed>(&event->body)) return *confirmed;
  }
  ADD_FAILURE() << "nothing is confirmed";
  return {};
}

// One generation, kept, by w1; the confirmation's order is out then.
void RunToConfirmation(CoreBench& bench) {
  bench.Open(ConfirmedSpec(1));
  bench.Join("w1");
  EXPECT_THAT(
      Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.5))),
      ElementsAre("+ measured g1 a1 measured", "+ decided g1 keep faster",
                  "+ closed: generation limit 1 reached", "+ granted confirm g1 a1 b0 to w1",
                  "w1 < ACK t1 g1 a1 b0", "w1 < GRANT confirm t1 g1 a1 b0 fresh"));
}

TEST(CoreConfirm, SearchEndsWithAConfirmationOfItsIncumbent) {
  CoreBench bench;
  RunToConfirmation(bench);
  EXPECT_FALSE(bench.core().Done());
  EXPECT_EQ(bench.granted().arms.size(), 4u) << "committed, incumbent, start, rival";
  EXPECT_THAT(
      Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.8))),
      ElementsAre("+ measured g1 a1 measured", "+ confirmed 1", "w1 < ACK confirm t1 g1 a1 b0"));
  EXPECT_NEAR(LastConfirmed(bench).gain, 0.2, 1e-12);
  EXPECT_EQ(LastConfirmed(bench).incumbent, fakes::CopyKnobs(1, 1, "stream"));
  EXPECT_EQ(bench.track().state.status, TrackStatus::kClosed);
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreConfirm, ConfirmationIsGrantedAgainAfterARestart) {
  CoreBench bench;
  RunToConfirmation(bench);
  const Order order = bench.granted();
  bench.Restart();
  EXPECT_FALSE(bench.core().Done());
  bench.Send("p2", fakes::HelloOf("w1", "boot 2"));
  EXPECT_THAT(
      Told(bench.Send("p2", Ready{1})),
      ElementsAre("+ granted confirm g1 a2 b0 to w1", "p2 < GRANT confirm t1 g1 a2 b0 fresh"));
  EXPECT_THAT(Told(bench.Report("p2", Answer(order, kW1, 0.8))),
              ElementsAre("+ measured g1 a1 measured", "+ confirmed 1",
                          "p2 < CANCEL confirm t1 g1 a2 b0", "p2 < ACK confirm t1 g1 a1 b0"))
      << "late reports win here too";
}

TEST(CoreConfirm, FailedConfirmationIsAnAnswerToo) {
  CoreBench bench;
  RunToConfirmation(bench);
  EXPECT_THAT(Told(bench.Report("w1", Failure(bench.granted(), kW1, OutcomeKind::kNoData))),
              ElementsAre("+ measured g1 a1 no_data", "+ confirmed 1 invalid: no_data: as scripted",
                          "w1 < ACK confirm t1 g1 a1 b0"));
  EXPECT_EQ(bench.track().state.status, TrackStatus::kClosed);
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreConfirm, CrashIsTriedOnceMoreAndThenTheAnswer) {
  CoreBench bench;
  RunToConfirmation(bench);
  const auto crash = [&] {
    return Told(bench.Report(
        "w1", Failure(bench.granted(), kW1, OutcomeKind::kCrashed, ArmRole::kIncumbent)));
  };
  EXPECT_THAT(crash(), Contains("+ granted confirm g1 a2 b0 to w1"));
  EXPECT_EQ(bench.granted().arms.size(), 2u) << "now without what is only beside";
  EXPECT_THAT(crash(), Contains("+ confirmed 1 invalid: crashed twice (on w1, w1): as scripted"));
}

TEST(CoreConfirm, RivalThatDoesNotBuildSpoilsNoConfirmation) {
  CoreBench bench;
  RunToConfirmation(bench);
  EXPECT_THAT(Told(bench.Report(
                  "w1", Failure(bench.granted(), kW1, OutcomeKind::kBuildFailed, ArmRole::kRival))),
              Contains("+ granted confirm g1 a2 b1 to w1"));
  EXPECT_EQ(bench.granted().arms.size(), 2u);
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.8))),
              Contains("+ confirmed 1"));
  EXPECT_THAT(LastConfirmed(bench).beside, IsEmpty());
}

TEST(CoreConfirm, WhatPassesIsTriedAgainBesideTheSameArmsAndThenTheAnswer) {
  for (const OutcomeKind kind : {OutcomeKind::kThrottled, OutcomeKind::kDeviceFault}) {
    CoreBench bench;
    RunToConfirmation(bench);
    const auto fail = [&] { return Told(bench.Report("w1", Failure(bench.granted(), kW1, kind))); };
    EXPECT_THAT(fail(), Contains("+ granted confirm g1 a2 b1 to w1"));
    EXPECT_EQ(bench.granted().arms.size(), 4u);
    EXPECT_THAT(fail(), Contains("+ granted confirm g1 a3 b2 to w1"));
    EXPECT_THAT(fail(), Contains(HasSubstr("+ confirmed 1 invalid: "))) << Name(kind);
  }
  CoreBench bench;
  RunToConfirmation(bench);
  bench.Report("w1", Failure(bench.granted(), kW1, OutcomeKind::kThrottled));
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.8))),
              Contains("+ confirmed 1"));
  EXPECT_THAT(LastConfirmed(bench).beside, testing::SizeIs(2));
}

TEST(CoreConfirm, LostAttemptsOfAConfirmationEnd) {
  CoreBench bench;
  RunToConfirmation(bench);
  std::vector<std::string> told = Told(bench.Send("w1", Bye{"stopped"}));
  for (int i = 1; i < 8; ++i) {
    bench.Join("w1");
    told = Told(bench.Send("w1", Bye{"stopped"}));
  }
  EXPECT_THAT(told, ElementsAre("+ lost a8: worker left: stopped",
                                "+ confirmed 1 invalid: 8 attempts lost"));
}

TEST(CoreConfirm, AskedForInTheMiddleItWaitsForTheOpenGenerationAndTheSearchGoesOn) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Told(bench.Carry(bench.core().OnConfirm(TrackId(1), bench.now_ms))), IsEmpty());
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 1))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "+ granted confirm g1 a1 b0 to w1", "w1 < ACK t1 g1 a1 b0",
                          "w1 < GRANT confirm t1 g1 a1 b0 fresh"));
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.8))),
              ElementsAre("+ measured g1 a1 measured", "+ confirmed 1", "+ proposed g2",
                          "+ granted g2 a1 b0 to w1", "w1 < ACK confirm t1 g1 a1 b0",
                          "w1 < GRANT t1 g2 a1 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(bench.core().OnConfirm(TrackId(7), bench.now_ms).notes,
              ElementsAre("no track 7 to confirm"));
}

TEST(CoreConfirm, ClosedTrackCanBeConfirmedOnceMore) {
  CoreBench bench;
  RunToConfirmation(bench);
  bench.Report("w1", Answer(bench.granted(), kW1, 0.8));
  EXPECT_THAT(
      Told(bench.Carry(bench.core().OnConfirm(TrackId(1), bench.now_ms))),
      ElementsAre("+ granted confirm g2 a1 b0 to w1", "w1 < GRANT confirm t1 g2 a1 b0 fresh"));
  EXPECT_FALSE(bench.core().Done());
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 0.8))),
              Contains("+ confirmed 2"));
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreConfirm, WithoutSearchOnlyConfirmationsRunAndWhatIsOpenIsFinishedForThem) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  CoreOptions options = CoreBench::DefaultOptions();
  options.search = false;
  bench.Restart(options);
  EXPECT_TRUE(bench.core().Done());
  bench.Send("p2", fakes::HelloOf("w1", "boot 2"));
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})), IsEmpty());
  EXPECT_THAT(Told(bench.Carry(bench.core().OnConfirm(TrackId(1), bench.now_ms))),
              ElementsAre("+ granted g1 a2 b0 to w1", "p2 < GRANT t1 g1 a2 b0", "p2 < PREPARE 2"));
  EXPECT_FALSE(bench.core().Done());
  EXPECT_THAT(Told(bench.Report("p2", Answer(bench.granted(), kW1, 1))),
              Contains("+ granted confirm g1 a1 b0 to w1"));
  EXPECT_THAT(
      Told(bench.Report("p2", Answer(bench.granted(), kW1, 0.8))),
      ElementsAre("+ measured g1 a1 measured", "+ confirmed 1", "p2 < ACK confirm t1 g1 a1 b0"));
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreConfirm, LargerBudgetReopensATrackThatItsBudgetClosed) {
  TrackSpec spec = CopySpec();
  spec.budget.generations = 1;
  CoreBench bench;
  bench.Open(spec);
  bench.Join("w1");
  bench.Report("w1", Answer(bench.granted(), kW1, 1));
  EXPECT_EQ(bench.track().state.status, TrackStatus::kClosed);
  const auto rebudget = [&](std::uint32_t generations, std::uint32_t stale) {
    return Told(
        bench.Carry(bench.core().OnRebudget(TrackId(1), {generations, 0, stale}, bench.now_ms)));
  };
  EXPECT_THAT(rebudget(1, 0), IsEmpty()) << "the same";
  EXPECT_THAT(rebudget(2, 1), IsEmpty()) << "another that is spent too";
  EXPECT_THAT(rebudget(2, 0), ElementsAre("+ resumed", "+ proposed g2", "+ granted g2 a1 b0 to w1",
                                          "w1 < GRANT t1 g2 a1 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(rebudget(2, 0), IsEmpty());
  EXPECT_THAT(rebudget(1, 0), ElementsAre("+ resumed")) << "a smaller one ends it when it settles";
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), kW1, 1))),
              Contains("+ closed: generation limit 1 reached"));
}

TEST(CoreConfirm, LargerBudgetDoesNotReopenATrackThatHasNothingLeft) {
  CoreBench bench;
  bench.Open(CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(),
                               [](const TrackState&, const Space&) { return std::nullopt; });
  });
  EXPECT_THAT(Told(bench.Carry(bench.core().OnRebudget(TrackId(1), {99, 0, 0}, bench.now_ms))),
              IsEmpty());
}

TEST(CoreConfirm, LargerBudgetGoesOnInsteadOfAConfirmationThatNobodyBegan) {
  CoreBench bench;
  bench.Open(ConfirmedSpec(1));
  bench.Join("w1");
  bench.Carry(bench.core().OnDrain(bench.now_ms));
  bench.Report("w1", Answer(bench.granted(), kW1, 1));
  bench.Restart();
  bench.Tick();  // the budget's end is noticed now
  EXPECT_EQ(bench.track().closing, "generation limit 1 reached");
  EXPECT_THAT(Told(bench.Carry(bench.core().OnRebudget(TrackId(1), {2, 0, 0}, bench.now_ms))),
              ElementsAre("+ resumed", "+ proposed g2"));
}

TEST(CoreConfirm, PausedTrackGoesOnWhenItsJobIsRunAgain) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_voids = 0;
  options.max_voids_in_row = 1;
  CoreBench bench(options);
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Told(bench.Report("w1", Failure(bench.granted(), kW1, OutcomeKind::kThrottled))),
              Contains(HasSubstr("+ paused: unstable: 1 void in a row")));
  EXPECT_THAT(Told(bench.Carry(bench.core().OnRebudget(TrackId(1), {}, bench.now_ms))),
              Contains("+ proposed g2"));
}

}  // namespace
}  // namespace pawl
