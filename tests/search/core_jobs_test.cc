// Core and jobs: what a person wants of them, whose turn it is, and which workers they get.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/search/core.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::HelloOf;
using fakes::KeyOf;
using fakes::Told;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CoreOptions Daemon() {
  CoreOptions options = CoreBench::DefaultOptions();
  options.stay = true;
  return options;
}

TrackSpec SpecOf(const std::string& job) {
  TrackSpec spec = CopySpec();
  spec.job = job;
  spec.label = job;
  return spec;
}

class CoreJobs : public testing::Test {
 protected:
  // Submits a job of one track.
  Effects Give(const std::string& job, std::int32_t priority = 0) {
    bench.Carry(
        bench.core().OnSubmit({job, job + ".toml", "text", priority, "ann@boss"}, bench.now_ms));
    return bench.Open(SpecOf(job));
  }
  Effects Move(const std::string& job, JobStatus status) {
    return bench.Carry(bench.core().OnMoveJob({job, status, "ann@boss"}, bench.now_ms));
  }
  // The worker's order is answered, so that it wants the next.
  Effects Answered(const PeerId& peer, double seconds = 1.75) {
    Report report = Answer(bench.granted(), WorkerId(peer), 1.2);
    report.run_seconds += seconds - 1.75;
    return bench.Report(peer, report);
  }

  CoreBench bench{Daemon()};
};

TEST_F(CoreJobs, AnIdleWorkerIsWelcomeAndTheSearchIsNotOver) {
  EXPECT_THAT(Told(bench.Send("w1", HelloOf("w1"))), ElementsAre("w1 < WELCOME"));
  bench.Send("w1", Ready{1});
  EXPECT_FALSE(bench.core().Done());
  EXPECT_EQ(bench.core().WhyNotWanted(WorkerId("w1")), "no track is open yet");
  EXPECT_THAT(Told(Give("a")), Contains("w1 < GRANT t1 g1 a1 b0"));
  EXPECT_EQ(bench.core().WhyNotWanted(WorkerId("w1")), "");
}

TEST_F(CoreJobs, APausedJobFinishesWhatIsOutAndBeginsNothing) {
  bench.Join("w1");
  Give("a");
  EXPECT_THAT(Told(Move("a", JobStatus::kPaused)), ElementsAre("+ t0 job a paused"));
  EXPECT_THAT(Told(Answered("w1")),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "w1 < ACK t1 g1 a1 b0"));
  EXPECT_THAT(Told(bench.Tick(1'000)), IsEmpty());
  EXPECT_THAT(Told(Move("a", JobStatus::kGoing)),
              ElementsAre("+ t0 job a going", "+ proposed g2", "+ granted g2 a1 b0 to w1",
                          "w1 < GRANT t1 g2 a1 b0", "w1 < PREPARE 2"));
}

TEST_F(CoreJobs, ACancelledJobsOrderIsTakenBackAndTheWorkerServesAnother) {
  bench.Join("w1");
  Give("a");
  EXPECT_THAT(Told(Give("b")), ElementsAre("+ t2 opened", "+ t2 proposed g1"));
  const std::vector<std::string> told = Told(Move("a", JobStatus::kCancelled));
  EXPECT_THAT(told, Contains("w1 < CANCEL t1 g1 a1 b0"));
  EXPECT_THAT(told, Contains("+ lost a1: job a was cancelled by ann@boss"));
  EXPECT_THAT(told, Contains("w1 < GRANT t2 g1 a1 b0"));
}

TEST_F(CoreJobs, ACancelledJobsReportIsTakenWhenItComesAllTheSame) {
  bench.Join("w1");
  Give("a");
  const Order order = bench.granted();
  Move("a", JobStatus::kCancelled);
  EXPECT_THAT(Told(bench.Report("w1", Answer(order, WorkerId("w1"), 1.2))),
              Contains("w1 < ACK t1 g1 a1 b0"));
  EXPECT_EQ(bench.track().state.rejected, 1U);
}

TEST_F(CoreJobs, WhatIsWantedOfAJobOutlivesTheCoordinator) {
  Give("a");
  Move("a", JobStatus::kPaused);
  bench.Restart(Daemon());
  EXPECT_THAT(Told(bench.Join("w1")), IsEmpty());
  EXPECT_THAT(Told(Move("a", JobStatus::kGoing)), Contains("w1 < GRANT t1 g1 a1 b0"));
}

TEST_F(CoreJobs, APausedJobsConfirmationWaitsToo) {
  bench.Join("w1");
  Give("a");
  bench.Carry(bench.core().OnConfirm(TrackId(1), bench.now_ms));
  Move("a", JobStatus::kPaused);
  EXPECT_THAT(Told(Answered("w1")), Not(Contains(HasSubstr("GRANT"))));
  EXPECT_THAT(Told(Move("a", JobStatus::kGoing)), Contains("w1 < GRANT confirm t1 g1 a1 b0 fresh"));
}

TEST_F(CoreJobs, TheHigherPriorityGoesFirst) {
  Give("low", -1);
  Give("middle");
  Give("high", 7);
  EXPECT_THAT(Told(bench.Join("w1")), Contains("w1 < GRANT t3 g1 a1 b0"));
  EXPECT_THAT(Told(Answered("w1")), Contains("w1 < GRANT t3 g2 a1 b0"));
  EXPECT_THAT(Told(bench.Join("w2")), Contains("w2 < GRANT t2 g1 a1 b0"))
      << "one worker is enough for a track: the next job has the other";
}

TEST_F(CoreJobs, EqualJobsShareAWorkersTimeAndNotItsOrders) {
  Give("long");
  Give("short");
  bench.Join("w1");
  std::map<std::string, double> had;
  for (int order = 0; order < 22; ++order) {
    const bool is_long = bench.granted().track == TrackId(1);
    const double seconds = is_long ? 20 : 2;
    had[is_long ? "long" : "short"] += seconds;
    Answered("w1", seconds);
  }
  EXPECT_EQ(had["long"], 40);
  EXPECT_EQ(had["short"], 40);
}

TEST_F(CoreJobs, AJobBeginsOnceAsManyWorkersAreThereAsItWants) {
  bench.core().SetTerms("a", {{}, 2});
  Give("a");
  EXPECT_THAT(Told(bench.Join("w1")), IsEmpty());
  EXPECT_THAT(Told(bench.Send("w2", HelloOf("w2"))), Contains("w1 < GRANT t1 g1 a1 b0"));
  bench.Send("w2", Bye{"drained"});
  EXPECT_THAT(Told(Answered("w1")), Contains(HasSubstr("GRANT t1 g2"))) << "it has begun";
}

TEST_F(CoreJobs, AJobOfOneHostIsMeasuredThereOnly) {
  bench.core().SetTerms("a", {{"gpu1"}, 1});
  Give("a");
  Hello other = HelloOf("w1");
  other.host = "gpu2";
  bench.Send("p1", other);
  EXPECT_THAT(Told(bench.Send("p1", Ready{1})), IsEmpty());
  EXPECT_THAT(bench.core().WhyNotWanted(WorkerId("w1")),
              HasSubstr("track 1 (a) wants a worker of host gpu1, this one is of gpu2"));
  Hello wanted = HelloOf("w2");
  wanted.host = "gpu1";
  bench.Send("p2", wanted);
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})), Contains("p2 < GRANT t1 g1 a1 b0"));
}

TEST_F(CoreJobs, ADaemonIsDoneOnceItIsDrained) {
  bench.Join("w1");
  Give("a");
  bench.Carry(bench.core().OnDrain(bench.now_ms));
  EXPECT_FALSE(bench.core().Done());
  Answered("w1");
  EXPECT_TRUE(bench.core().Done());
}

}  // namespace
}  // namespace pawl
