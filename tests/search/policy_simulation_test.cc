// How often the rule keeps what is no better, and finds what is, under noise of several kinds.
// Seeded, so that it says the same each time; the figures are in docs/jobs.md.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "coordinator/search/seed.h"
#include "rounds.h"

namespace pawl {
namespace {

// What the field note's page advises for a busy host.
const Parameters kHost = {{"noise_factor", 4.0}, {"rounds", 8.0}, {"max_batches", 5.0}};

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : stream_(seed) {}

  double Uniform() { return static_cast<double>(SplitMix64(stream_) >> 11) * 0x1p-53; }

  double Normal() {
    return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(6.283185307179586 * Uniform());
  }

  // Student's t with 3 degrees, scaled to a standard deviation of 1: one visit in 60 is off by
  // three.
  double HeavyTailed() {
    double squares = 0;
    for (int i = 0; i < 3; ++i) {
      const double normal = Normal();
      squares += normal * normal;
    }
    return Normal() / std::sqrt(squares);
  }

 private:
  std::uint64_t stream_;
};

// How long one visit takes, as a factor. Called in the order in which the visits run.
using Visit = std::function<double(Noise&)>;

struct Rates {
  double kept = 0, voided = 0, rounds = 0;  // a generation
};

Rates Simulate(const Parameters& parameters, const Visit& visit, double gain, int generations) {
  const auto rule = Rule(parameters);
  Noise noise(SeedFor(20260910, "policy simulation"));
  Rates rates;
  for (int generation = 1; generation <= generations; ++generation) {
    std::vector<Report> reports;
    while (true) {
      Report report;
      report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
      const auto batch = static_cast<std::uint32_t>(reports.size());
      for (const RoundPlan& plan :
           rule->Rounds(7, Generation(static_cast<std::uint32_t>(generation)), batch, {}, 2)) {
        RoundMedians round;
        for (const VisitPlan& planned : plan.visits) {
          const double factor = report.arms[planned.arm] == ArmRole::kCandidate ? 1 - gain : 1;
          round.visits.push_back({planned.arm, planned.input_set, 100 * factor * visit(noise), 0});
        }
        report.rounds.push_back(std::move(round));
        rates.rounds += 1.0 / generations;
      }
      reports.push_back(std::move(report));
      const auto outcome = rule->Decide(reports);
      const auto* decision = std::get_if<Decision>(&outcome);
      if (decision == nullptr) continue;
      rates.kept += decision->verdict == Verdict::kKeep ? 1.0 / generations : 0;
      rates.voided += decision->verdict == Verdict::kVoid ? 1.0 / generations : 0;
      break;
    }
  }
  return rates;
}

double HeavyTails(Noise& noise) { return std::exp(0.05 * noise.HeavyTailed()); }

TEST(FieldNoteSimulation, KeepsNoEqualInTwentyThousandMoreOftenThanItsBound) {
  const Rates rates = Simulate(kHost, HeavyTails, 0, 20'000);
  RecordProperty("false_keeps_in_a_million", static_cast<int>(1e6 * rates.kept));
  EXPECT_LE(rates.kept, 5 * 3.2e-5) << "max_batches * NormalTail(4)";
  EXPECT_EQ(rates.voided, 0);
  EXPECT_LT(rates.rounds, 45);
}

TEST(FieldNoteSimulation, FindsAGainOfFivePercent) {
  const Rates rates = Simulate(kHost, HeavyTails, 0.05, 1'000);
  RecordProperty("kept_in_a_thousand", static_cast<int>(1e3 * rates.kept));
  EXPECT_GE(rates.kept, 0.98);
  EXPECT_LT(rates.rounds, 45);
}

TEST(FieldNoteSimulation, RejectsWhatIsSlowerInOneBatch) {
  const Rates rates = Simulate(kHost, HeavyTails, -0.10, 1'000);
  EXPECT_EQ(rates.kept, 0);
  EXPECT_LT(rates.rounds, 8.2);
}

// A neighbour on the other thread of the core: visits take 1.8 times as long for a dozen at a time.
TEST(FieldNoteSimulation, HoldsItsRatesBesideANeighbourThatComesAndGoes) {
  int left = 0;
  bool busy = false;
  const Visit visit = [&](Noise& noise) {
    if (left-- <= 0) {
      left = static_cast<int>(-12 * std::log(1 - noise.Uniform()));
      busy = noise.Uniform() < 0.4;
    }
    return (busy ? 1.8 : 1.0) * std::exp(0.03 * noise.HeavyTailed());
  };
  const Rates equal = Simulate(kHost, visit, 0, 4'000);
  EXPECT_LE(equal.kept, 0.002);
  EXPECT_LE(equal.voided, 0.01);
  const Rates better = Simulate(kHost, visit, 0.05, 500);
  EXPECT_GE(better.kept, 0.9);
}

// Two clock modes 7 % apart with hardly any noise within them: a spread estimated from a few rounds
// would often be nothing.
TEST(FieldNoteSimulation, IsNotFooledByTwoModes) {
  const Visit visit = [](Noise& noise) {
    return (noise.Uniform() < 0.5 ? 1.07 : 1.0) * std::exp(0.002 * noise.Normal());
  };
  EXPECT_LE(Simulate(kHost, visit, 0, 4'000).kept, 0.001);
  EXPECT_GE(Simulate(kHost, visit, 0.05, 500).kept, 0.95);
}

// Each visit is slower than the one before, whoever's it is, and starts over after a hundred.
TEST(FieldNoteSimulation, IsNotFooledByADriftWithinRounds) {
  int visits = 0;
  const Visit visit = [&](Noise& noise) {
    return (1 + 0.004 * (visits++ % 100)) * std::exp(0.002 * noise.Normal());
  };
  EXPECT_LE(Simulate(kHost, visit, 0, 4'000).kept, 0.001);
}

// The note's own rule under the same noise, for comparison: what it cannot tell it mostly voids.
TEST(FieldNoteSimulation, TheNotesRuleKeepsEqualsUnderSuchNoise) {
  const Rates rates = Simulate({{"control_tolerance", 100.0}}, HeavyTails, 0, 4'000);
  EXPECT_GT(rates.kept, 0.2);
  EXPECT_GT(Simulate({}, HeavyTails, 0, 4'000).voided, 0.7);
}

}  // namespace
}  // namespace pawl
