// The replay device's noise model: what it does to a time, and that it does it again.

#include "worker/device/replay/noise.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/worker/replay_orders.h"

namespace pawl {
namespace {

using ::testing::SizeIs;

const char* const kTable = "x,status,time_ms\n1,ok,3\n2,ok,1\n3,ok,2\n";

std::vector<double> Medians(const Report& report) {
  std::vector<double> medians;
  for (const RoundMedians& round : report.rounds) {
    for (const VisitMedian& visit : round.visits) medians.push_back(visit.median_us);
  }
  return medians;
}

const char* const kNoise = "?seed=7&jitter=0.01&boost=0.1&drift=0.01&throttle=0.05&cold=0.06";

TEST_F(ReplayFile, NoiseIsTheSameForAnOrderAskedAgainInAnotherProcessAndAttempt) {
  const std::string file = Write("t.csv", kTable);
  Order order = TableOrder(X(1), X(2), X(3));
  const auto first = MustOpen(file + kNoise);
  const std::vector<double> medians = Medians(AskDevice(*first, order).report);
  for (std::uint32_t generation = 2; generation < 20; ++generation) {
    order.generation = Generation(generation);
    AskDevice(*first, order);
  }
  order.generation = Generation(1);
  order.attempt = Attempt(5);
  order.fresh_process = true;
  EXPECT_EQ(Medians(AskDevice(*first, order).report), medians);
  EXPECT_EQ(Medians(AskDevice(*MustOpen(file + kNoise), order).report), medians);
}

TEST_F(ReplayFile, NoiseDiffersWithSeedTrackGenerationBatchAndKind) {
  const std::string file = Write("t.csv", kTable);
  const Order order = TableOrder(X(1), X(2), X(3));
  const auto device = MustOpen(file + kNoise);
  const std::vector<double> medians = Medians(AskDevice(*device, order).report);
  Order other = order;
  other.track = TrackId(2);
  EXPECT_NE(Medians(AskDevice(*device, other).report), medians);
  other = order;
  other.generation = Generation(2);
  EXPECT_NE(Medians(AskDevice(*device, other).report), medians);
  other = order;
  other.batch = 1;
  EXPECT_NE(Medians(AskDevice(*device, other).report), medians);
  other = order;
  other.kind = OrderKind::kConfirm;
  EXPECT_NE(Medians(AskDevice(*device, other).report), medians);
  EXPECT_NE(Medians(AskDevice(*MustOpen(file + "?seed=8&jitter=0.01"), order).report),
            Medians(AskDevice(*MustOpen(file + "?seed=7&jitter=0.01"), order).report));
}

TEST_F(ReplayFile, NoiseIsPartOfTheToolchainThatATrackIsBoundTo) {
  const std::string file = Write("t.csv", kTable);
  const std::string plain = MustOpen(file)->Facts().toolchain;
  EXPECT_EQ(MustOpen(file + "?seed=3")->Facts().toolchain, plain);
  EXPECT_EQ(MustOpen(file + "?cold=0.06&seed=3")->Facts().toolchain, plain + " seed=3 cold=0.06");
  EXPECT_EQ(MustOpen(file + "?seed=3&noise=field&boost=0")->Facts().toolchain,
            plain + " seed=3 jitter=0.005 throttle=0.004 drift=0.005 cold=0.06");
}

// Over many generations, the factors of one kind of noise.
std::vector<double> FactorsOf(const Noise& noise, std::uint32_t generations, std::size_t visits) {
  std::vector<double> factors;
  Order order;
  order.track = TrackId(1);
  order.rounds = {RoundPlan{true, std::vector<VisitPlan>(visits)}};
  for (std::uint32_t g = 1; g <= generations; ++g) {
    order.generation = Generation(g);
    for (const double factor : noise.Factors(order)) factors.push_back(factor);
  }
  return factors;
}

TEST(ReplayNoise, JitterHasTheSpreadAskedForAndHeavyTails) {
  const std::vector<double> factors = FactorsOf(Noise{1, 0.01, 0, 0, 0, 0}, 5000, 20);
  double sum = 0, squares = 0;
  int beyond_four = 0;
  for (const double factor : factors) {
    const double x = std::log(factor) / 0.01;
    sum += x;
    squares += x * x;
    beyond_four += std::abs(x) > 4;
  }
  const double n = static_cast<double>(factors.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / n), 1, 0.1);
  // P(|t4| > 4 sqrt 2) = 0.48 %; a normal variable would be there 0.006 % of the time.
  EXPECT_NEAR(beyond_four / n, 0.0048, 0.0015);
}

struct Runs {
  double share = 0;   // of visits inside an excursion
  double length = 0;  // mean, of those that begin and end inside an order
  double least = 2, most = 0;
};

Runs RunsOf(const std::vector<double>& factors, std::size_t visits) {
  Runs runs;
  double inside = 0, begun = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) continue;
    ++inside;
    runs.least = std::min(runs.least, factors[i]);
    runs.most = std::max(runs.most, factors[i]);
    if (i % visits == 0 || factors[i - 1] != factors[i]) ++begun;
  }
  runs.share = inside / static_cast<double>(factors.size());
  runs.length = inside / begun;
  return runs;
}

TEST(ReplayNoise, BoostsAreSixToTwelvePercentFastForOnePointSevenVisits) {
  const Runs runs = RunsOf(FactorsOf(Noise{1, 0, 0.03, 0, 0, 0}, 500, 200), 200);
  EXPECT_NEAR(runs.length, 1.7, 0.1);
  EXPECT_NEAR(runs.share, 0.03 * 1.7 / (1 + 0.03 * 1.7), 0.005);
  EXPECT_GE(runs.least, 0.88 - 1e-9);
  EXPECT_LE(runs.most, 0.94 + 1e-9);
}

TEST(ReplayNoise, ThrottlingIsThreeToTenPercentSlowForTwelveVisits) {
  const Runs runs = RunsOf(FactorsOf(Noise{1, 0, 0, 0.01, 0, 0}, 500, 200), 200);
  EXPECT_NEAR(runs.length, 12, 1.5);
  EXPECT_NEAR(runs.share, 0.12 / 1.12, 0.015);
  EXPECT_GE(runs.least, 1.03 - 1e-9);
  EXPECT_LE(runs.most, 1.10 + 1e-9);
}

TEST(ReplayNoise, AColdStartIsGoneAfterTenVisits) {
  const std::vector<double> factors = FactorsOf(Noise{1, 0, 0, 0, 0, 0.06}, 1, 12);
  ASSERT_THAT(factors, SizeIs(12));
  EXPECT_NEAR(factors[0], 0.94, 1e-12);
  EXPECT_NEAR(factors[5], 0.97, 1e-12);
  for (int i = 1; i < 10; ++i) EXPECT_GT(factors[i], factors[i - 1]);
  EXPECT_EQ(factors[10], 1);
  EXPECT_EQ(factors[11], 1);
}

TEST(ReplayNoise, DriftIsSlowAndBounded) {
  const std::vector<double> factors = FactorsOf(Noise{1, 0, 0, 0, 0.02, 0}, 200, 16);
  double widest = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    widest = std::max(widest, std::abs(std::log(factors[i])));
    const double before = i > 0 ? factors[i - 1] : factors[i];
    EXPECT_LT(std::abs(std::log(factors[i] / before)), 0.02 * 0.05);
  }
  EXPECT_LE(widest, 0.02 + 1e-12);
  EXPECT_GT(widest, 0.015);
}

}  // namespace
}  // namespace pawl
