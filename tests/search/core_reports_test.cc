// Core and reports: each is taken once and answered always, whatever comes twice, late or wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/search/core.h"
#include "schema/codec.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::Failure;
using fakes::HelloOf;
using fakes::KeyOf;
using fakes::Told;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WorkerId kW1("w1");
const WorkerId kW2("w2");

// A report of an order that differs from Answer's only in what it says for people.
Report Reworded(const Order& order, const std::string& toolchain) {
  Report report = Answer(order, kW1, 1);
  report.toolchain = toolchain;
  return report;
}

TEST(CoreReports, ReportIsTakenOnceAndItsNextGenerationGrantedInTheSameAppend) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  const Report report = Answer(order, kW1, 1);
  const std::size_t before = bench.log().size();
  const Effects effects = bench.Report("w1", report);
  EXPECT_THAT(Told(effects),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "+ proposed g2", "+ granted g2 a1 b0 to w1", "w1 < ACK t1 g1 a1 b0",
                          "w1 < GRANT t1 g2 a1 b0", "w1 < PREPARE 2"));
  const auto& measured = std::get<Measured>(effects.append[0].body);
  EXPECT_EQ(measured.report, report);
  EXPECT_EQ(measured.digest, Sha256(EncodeReport(report)));
  const auto& ack = std::get<Ack>(effects.send[0].message);
  EXPECT_EQ(ack.report, measured.digest);
  EXPECT_EQ(ack.head.seq, Seq(before)) << "of what is appended; WithHead brings it up to date";
  const LedgerHead head{LedgerId("ledger"), Seq(99), Sha256("x")};
  EXPECT_EQ(std::get<Ack>(WithHead(effects, head).send[0].message).head, head);
}

TEST(CoreReports, SameReportAgainIsAcknowledgedAgainAndNothingElse) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Report report = Answer(bench.granted(), kW1, 1);
  bench.Report("w1", report);
  EXPECT_THAT(Told(bench.Report("w1", report)), ElementsAre("w1 < ACK t1 g1 a1 b0"));
  bench.Restart();
  bench.Send("p2", HelloOf("w1"));
  EXPECT_THAT(Told(bench.Report("p2", report)), ElementsAre("p2 < ACK t1 g1 a1 b0"));
}

TEST(CoreReports, SameReportTwiceBeforeTheAppendIsTakenOnce) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Report report = Answer(bench.granted(), kW1, 1);
  Effects both = bench.core().OnMessage("w1", ReportMessage{report}, bench.now_ms);
  Effects again = bench.core().OnMessage("w1", ReportMessage{report}, bench.now_ms);
  EXPECT_THAT(Told(again), ElementsAre("w1 < ACK t1 g1 a1 b0"));
  bench.Carry(std::move(both));
}

TEST(CoreReports, SameReportOfAnOpenGenerationIsAcknowledgedAgain) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Report crash = Failure(bench.granted(), kW1, OutcomeKind::kCrashed, ArmRole::kCandidate);
  bench.Report("w1", crash);
  EXPECT_THAT(Told(bench.Report("w1", crash)), ElementsAre("w1 < ACK t1 g1 a1 b0"));
}

TEST(CoreReports, AnotherReportOfATakenAttemptIsAConflictToldOnce) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  const Report kept = Answer(order, kW1, 1);
  bench.Report("w1", kept);
  const Report other = Reworded(order, "another compiler");
  const Effects effects = bench.Report("w1", other);
  EXPECT_THAT(Told(effects), ElementsAre("+ conflict g1 a1", "w1 < REJECT t1 g1 a1 b0 conflict"));
  EXPECT_EQ(std::get<ReportConflict>(effects.append[0].body),
            (ReportConflict{Generation(1), Attempt(1), kW1, Sha256(EncodeReport(kept)),
                            Sha256(EncodeReport(other))}));
  const auto& reject = std::get<RejectMessage>(effects.send[0].message);
  EXPECT_EQ(reject.report, Sha256(EncodeReport(other)));
  EXPECT_FALSE(reject.retry);
  EXPECT_THAT(effects.notes, ElementsAre(HasSubstr("conflict: measure attempt 1 of track 1")));
  EXPECT_THAT(Told(bench.Report("w1", other)), ElementsAre("w1 < REJECT t1 g1 a1 b0 conflict"));
  EXPECT_THAT(Told(bench.Report("w1", kept)), ElementsAre("w1 < ACK t1 g1 a1 b0"));
}

TEST(CoreReports, WhatWasNeverGrantedIsRejected) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  const auto rejects = [&](const std::function<void(Report&)>& change) {
    Report report = Answer(order, kW1, 1);
    change(report);
    const Effects effects = bench.Report("w1", report);
    EXPECT_THAT(Told(effects), ElementsAre(HasSubstr("unknown_attempt")));
    EXPECT_EQ(std::get<RejectMessage>(effects.send.at(0).message).key, KeyOf(report));
  };
  rejects([](Report& report) { report.track = TrackId(9); });
  rejects([](Report& report) { report.generation = Generation(2); });
  rejects([](Report& report) { report.attempt = Attempt(2); });
  rejects([](Report& report) { report.attempt = Attempt(0); });
  rejects([](Report& report) { report.kind = OrderKind::kConfirm; });
  rejects([](Report& report) { report.batch = 1; });
  rejects([](Report& report) { report.order = Sha256("another ledger's order"); });
  rejects([](Report& report) { report.worker = WorkerId("w9"); });
  EXPECT_TRUE(bench.track().generations.begin()->second.attempt) << "the real one is still awaited";
  EXPECT_THAT(Told(bench.Report("w1", Answer(order, kW1, 1))),
              testing::Contains("w1 < ACK t1 g1 a1 b0"));
}

TEST(CoreReports, ReportOfATrackThatIsNotSearchedNowIsToComeAgain) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Report report = Answer(bench.granted(), kW1, 1);
  // Another coordinator of the same ledger, whose job has nothing to do with track 1.
  Core other(CoreBench::DefaultOptions());
  other.SetSeenLookup([](TrackId track, OrderKind, Generation, Attempt) -> std::optional<Digest> {
    if (track == TrackId(1)) return Digest{};
    return std::nullopt;
  });
  const TrackSpec spec = CopySpec();
  other.OnOpenTrack(TrackOpened{spec, TrackId(0)}, CoreBench::PlainWorkshop(spec), 0, TrackId(1));
  other.OnMessage("w1", HelloOf("w1"), 0);
  const Effects effects = other.OnMessage("w1", ReportMessage{report}, 0);
  EXPECT_THAT(Told(effects), ElementsAre("w1 < REJECT t1 g1 a1 b0 not_open_here"));
  EXPECT_TRUE(std::get<RejectMessage>(effects.send.at(0).message).retry);
}

TEST(CoreReports, ReportThatDoesNotAnswerItsOrderCostsTheAttempt) {
  const auto answer = [](const std::function<void(Report&)>& change) {
    CoreBench bench;
    bench.Open();
    bench.Join("w1");
    Report report = Answer(bench.granted(), kW1, 1);
    change(report);
    const auto told = Told(bench.Report("w1", report));
    EXPECT_EQ(told.size(), 5u);
    EXPECT_EQ(told.at(1), "+ granted g1 a2 b0 to w1");
    EXPECT_EQ(told.at(2), "w1 < REJECT t1 g1 a1 b0 malformed");
    return told.at(0);
  };
  const std::string start = "+ lost a1: its report does not answer the order: ";
  EXPECT_EQ(answer([](Report& report) { report.rounds.pop_back(); }),
            start + "reports 2 rounds of 3");
  EXPECT_EQ(answer([](Report& report) { report.rounds[1].visits.pop_back(); }),
            start + "round 2 has 2 visits of 3");
  EXPECT_EQ(answer([](Report& report) { report.rounds[1].visits[2].arm = 0; }),
            start + "round 2 visit 3 is of another arm or input set");
  EXPECT_EQ(answer([](Report& report) { report.rounds[0].visits[1].input_set = 1; }),
            start + "round 1 visit 2 is of another arm or input set");
  EXPECT_EQ(answer([](Report& report) { report.rounds[0].visits[1].median_us = 0; }),
            start + "round 1 visit 2 took 0.000000 us");
  EXPECT_EQ(answer([](Report& report) { report.arms = {ArmRole::kCommitted}; }),
            start + "reports arms committed, ordered were committed, candidate, incumbent");
  EXPECT_EQ(answer([](Report& report) {
              report.checks[1].passed = false;
              report.checks[1].detail = "y[3] is 1.5";
            }),
            start + "measured although the check of candidate failed: y[3] is 1.5");
  EXPECT_EQ(answer([](Report& report) { report.checks.erase(report.checks.begin() + 1); }),
            start + "measured without a check of candidate");
  EXPECT_EQ(answer([](Report& report) {
              report.outcome = {OutcomeKind::kBuildFailed, ArmRole::kRival, ""};
            }),
            start + "blames arm rival, ordered were committed, candidate, incumbent");
}

TEST(CoreReports, FailureMayStopShortOrNameNoArms) {
  for (const bool bare : {false, true}) {
    CoreBench bench;
    bench.Open();
    bench.Join("w1");
    Report report = Answer(bench.granted(), kW1, 1);
    report.outcome = {OutcomeKind::kThrottled, std::nullopt, "clocks fell"};
    report.rounds.resize(1);
    report.rounds[0].visits.resize(2);
    if (bare) {
      report.rounds.clear();
      report.arms.clear();
    }
    EXPECT_THAT(Told(bench.Report("w1", report)),
                testing::Contains("+ decided g1 void throttled again"));
  }
}

TEST(CoreReports, LateReportOfALostAttemptWinsAndTheNewerOneIsCancelled) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order first = bench.granted();
  bench.Join("w2");
  bench.now_ms += 19'000;
  bench.Send("w2", Beat{});
  bench.Tick(1'000);  // w1 is given up
  const Order second = bench.granted();
  EXPECT_EQ(second.attempt, Attempt(2));
  bench.Send("p3", HelloOf("w1"));
  EXPECT_THAT(Told(bench.Report("p3", Answer(first, kW1, 0.5))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 keep faster", "+ proposed g2",
                          "+ granted g2 a1 b0 to w2", "w2 < CANCEL t1 g1 a2 b0",
                          "p3 < ACK t1 g1 a1 b0", "w2 < GRANT t1 g2 a1 b0", "w2 < PREPARE 2"));
  const Effects late = bench.Report("w2", Answer(second, kW2, 0.7));
  EXPECT_THAT(Told(late), ElementsAre("w2 < REJECT t1 g1 a2 b0 conflict"));
  EXPECT_EQ(std::get<RejectMessage>(late.send[0].message).why,
            "measure attempt 2 of track 1 generation 1 comes too late: it was decided without it");
}

TEST(CoreReports, LateReportOfABatchThatAnotherAttemptAnsweredIsRejected) {
  CoreBench bench;
  bench.Open(CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(3, 2),
                               fakes::Everything());
  });
  bench.Join("w1");
  const Order first = bench.granted();
  bench.Send("p2", HelloOf("w1", "boot 2"));
  bench.Send("p2", Ready{1});
  bench.Report("p2", Answer(bench.granted(), kW1, 1));
  EXPECT_EQ(bench.granted().batch, 1u);
  const Effects late = bench.Report("p2", Answer(first, kW1, 1));
  EXPECT_THAT(Told(late), ElementsAre("p2 < REJECT t1 g1 a1 b0 conflict"));
  EXPECT_EQ(
      std::get<RejectMessage>(late.send[0].message).why,
      "measure attempt 1 of track 1 generation 1 comes too late: batch 0 was answered by another "
      "attempt");
}

TEST(CoreReports, ReportFromASpoolIsTakenAfterTheCoordinatorWasGone) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  bench.Restart();
  bench.Send("p2", HelloOf("w1", "boot 2"));  // the worker was restarted too: its attempt is lost
  EXPECT_FALSE(bench.track().generations.begin()->second.attempt);
  EXPECT_THAT(Told(bench.Report("p2", Answer(order, kW1, 1))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "+ proposed g2", "p2 < ACK t1 g1 a1 b0"));
}

}  // namespace
}  // namespace pawl
