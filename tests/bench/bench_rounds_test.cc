// Which arm of a bench is visited when, and what its figures are.

#include "coordinator/bench/bench_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "coordinator/bench/bench.h"
#include "coordinator/bench/bench_text.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kKernel = BenchArm::Kind::kKernel;
constexpr auto kLibrary = BenchArm::Kind::kLibrary;
constexpr auto kProgram = BenchArm::Kind::kProgram;

TEST(BenchRounds, EachBeginsOneArmLaterAndARivalsVisitStandsAlone) {
  EXPECT_THAT(BenchLegs({kKernel, kKernel, kProgram}, 3),
              ElementsAre(BenchLeg{0, true, {0, 1}}, BenchLeg{0, false, {2}},
                          BenchLeg{1, true, {1}}, BenchLeg{1, false, {2}}, BenchLeg{1, true, {0}},
                          BenchLeg{2, false, {2}}, BenchLeg{2, true, {0, 1}}));
}

// Who is to blame for a leg is told by its role, and libraries have the same.
TEST(BenchRounds, NoLegHasTwoLibraries) {
  EXPECT_THAT(BenchLegs({kKernel, kLibrary, kLibrary, kProgram}, 2),
              ElementsAre(BenchLeg{0, true, {0, 1}}, BenchLeg{0, true, {2}},
                          BenchLeg{0, false, {3}}, BenchLeg{1, true, {1}}, BenchLeg{1, true, {2}},
                          BenchLeg{1, false, {3}}, BenchLeg{1, true, {0}}));
  EXPECT_THAT(BenchLegs({kKernel, kKernel, kLibrary, kLibrary}, 3).back(),
              (BenchLeg{2, true, {3, 0, 1}}));
}

TEST(BenchRounds, OverAsManyRoundsAsArmsEachArmHasEveryPlaceOnce) {
  const std::vector<BenchArm::Kind> ring = {kKernel, kLibrary, kLibrary, kProgram, kProgram};
  std::map<std::pair<std::size_t, std::size_t>, int> times;  // (arm, place)
  std::size_t place = 0;
  for (const BenchLeg& leg : BenchLegs(ring, 5)) {
    for (const std::size_t arm : leg.arms) {
      EXPECT_EQ(ring[arm] != kProgram, leg.worker);
      ++times[{arm, place++ % 5}];
    }
    if (!leg.worker) {
      EXPECT_EQ(leg.arms.size(), 1U);
    }
  }
  EXPECT_EQ(times.size(), 25U);
  for (const auto& [where, count] : times) EXPECT_EQ(count, 1);
}

TEST(BenchRounds, NoArmsAreNoLegs) {
  EXPECT_TRUE(BenchLegs({}, 3).empty());
  EXPECT_TRUE(BenchLegs({kKernel}, 0).empty());
}

BenchArm ArmOf(const std::string& label, BenchArm::Kind kind, std::vector<BenchRound> rounds) {
  BenchArm arm;
  arm.label = label;
  arm.kind = kind;
  arm.rounds = std::move(rounds);
  return arm;
}

BenchResult Sample() {
  BenchResult result;
  result.order.operation = "product";
  result.order.backend = "host";
  result.order.scalars = {{"n", 64}};
  result.device.model = "a machine";
  result.arms = {ArmOf("committed", BenchArm::Kind::kKernel, {{0, 10, 2'000}, {1, 20, 2'000}}),
                 ArmOf("mine", BenchArm::Kind::kProgram, {{0, 5, 0}, {1, 20, 0}, {2, 1, 0}}),
                 ArmOf("pytorch_eager", BenchArm::Kind::kProgram, {})};
  result.arms[1].versions = {{"mylib", "1.2"}};
  result.arms[2].state = ArmState::kAbsent;
  result.arms[2].why = "no module named torch";
  return result;
}

TEST(BenchFigures, ARatioIsOfTheSameRound) {
  BenchResult result = Sample();
  EXPECT_DOUBLE_EQ(*RatioToCommitted(result, result.arms[0]), 1);
  EXPECT_DOUBLE_EQ(*RatioToCommitted(result, result.arms[1]), 0.75);
  EXPECT_FALSE(RatioToCommitted(result, result.arms[2]));
  EXPECT_FALSE(AnyFailed(result)) << "absent is no failure";
  result.arms[1].state = ArmState::kWrong;
  EXPECT_TRUE(AnyFailed(result));
}

TEST(BenchFigures, TheTableNamesEveryArmAndWhyItHasNoTime) {
  EXPECT_THAT(BenchText(Sample(), false),
              AllOf(HasSubstr("product n=64 on a machine, backend host"), HasSubstr("0.7500"),
                    HasSubstr("pytorch_eager  absent: no module named torch"),
                    HasSubstr("mine           mylib 1.2"), Not(HasSubstr("nan"))));
}

TEST(BenchFigures, AnObjectAnArmSaysAllOfIt) {
  const std::vector<nlohmann::json> lines = BenchJson(Sample());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1]["arm"], "mine");
  EXPECT_EQ(lines[1]["kind"], "program");
  EXPECT_EQ(lines[1]["median_us"], 5);
  EXPECT_EQ(lines[1]["ratio_to_committed"], 0.75);
  EXPECT_EQ(lines[1]["versions"]["mylib"], "1.2");
  EXPECT_EQ(lines[1]["rounds"][2]["round"], 3);
  EXPECT_TRUE(lines[1]["rounds"][0]["clock_mhz"].is_null());
  EXPECT_EQ(lines[0]["rounds"][0]["clock_mhz"], 2'000);
  EXPECT_EQ(lines[2]["state"], "absent");
  EXPECT_TRUE(lines[2]["median_us"].is_null());
}

// Two kernels and two libraries, each timed in two rounds; the order of a leg that visits the first
// three of them.
class BenchLegFault : public testing::Test {
 protected:
  BenchLegFault() {
    order_.arms.resize(4);
    order_.rounds.resize(1);
    for (std::uint32_t i = 0; i < 4; ++i) {
      order_.arms[i].role = kRoles[i];
      order_.arms[i].label = kLabels[i];
      report_.arms.push_back(kRoles[i]);
      result_.arms.push_back(
          ArmOf(kLabels[i], i < 2 ? kKernel : kLibrary, {{0, 10.0 + i, 0}, {1, 20.0, 0}}));
      if (i < 3) order_.rounds[0].visits.push_back({i, 0});
    }
  }
  void Take(OutcomeKind kind, std::optional<ArmRole> arm, const std::string& detail) {
    report_.outcome = {kind, arm, detail};
    TakeLeg(order_, report_, {0, 1, 2, 3}, 2, result_);
  }
  // The arms that lost round 3, and nothing else of theirs.
  std::vector<std::string> Lost() const {
    std::vector<std::string> labels;
    for (const BenchArm& arm : result_.arms) {
      if (arm.lost.empty()) continue;
      EXPECT_EQ(arm.rounds.size(), 2U) << arm.label;
      EXPECT_EQ(arm.lost.size(), 1U) << arm.label;
      EXPECT_EQ(arm.lost[0].round, 2U) << arm.label;
      EXPECT_TRUE(arm.live()) << arm.label;
      labels.push_back(arm.label);
    }
    return labels;
  }
  std::vector<std::string> Failed() const {
    std::vector<std::string> labels;
    for (const BenchArm& arm : result_.arms) {
      if (arm.live()) continue;
      EXPECT_TRUE(arm.rounds.empty()) << arm.label << ": the time of what is wrong is not judged";
      labels.push_back(arm.label);
    }
    return labels;
  }

  static constexpr ArmRole kRoles[] = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kRival,
                                       ArmRole::kRival};
  static constexpr const char* kLabels[] = {"committed", "mine", "blis", "openblas"};
  Order order_;
  Report report_;
  BenchResult result_;
};

TEST_F(BenchLegFault, OfOneArmCostsItItsTimesAndTheOthersThisRound) {
  Take(OutcomeKind::kCrashed, ArmRole::kCandidate, "signal 11");
  EXPECT_THAT(Failed(), ElementsAre("mine"));
  EXPECT_EQ(result_.arms[1].why, "crashed: signal 11");
  EXPECT_THAT(Lost(), ElementsAre("committed", "blis")) << "openblas was not to be visited";
  EXPECT_EQ(result_.arms[0].lost[0].why, "crashed of mine: signal 11");
}

TEST_F(BenchLegFault, OfALibraryIsToldByWhatWasCheckedAndBuilt) {
  report_.checks = {{ArmRole::kCommitted, true, 1, 0, 0, ""},
                    {ArmRole::kCandidate, true, 1, 0, 0, ""},
                    {ArmRole::kRival, true, 1, 0, 0, ""},
                    {ArmRole::kRival, false, 1, 1, 0, "C[3] is 1"}};
  Take(OutcomeKind::kWrongOutput, ArmRole::kRival, "C[3] is 1");
  EXPECT_THAT(Failed(), ElementsAre("openblas"));
  EXPECT_EQ(result_.arms[3].state, ArmState::kWrong);
  EXPECT_EQ(result_.arms[3].why, "wrong_output: C[3] is 1");
  EXPECT_FALSE(result_.arms[3].check->passed);
  EXPECT_THAT(Lost(), ElementsAre("committed", "mine", "blis"));
}

TEST_F(BenchLegFault, OfOneOfTwoLibrariesThatNothingTellsApartIsNeithers) {
  Take(OutcomeKind::kHung, ArmRole::kRival, "no answer");
  EXPECT_THAT(Failed(), ElementsAre());
  EXPECT_THAT(Lost(), ElementsAre("committed", "mine", "blis"));
  EXPECT_EQ(result_.arms[2].lost[0].why, "hung of blis or openblas: no answer");
}

TEST_F(BenchLegFault, OfNoArmCostsTheRoundAlone) {
  Take(OutcomeKind::kCrashed, std::nullopt, "signal 9");
  EXPECT_THAT(Failed(), ElementsAre());
  EXPECT_THAT(Lost(), ElementsAre("committed", "mine", "blis"));
  EXPECT_EQ(result_.arms[0].lost[0].why, "crashed: signal 9");
}

TEST_F(BenchLegFault, ALostRoundIsSaidEverywhereAndRatiosPairTheRoundsThatAreThere) {
  result_.arms[0].rounds = {{0, 10, 0}, {2, 40, 0}, {3, 10, 0}};
  result_.arms[1].rounds = {{0, 5, 0}, {1, 1, 0}, {3, 10, 0}};
  LoseRound({0}, 1, "could not be answered in 3 tries: the worker left", result_);
  LoseRound({1}, 2, "could not be answered in 3 tries: the worker left", result_);
  EXPECT_TRUE(AnyFailed(result_)) << "not every round is there";
  EXPECT_THAT(RatiosToCommitted(result_, result_.arms[1]), ElementsAre(0.5, 1));
  EXPECT_DOUBLE_EQ(*RatioToCommitted(result_, result_.arms[1]), 0.75);
  EXPECT_THAT(BenchText(result_, false),
              AllOf(HasSubstr("committed   1 of 4 rounds is missing; round 2: could not be "
                              "answered in 3 tries: the worker left"),
                    HasSubstr("mine        1 of 4 rounds is missing; round 3: could")));
  const nlohmann::json mine = BenchJson(result_)[1];
  EXPECT_EQ(mine["state"], "measured");
  EXPECT_EQ(mine["ratio_rounds"], 2);
  EXPECT_EQ(mine["rounds"].size(), 3U);
  EXPECT_EQ(mine["missing"], nlohmann::json::parse(R"([{"round": 3, "why":
      "could not be answered in 3 tries: the worker left"}])"));
}

TEST_F(BenchLegFault, AnArmThatLostEveryRoundHasFailed) {
  result_.arms[1].rounds.clear();
  LoseRound({0, 1}, 2, "the worker left", result_);
  FailUntimed(result_);
  EXPECT_TRUE(result_.arms[0].live());
  EXPECT_EQ(result_.arms[1].state, ArmState::kFailed);
  EXPECT_EQ(result_.arms[1].why, "every round was lost; the last: the worker left");
}

}  // namespace
}  // namespace pawl
