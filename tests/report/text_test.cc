#include "coordinator/report/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coordinator/report/diff.h"
#include "coordinator/report/generation.h"

namespace pawl {
namespace {

TEST(FormatTime, KeepsThreeDigitsInTheUnitThatReadsBest) {
  EXPECT_EQ(FormatTime(0.8424), "842 ns");
  EXPECT_EQ(FormatTime(4.563), "4.56 us");
  EXPECT_EQ(FormatTime(82.66), "82.7 us");
  EXPECT_EQ(FormatTime(119.808), "120 us");
  EXPECT_EQ(FormatTime(999.4), "999 us");
  EXPECT_EQ(FormatTime(999.7), "1.00 ms");
  EXPECT_EQ(FormatTime(4310), "4.31 ms");
  EXPECT_EQ(FormatTime(1.2e6), "1.20 s");
}

TEST(FormatRate, ScalesByThousands) {
  EXPECT_EQ(FormatRate(1.23e12, "FLOP/s"), "1.23 TFLOP/s");
  EXPECT_EQ(FormatRate(52.1e9, "B/s"), "52.1 GB/s");
  EXPECT_EQ(FormatRate(12, "B/s"), "12.0 B/s");
}

TEST(FormatDuration, NamesTheUnitsOfADay) {
  EXPECT_EQ(FormatDuration(3.6), "4 s");
  EXPECT_EQ(FormatDuration(130), "2 min 10 s");
  EXPECT_EQ(FormatDuration(3 * 3600 + 5 * 60 + 59), "3 h 05 min");
}

TEST(FormatGain, AlwaysShowsTheSign) {
  EXPECT_EQ(FormatGain(0.04356), "+4.36 %");
  EXPECT_EQ(FormatGain(-0.002), "-0.20 %");
}

TEST(TextTable, AlignsByCharactersNotBytes) {
  TextTable table({{"name", Align::kLeft, 0}, {"us", Align::kRight, 0}});
  table.Add({{"naïve"}, {"1"}});
  table.Add({{"plain"}, {"22"}});
  EXPECT_EQ(table.Render(false),
            "name   us\n"
            "naïve   1\n"
            "plain  22\n");
}

TEST(TextTable, PaintsOnlyWhenAsked) {
  TextTable table({{"verdict", Align::kLeft, 0}});
  table.Add({{"keep", Tone::kGood}});
  EXPECT_EQ(table.Render(false), "verdict\nkeep\n");
  EXPECT_NE(table.Render(true).find("\033[32mkeep\033[0m"), std::string::npos);
}

TEST(UnifiedDiff, IsEmptyForEqualTextsAndNamesBothSides) {
  EXPECT_EQ(*UnifiedDiff("a\n", "x", "a\n", "y"), "");
  const std::string diff = *UnifiedDiff("a\nb\n", "it's old", "a\nc\n", "new");
  EXPECT_NE(diff.find("--- it's old"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+++ new"), std::string::npos) << diff;
  EXPECT_NE(diff.find("-b"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+c"), std::string::npos) << diff;
}

TEST(ChangeText, MarksRepairsApart) {
  EXPECT_EQ(ChangeText({{"quad_stage", false, true, false}}), "quad_stage false -> true");
  EXPECT_EQ(ChangeText({{"k_step", std::int64_t{32}, std::int64_t{16}, false},
                        {"staging", std::string("shared"), std::string("exact"), true}}),
            "k_step 32 -> 16 (repair: staging shared -> exact)");
  EXPECT_EQ(ChangeText({}), "none (the incumbent itself)");
}

// A generation measured in two batches after a void: the ratios of the deciding ones only.
TEST(GenerationRecord, DecidingReportsAreTheLastMeasurementsBatches) {
  GenerationRecord record;
  const auto report = [](std::uint32_t batch, double us) {
    Report made;
    made.batch = batch;
    made.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
    made.rounds = {{{{1, 0, us, 0}}}};
    return made;
  };
  record.reports = {report(0, 1), report(0, 2), report(1, 3)};
  EXPECT_EQ(DecidingReports(record).size(), 2U);
  EXPECT_EQ(ArmMedians(record, ArmRole::kCandidate), (std::vector<double>{2, 3}));
  EXPECT_TRUE(ArmMedians(record, ArmRole::kIncumbent).empty());
}

TEST(GenerationRecord, TellsCapturesAndConditionsOfTheMeasurementThatWasDecidedOn) {
  GenerationRecord record;
  const auto report = [](std::uint32_t batch, std::optional<double> captured, double power_w,
                         std::uint64_t reasons) {
    Report made;
    made.batch = batch;
    made.arms = {ArmRole::kCommitted, ArmRole::kCandidate};
    if (captured) made.captures = {{1, Instrument::kKernelTime, *captured}};
    made.conditions.power_w = power_w;
    made.conditions.clock_reasons = reasons;
    return made;
  };
  // A measurement that was void, then one of two batches.
  record.reports = {report(0, 5.5, 700, 8), report(0, std::nullopt, 300, 1),
                    report(1, std::nullopt, 250, 4)};
  nlohmann::json json = GenerationJson(record, TrackSpec{});
  EXPECT_FALSE(json.contains("captures_us"));
  EXPECT_EQ(json["conditions"]["power_w"], 300);
  EXPECT_EQ(json["conditions"]["clock_reasons"], 5);
  record.reports.back().captures = {{1, Instrument::kKernelTime, 6.5}};
  json = GenerationJson(record, TrackSpec{});
  EXPECT_EQ(json["captures_us"]["kernel_time"]["candidate"], 6.5);
}

}  // namespace
}  // namespace pawl
