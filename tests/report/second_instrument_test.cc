#include "coordinator/report/second_instrument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coordinator/report/generation.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report Captured(double candidate_us, double incumbent_us) {
  Report report;
  report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  report.captures = {{0, Instrument::kKernelTime, 50},
                     {1, Instrument::kKernelTime, candidate_us},
                     {2, Instrument::kKernelTime, incumbent_us}};
  return report;
}

Decision Kept(double ratio) {
  Decision decision;
  decision.verdict = Verdict::kKeep;
  decision.reason = Reason::kFaster;
  decision.ratio = ratio;
  return decision;
}

std::optional<SecondInstrument> Of(const Decision& decision, const std::vector<Report>& reports) {
  std::vector<const Report*> deciding;
  for (const Report& report : reports) deciding.push_back(&report);
  return SecondInstrumentOf(decision, deciding);
}

// A tenth was decided on: half of it is 0.95.
TEST(SecondInstrument, ConfirmsFromHalfTheGain) {
  EXPECT_TRUE(Of(Kept(0.875), {Captured(93.75, 100)})->confirms);
  EXPECT_FALSE(Of(Kept(0.875), {Captured(93.76, 100)})->confirms);
  EXPECT_FALSE(Of(Kept(0.875), {Captured(100, 100)})->confirms);
  EXPECT_FALSE(Of(Kept(0.875), {Captured(103, 100)})->confirms) << "the other sign";
  EXPECT_DOUBLE_EQ(Of(Kept(0.875), {Captured(93.75, 100)})->ratio, 0.9375);
}

TEST(SecondInstrument, TakesTheMedianOverTheReports) {
  const auto second =
      Of(Kept(0.9), {Captured(80, 100), Captured(99, 100), Captured(98, 100), Report{}});
  ASSERT_TRUE(second);
  EXPECT_DOUBLE_EQ(second->ratio, 0.98);
  EXPECT_FALSE(second->confirms);
}

// A keep that no rule's ratio decided, one arm without a capture, arms by two instruments.
TEST(SecondInstrument, SaysNothingWhereThereIsNothingToCompare) {
  Decision rejected = Kept(0.9);
  rejected.verdict = Verdict::kReject;
  EXPECT_FALSE(Of(rejected, {Captured(90, 100)}));
  Decision unmeasured = Kept(0.9);
  unmeasured.ratio.reset();
  EXPECT_FALSE(Of(unmeasured, {Captured(90, 100)}));
  Report one = Captured(90, 100);
  one.captures.pop_back();
  EXPECT_FALSE(Of(Kept(0.9), {one}));
  Report mixed = Captured(90, 100);
  mixed.captures[2].instrument = Instrument::kGraphTime;
  EXPECT_FALSE(Of(Kept(0.9), {mixed}));
  EXPECT_FALSE(Of(Kept(0.9), {}));
}

TEST(SecondInstrument, IsMarkedInTheRowAndInJson) {
  GenerationRecord record;
  record.decision = Kept(0.9);
  record.reports = {Captured(100.21, 100)};
  const std::vector<Cell> row = GenerationRow(record, Instrument::kEventSpan);
  EXPECT_THAT(row.back().text,
              HasSubstr("event_span only: by kernel_time 1.0021 of the incumbent"));
  const nlohmann::json json = GenerationJson(record, TrackSpec{});
  EXPECT_EQ(json["second_instrument"]["instrument"], "kernel_time");
  EXPECT_EQ(json["second_instrument"]["confirms"], false);
  record.reports = {Captured(90, 100)};
  EXPECT_THAT(GenerationRow(record, Instrument::kEventSpan).back().text, Not(HasSubstr("only")));
  record.reports.clear();
  EXPECT_TRUE(GenerationJson(record, TrackSpec{})["second_instrument"].is_null());
}

}  // namespace
}  // namespace pawl
