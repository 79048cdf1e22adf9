// What is kept of a sitting, and that later ones can be held against it.

#include "coordinator/report/sitting_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "coordinator/search/capture.h"
#include "coordinator/search/problem.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SittingRecord Recorded(double committed_us, double incumbent_us) {
  const Workshop workshop = fakes::CopyWorkshop(
      fakes::CopySpec(), std::make_unique<fakes::PlainPolicy>(), fakes::Everything());
  auto order = CaptureOrder(workshop, fakes::CopySpec(),
                            {{ArmRole::kCommitted, "committed", {}},
                             {ArmRole::kIncumbent, "incumbent", fakes::CopyKnobs(2, 2, "plain")}});
  CHECK(order, order.error().message);
  Report report = fakes::Answer(*order, WorkerId("one"), 1);
  report.builds.clear();
  report.checks.clear();
  for (const Arm& arm : order->arms) {
    BuildFacts build;
    build.arm = arm.role;
    build.object = Sha256(arm.label);
    report.builds.push_back(build);
    CheckFacts check;
    check.arm = arm.role;
    check.passed = true;
    check.elements = 640;
    report.checks.push_back(check);
  }
  double slower = 1;
  for (RoundMedians& round : report.rounds) {
    for (VisitMedian& visit : round.visits) {
      visit.median_us = (visit.arm == 0 ? committed_us : incumbent_us) * slower;
    }
    slower += 0.01;
  }
  report.conditions.temperature_c = 54;
  SittingRecord record;
  record.ledger = LedgerId(std::string(32, 'a'));
  record.track = TrackId(2);
  record.spec = fakes::CopySpec();
  record.unix_ms = 1'789'000'000'000;
  record.result.report = report;
  record.result.order = *order;
  record.result.device = fakes::Bench();
  record.result.tries = 1;
  return record;
}

TEST(SittingFile, SaysWhatWasMeasuredOnWhatAndWhatCameOut) {
  const SittingRecord record = Recorded(100, 80);
  const nlohmann::json json = SittingJson(record, {}, {});
  EXPECT_EQ(json["format"], "pawl capture 1");
  EXPECT_EQ(json["track"], 2);
  EXPECT_EQ(json["shape"]["n"], 64);
  EXPECT_EQ(json["device"]["model"], "bench");
  EXPECT_EQ(json["instrument"], "cpu_time");
  EXPECT_EQ(json["track_instrument"], "wall_time");
  EXPECT_EQ(json["iterations"], 100);
  EXPECT_EQ(json["inputs"]["digest"], InputsDigest(*record.result.order).Hex());
  ASSERT_EQ(json["inputs"]["seeds"].size(), 1U);
  EXPECT_EQ(json["inputs"]["seeds"][0], std::to_string(InputSeed(42, 0)));
  EXPECT_EQ(json["measured"], true);
  ASSERT_EQ(json["rounds"].size(), 3U);
  EXPECT_EQ(json["rounds"][1][0]["arm"], "incumbent") << "in the order that they ran";
  ASSERT_EQ(json["arms"].size(), 2U);
  EXPECT_EQ(json["arms"][1]["label"], "incumbent");
  EXPECT_EQ(json["arms"][1]["configuration"]["unroll"], 2);
  EXPECT_EQ(json["arms"][1]["check"]["elements"], 640);
  EXPECT_DOUBLE_EQ(json["arms"][1]["median_us"], 80 * 1.01);
  EXPECT_DOUBLE_EQ(json["arms"][1]["ratio_to_committed"], 0.8);
  EXPECT_DOUBLE_EQ(json["arms"][1]["paired_ratio_median"], 0.8);
  EXPECT_TRUE(json["arms"][0]["ratio_to_committed"].is_null());
  EXPECT_EQ(json["conditions"]["temperature_c"], 54);
  EXPECT_TRUE(json["slow"].is_null());
}

TEST(SittingFile, IsReadBackAsWhatItIsJudgedBy) {
  const SittingRecord record = Recorded(100, 80);
  Sitting sitting = SittingOf(record);
  sitting.name = "track-2-sitting-0001.json";
  EXPECT_EQ(ReadSitting(sitting.name, SittingJson(record, {}, {}).dump(1)), sitting);
}

TEST(SittingFile, ASlowOneIsKeptWithItsRuleFiguresAndTelemetry) {
  Sitting earlier = SittingOf(Recorded(100, 80));
  earlier.name = "track-2-sitting-0001.json";
  const SittingRecord record = Recorded(100, 160);
  const SittingVerdict verdict = JudgeSitting(SittingOf(record), {earlier});
  const nlohmann::json json = SittingJson(record, verdict, {});
  ASSERT_FALSE(json["slow"].is_null());
  EXPECT_THAT(json["slow"]["rule"].get<std::string>(), HasSubstr("1.05 times"));
  ASSERT_EQ(json["slow"]["arms"].size(), 1U);
  EXPECT_EQ(json["slow"]["arms"][0]["label"], "incumbent");
  EXPECT_DOUBLE_EQ(json["slow"]["arms"][0]["factor"], 2);
  EXPECT_EQ(json["peers"][0], earlier.name);
  EXPECT_EQ(json["conditions"]["temperature_c"], 54);
  EXPECT_THAT(SittingText(record, verdict, {}, false),
              AllOf(HasSubstr("SLOW"), HasSubstr("incumbent 2.00 times its usual"),
                    HasSubstr("54 C"), Not(HasSubstr("FAILED"))));
}

// What graph_time is told is the least of what it does.
TEST(SittingFile, SaysHowManyCallsARoundHasAsFarAsThatIsTold) {
  SittingRecord record = Recorded(100, 80);
  EXPECT_THAT(SittingText(record, {}, {}, false),
              HasSubstr("by cpu_time, 3 warm-up and 100 timed calls a round\n"));
  record.result.order->timing.instrument = Instrument::kGraphTime;
  EXPECT_THAT(
      SittingText(record, {}, {}, false),
      HasSubstr("by graph_time, at least 3 warm-up and 100 timed calls a round, in 4 or more "
                "graphs of about 5 ms\n"));
}

TEST(SittingFile, OneWithoutTimesIsKeptWithWhy) {
  SittingRecord record = Recorded(100, 80);
  record.result.report->rounds.clear();
  record.result.report->outcome = {OutcomeKind::kThrottled, std::nullopt, "too hot"};
  record.result.why = "could not be answered in 3 tries: too hot";
  const nlohmann::json json = SittingJson(record, {}, {});
  EXPECT_EQ(json["measured"], false);
  EXPECT_EQ(json["outcome"], "throttled");
  EXPECT_EQ(json["why"], record.result.why);
  EXPECT_TRUE(json["arms"][0]["median_us"].is_null());
  EXPECT_THAT(SittingText(record, {}, {}, false), AllOf(HasSubstr("FAILED"), HasSubstr("too hot")));
  const auto read = ReadSitting("a", json.dump());
  ASSERT_TRUE(read);
  EXPECT_THAT(read->arms, IsEmpty());
}

TEST(SittingFile, WhatIsNoneOfOursIsNotComparedWith) {
  const nlohmann::json json = SittingJson(Recorded(100, 80), {}, {});
  EXPECT_TRUE(ReadSitting("a", json.dump()));
  EXPECT_FALSE(ReadSitting("a", ""));
  EXPECT_FALSE(ReadSitting("a", "[1, 2]"));
  EXPECT_FALSE(ReadSitting("a", json.dump().substr(0, 100)));
  for (const char* key : {"format", "instrument", "device", "inputs", "arms"}) {
    nlohmann::json damaged = json;
    damaged[key] = 7;
    EXPECT_FALSE(ReadSitting("a", damaged.dump())) << key;
    damaged.erase(key);
    EXPECT_FALSE(ReadSitting("a", damaged.dump())) << key;
  }
}

}  // namespace
}  // namespace pawl
