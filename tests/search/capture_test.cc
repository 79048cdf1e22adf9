// How a sitting is asked for, what its report says of each arm, and when it is out of line.

#include "coordinator/search/capture.h"

#include <gmock/gmock.h>

#include "coordinator/search/problem.h"
#include "coordinator/search/sitting.h"
#include "coordinator/search/timed_arms.h"
#include "schema/codec.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using fakes::CopyKnobs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Workshop Made() {
  return fakes::CopyWorkshop(fakes::CopySpec(), std::make_unique<fakes::PlainPolicy>(),
                             fakes::Everything());
}

const std::vector<CaptureArm> kArms = {{ArmRole::kCommitted, "committed", {}},
                                       {ArmRole::kIncumbent, "incumbent", CopyKnobs(2, 2, "plain")},
                                       {ArmRole::kRival, "generation 3", CopyKnobs(4, 2, "plain")},
                                       {ArmRole::kRival, "generation 5", CopyKnobs(2, 4, "plain")}};

Order Captured() {
  const Workshop workshop = Made();
  auto order = CaptureOrder(workshop, fakes::CopySpec(), kArms);
  CHECK(order, order.error().message);
  return *std::move(order);
}

std::vector<std::uint32_t> ArmsIn(const RoundPlan& round) {
  std::vector<std::uint32_t> arms;
  for (const VisitPlan& visit : round.visits) arms.push_back(visit.arm);
  return arms;
}

// The order's arms at these times in every round, each a little slower than the round before.
Report Timed(const Order& order, const std::vector<double>& us) {
  Report report = fakes::Answer(order, WorkerId("one"), 1);
  report.builds.clear();
  report.checks.clear();
  for (std::size_t arm = 0; arm < order.arms.size(); ++arm) {
    BuildFacts build;
    build.arm = order.arms[arm].role;
    build.object = Sha256(order.arms[arm].label);
    report.builds.push_back(build);
    CheckFacts check;
    check.arm = order.arms[arm].role;
    check.passed = true;
    check.elements = 64 + arm;
    report.checks.push_back(check);
  }
  double slower = 1;
  for (RoundMedians& round : report.rounds) {
    for (VisitMedian& visit : round.visits) visit.median_us = us[visit.arm] * slower;
    slower += 0.01;
  }
  return report;
}

TEST(Capture, IsByTheOtherInstrument) {
  EXPECT_EQ(SecondInstrument(Instrument::kWallTime), Instrument::kCpuTime);
  EXPECT_EQ(SecondInstrument(Instrument::kCpuTime), Instrument::kWallTime);
  EXPECT_EQ(SecondInstrument(Instrument::kEventSpan), Instrument::kKernelTime);
  EXPECT_EQ(SecondInstrument(Instrument::kGraphTime), Instrument::kKernelTime);
  EXPECT_EQ(SecondInstrument(Instrument::kKernelTime), Instrument::kGraphTime);
}

TEST(Capture, IsOneUnrecordedPassAndThreeRoundsInRotatedOrder) {
  const Order order = Captured();
  EXPECT_EQ(order.kind, OrderKind::kMeasure);
  EXPECT_EQ(order.timing, (Timing{Instrument::kCpuTime, 3, 100, false}));
  EXPECT_TRUE(order.fresh_process);
  ASSERT_THAT(order.rounds, SizeIs(4));
  EXPECT_FALSE(order.rounds[0].recorded);
  for (std::size_t round = 1; round < 4; ++round) EXPECT_TRUE(order.rounds[round].recorded);
  EXPECT_THAT(ArmsIn(order.rounds[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ArmsIn(order.rounds[1]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ArmsIn(order.rounds[2]), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(ArmsIn(order.rounds[3]), ElementsAre(2, 3, 0, 1));
  Order sent = order;  // with the lease's key, as errands give it
  sent.track = TrackId(1);
  sent.generation = Generation(1);
  sent.attempt = Attempt(1);
  const Result<Order> decoded = DecodeOrder(EncodeOrder(sent));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, sent);
}

TEST(Capture, HasTheArmsThatWereNamedAndTheTracksInputs) {
  const Workshop workshop = Made();
  const Order order = Captured();
  ASSERT_THAT(order.arms, SizeIs(4));
  EXPECT_EQ(order.arms[2].label, "generation 3");
  EXPECT_EQ(order.arms[3].configuration, CopyKnobs(2, 4, "plain"));
  EXPECT_THAT(order.sources[*order.arms[0].source].text, HasSubstr("copy_committed"));
  EXPECT_THAT(order.sources[*order.arms[3].source].text, HasSubstr("unroll = 4"));
  EXPECT_THAT(order.input_seeds, ElementsAre(workshop.base.input_seeds[0]));
  EXPECT_EQ(order.check, workshop.base.check);
  const auto without = CaptureOrder(workshop, fakes::CopySpec(), {kArms[1]});
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_THAT(without->arms, SizeIs(1)) << "committed is there only where it is named";
}

TEST(Capture, ArmsThatWouldSeeDifferentInputsAreRefused) {
  Order order = Captured();
  order.input_seeds.push_back(7);
  order.rounds[2].visits[1].input_set = 1;
  const auto message = [&] {
    const Status same = CheckSameInputs(order);
    return same ? std::string("the same") : same.error().message;
  };
  EXPECT_EQ(message(), "round 3: generation 3 sees input set 1, incumbent sees 0");
  order = Captured();
  order.rounds[1].visits.pop_back();
  EXPECT_EQ(message(), "round 2: generation 5 is not visited");
  order = Captured();
  order.rounds[1].visits[3].arm = 0;
  EXPECT_EQ(message(), "round 2: committed is visited twice");
  order = Captured();
  EXPECT_EQ(message(), "the same");
}

TEST(Capture, WantsADeviceThatServesTheTrackAndHasTheInstrument) {
  const Workshop workshop = Made();
  const TrackSpec spec = fakes::CopySpec();
  const ErrandList list = CaptureErrands(workshop, spec, kArms);
  DeviceFacts device = fakes::Bench();
  EXPECT_EQ(list.why_not(device), std::nullopt);
  device.instruments = {Instrument::kWallTime};
  device.kind = "replay";
  EXPECT_EQ(list.why_not(device).value_or(""),
            "a capture of this track is by cpu_time, which device bench (replayed) has not");
  device = fakes::Bench();
  device.model = "another";
  EXPECT_EQ(list.why_not(device).value_or(""), "the track wants device 'bench', this is 'another'");
  device = fakes::Bench();
  device.toolchain = "g++ 13";
  EXPECT_THAT(list.why_not(device).value_or(""), HasSubstr("wants toolchain 'g++ 12'"));
}

TEST(TimedArms, HaveTheirRoundsMedianAndSpread) {
  const Order order = Captured();
  const std::vector<TimedArm> arms = TimedArms(order, Timed(order, {10, 20, 30, 40}));
  ASSERT_THAT(arms, SizeIs(4));
  EXPECT_EQ(arms[1].label, "incumbent");
  EXPECT_THAT(arms[1].us,
              ElementsAre(20, testing::DoubleEq(20 * 1.01), testing::DoubleEq(20 * 1.02)));
  EXPECT_DOUBLE_EQ(arms[1].median_us, 20 * 1.01);
  EXPECT_NEAR(arms[1].Spread(), 0.02 / 1.01, 1e-12);
  EXPECT_EQ(arms[3].check->elements, 67U);
  EXPECT_EQ(arms[3].build->object, Sha256("generation 5"));
  EXPECT_EQ(WhyNotTimed(order, Timed(order, {10, 20, 30, 40})), std::nullopt);
  EXPECT_DOUBLE_EQ(MedianOf({4, 1, 3, 2}), 2.5);
}

TEST(TimedArms, NameTheArmThatFailedAmongThoseOfItsRole) {
  const Order order = Captured();
  Report wrong = Timed(order, {1, 1, 1, 1});
  wrong.rounds.clear();
  wrong.outcome = {OutcomeKind::kWrongOutput, ArmRole::kRival, "y[3] is 1"};
  wrong.checks.back().passed = false;
  EXPECT_EQ(WhyNotTimed(order, wrong), "wrong_output of generation 5: y[3] is 1");
  Report unbuilt = wrong;
  unbuilt.checks.clear();
  unbuilt.builds.pop_back();
  unbuilt.outcome = {OutcomeKind::kBuildFailed, ArmRole::kRival, "no such header"};
  EXPECT_EQ(WhyNotTimed(order, unbuilt), "build_failed of generation 3: no such header");
  Report crashed = unbuilt;
  crashed.builds.clear();
  crashed.outcome = {OutcomeKind::kCrashed, ArmRole::kRival, "signal 11"};
  EXPECT_EQ(WhyNotTimed(order, crashed), "crashed of generation 3 or generation 5: signal 11");
}

TEST(TimedArms, WithoutACheckAreNotBelieved) {
  const Order order = Captured();
  Report report = Timed(order, {1, 1, 1, 1});
  report.checks[1].elements = 0;
  EXPECT_EQ(WhyNotTimed(order, report), "nothing of incumbent was compared with the reference");
  report.checks.clear();
  EXPECT_THAT(WhyNotTimed(order, report).value_or(""), HasSubstr("nothing of committed"));
}

TEST(InputsDigest, IsThatOfEverythingTheArmsRead) {
  const Order order = Captured();
  const Digest digest = InputsDigest(order);
  Order other = order;
  other.arms.pop_back();
  other.timing.iterations = 5;
  EXPECT_EQ(InputsDigest(other), digest);
  other = order;
  other.input_seeds[0] += 1;
  EXPECT_NE(InputsDigest(other), digest);
  other = order;
  other.buffers[0].fill.b = 0.5;
  EXPECT_NE(InputsDigest(other), digest);
  other = order;
  other.buffers[0].extents = {65};
  EXPECT_NE(InputsDigest(other), digest);
}

// The kernel times of sittings of one matrix product, as they were told: six usual ones, and one in
// which the committed kernel was as ever, the other 5 % slower, and all of it took an hour's
// quarter.
Sitting At(const std::string& name, double committed, double retained, double seconds) {
  Sitting sitting;
  sitting.name = name;
  sitting.device = "RTX 4090";
  sitting.instrument = Instrument::kKernelTime;
  sitting.inputs = Sha256("inputs");
  sitting.run_seconds = seconds;
  sitting.arms = {{"committed", Sha256("a"), committed, committed * 1.01},
                  {"incumbent", Sha256("b"), retained, retained * 1.01}};
  return sitting;
}

const std::vector<Sitting> kUsual = {At("1", 80.63, 75.7, 14),  At("2", 80.2, 76.3, 14),
                                     At("3", 80.3, 76.35, 13),  At("4", 80.3, 76.6, 14),
                                     At("5", 79.76, 76.34, 15), At("6", 79.9, 76.25, 14)};

TEST(Sitting, AUsualOneIsNotFlagged) {
  const SittingVerdict verdict = JudgeSitting(At("7", 80.9, 77.3, 14), kUsual);
  EXPECT_FALSE(verdict.slow());
  EXPECT_THAT(verdict.peers, ElementsAre("1", "2", "3", "4", "5", "6"));
}

TEST(Sitting, OneMuchSlowerThanItsPeersIsFlaggedByArmAndByTime) {
  const SittingVerdict verdict = JudgeSitting(At("7", 79.8, 80.4, 846), kUsual);
  ASSERT_THAT(verdict.slow_arms, SizeIs(1));
  EXPECT_EQ(verdict.slow_arms[0].label, "incumbent");
  EXPECT_DOUBLE_EQ(verdict.slow_arms[0].usual_us, 76.3);
  EXPECT_NEAR(verdict.slow_arms[0].factor, 1.054, 1e-3);
  ASSERT_TRUE(verdict.slow_seconds);
  EXPECT_NEAR(verdict.slow_seconds->factor, 60, 1);
  const SittingVerdict slow_only = JudgeSitting(At("7", 80.2, 76.3, 846), kUsual);
  EXPECT_THAT(slow_only.slow_arms, IsEmpty());
  EXPECT_TRUE(slow_only.slow());
}

// On a machine whose times scatter a slow median is no news before it leaves the scatter.
TEST(Sitting, WithinItsPeersScatterIsNotFlagged) {
  std::vector<Sitting> noisy = kUsual;
  for (Sitting& sitting : noisy) sitting.arms[1].most_us = 90;
  EXPECT_FALSE(JudgeSitting(At("7", 80, 85, 14), noisy).slow());
  EXPECT_TRUE(JudgeSitting(At("7", 80, 91, 14), noisy).slow());
}

TEST(Sitting, PeersAreOfTheSameObjectDeviceInstrumentAndInputs) {
  const Sitting slow = At("7", 160, 160, 14);
  EXPECT_TRUE(JudgeSitting(slow, kUsual).slow());
  Sitting other = slow;
  other.device = "H200";
  EXPECT_FALSE(JudgeSitting(other, kUsual).slow());
  other = slow;
  other.instrument = Instrument::kEventSpan;
  EXPECT_FALSE(JudgeSitting(other, kUsual).slow());
  other = slow;
  other.inputs = Sha256("others");
  EXPECT_FALSE(JudgeSitting(other, kUsual).slow());
  other = slow;
  for (SittingArm& arm : other.arms) arm.object = Sha256("built anew" + arm.label);
  EXPECT_FALSE(JudgeSitting(other, kUsual).slow());
  EXPECT_THAT(JudgeSitting(other, kUsual).peers, IsEmpty());
}

// A first sitting has no peers; when the second shows it up, the second says so.
TEST(Sitting, AnEarlierOneThatIsSlowBesideTheNewestIsNamed) {
  const Sitting first = At("1", 160, 150, 14);
  EXPECT_FALSE(JudgeSitting(first, {}).slow());
  const Sitting second = At("2", 80, 76, 14);
  EXPECT_FALSE(JudgeSitting(second, {first}).slow());
  EXPECT_THAT(SlowEarlier(second, {first}), ElementsAre("1"));
  EXPECT_THAT(SlowEarlier(At("7", 80, 76, 14), kUsual), IsEmpty());
}

}  // namespace
}  // namespace pawl
