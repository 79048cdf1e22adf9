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

TEST(BenchRounds, EachBeginsOneArmLaterAndARivalsVisitStandsAlone) {
  EXPECT_THAT(BenchLegs({true, true, false}, 3),
              ElementsAre(BenchLeg{0, true, {0, 1}}, BenchLeg{0, false, {2}},
                          BenchLeg{1, true, {1}}, BenchLeg{1, false, {2}}, BenchLeg{1, true, {0}},
                          BenchLeg{2, false, {2}}, BenchLeg{2, true, {0, 1}}));
}

TEST(BenchRounds, OverAsManyRoundsAsArmsEachArmHasEveryPlaceOnce) {
  const std::vector<bool> of_worker = {true, true, true, false, false};
  std::map<std::pair<std::size_t, std::size_t>, int> times;  // (arm, place)
  std::size_t place = 0;
  for (const BenchLeg& leg : BenchLegs(of_worker, 5)) {
    for (const std::size_t arm : leg.arms) {
      EXPECT_EQ(of_worker[arm], leg.worker);
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
  EXPECT_TRUE(BenchLegs({true}, 0).empty());
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

// A fault in one leg costs its arm the times, and the others that leg.
TEST(BenchFigures, AnArmThatFailsInTheRoundsHasNoTime) {
  BenchResult result = Sample();
  Order order;
  order.arms.resize(2);
  order.arms[1].role = ArmRole::kRival;
  Report report;
  report.arms = {ArmRole::kCommitted, ArmRole::kRival};
  report.outcome = {OutcomeKind::kWrongOutput, ArmRole::kRival, "C[3] is 1"};
  TakeLeg(order, report, {0, 1}, 2, result);
  EXPECT_EQ(result.arms[0].rounds.size(), 2U);
  EXPECT_EQ(result.arms[1].state, ArmState::kWrong);
  EXPECT_EQ(result.arms[1].why, "wrong_output: C[3] is 1");
  EXPECT_TRUE(result.arms[1].rounds.empty());
}

}  // namespace
}  // namespace pawl
