#include "coordinator/search/policy/field_note.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/search/figures.h"
#include "coordinator/search/parameters.h"
#include "coordinator/search/policy/signed_rank.h"
#include "coordinator/search/seed.h"
#include "schema/check.h"

namespace pawl {
namespace {

constexpr std::uint32_t kMostBatches = 9;
constexpr double kMostRounds = 256;       // in all batches: the signed-rank test is cubic in them
constexpr std::size_t kRatiosInFull = 9;  // more are given as their range

const std::vector<ParameterRule>& Rules() {
  static const std::vector<ParameterRule> kRules = {
      {"min_gain", 0.01, 0, 0.5, false},
      {"control_tolerance", 0.03, 0, 100, false},
      {"rounds", 3, 1, 120, true},
      {"void_is_refusal", 0, 0, 1, true},
      {"noise_factor", 0, 0, 6, false},
      {"futility_factor", 0.7, 0, 6, false},
      {"max_batches", 1, 1, kMostBatches, true},
  };
  return kRules;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One arm's time in a round; the median of its visits where a round has several.
std::optional<double> TimeOf(const Report& report, const RoundMedians& round, ArmRole role) {
  std::vector<double> times;
  for (const VisitMedian& visit : round.visits) {
    if (visit.arm >= report.arms.size() || report.arms[visit.arm] != role) continue;
    if (!std::isfinite(visit.median_us) || visit.median_us <= 0) return std::nullopt;
    times.push_back(visit.median_us);
  }
  if (times.empty()) return std::nullopt;
  return Median(std::move(times));
}

// All batches' times, by round. A gap is what the decision trips over, in the order of its steps.
struct Times {
  std::vector<std::vector<double>> control;      // by batch
  std::vector<std::pair<double, double>> pairs;  // candidate, incumbent
  std::vector<double> ratios, incumbent, candidate;
  std::string no_control, no_arm;  // the first gap of each kind
  bool any_control = false;
};

Times TimesOf(const std::vector<Report>& reports) {
  Times times;
  std::size_t round_number = 0;
  for (const Report& report : reports) {
    times.control.emplace_back();
    for (const RoundMedians& round : report.rounds) {
      ++round_number;
      const auto control = TimeOf(report, round, ArmRole::kCommitted);
      const auto candidate = TimeOf(report, round, ArmRole::kCandidate);
      const auto incumbent = TimeOf(report, round, ArmRole::kIncumbent);
      if (control) times.control.back().push_back(*control);
      if (candidate) times.candidate.push_back(*candidate);
      if (incumbent) times.incumbent.push_back(*incumbent);
      if (candidate && incumbent) {
        times.pairs.emplace_back(*candidate, *incumbent);
        times.ratios.push_back(*candidate / *incumbent);
      }
      if (control && candidate && incumbent) continue;
      const ArmRole missing = !control     ? ArmRole::kCommitted
                              : !candidate ? ArmRole::kCandidate
                                           : ArmRole::kIncumbent;
      if (times.no_arm.empty()) {
        times.no_arm = "no timing of " + std::string(Name(missing)) + " in round " +
                       std::to_string(round_number);
      }
    }
    times.any_control = times.any_control || !times.control.back().empty();
  }
  if (round_number > 0 && !times.any_control)
    times.no_control = "no timing of committed in any round";
  return times;
}

// max/min over the rounds of a batch, or over the medians of its halves; the worst batch counts.
double DriftOf(const std::vector<std::vector<double>>& batches, bool by_halves) {
  double worst = 1;
  for (std::vector<double> batch : batches) {
    if (batch.size() < 2) continue;
    if (by_halves) {
      const std::ptrdiff_t half = static_cast<std::ptrdiff_t>(batch.size() / 2);
      batch = {Median({batch.begin(), batch.begin() + half}),
               Median({batch.end() - half, batch.end()})};
    }
    const auto [least, most] = std::minmax_element(batch.begin(), batch.end());
    worst = std::max(worst, *most / *least);
  }
  return worst;
}

// "median of 0.778, 0.778, 0.778 = 0.77778"
std::string RatioText(const std::vector<double>& ratios, double median) {
  std::string text = "median of ";
  if (ratios.size() > kRatiosInFull) {
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    text += std::to_string(ratios.size()) + " ratios from " + Fixed(*least, 3) + " to " +
            Fixed(*most, 3);
  } else {
    for (std::size_t i = 0; i < ratios.size(); ++i)
      text += (i == 0 ? "" : ", ") + Fixed(ratios[i], 3);
  }
  return text + " = " + Fixed(median, 5);
}

std::uint32_t Whole(const Parameters& filled, const std::string& name) {
  return static_cast<std::uint32_t>(Number(filled, name));
}

}  // namespace

Result<std::unique_ptr<Policy>> FieldNote::Make(const Parameters& parameters) {
  auto filled = FillParameters("policy field_note", Rules(), parameters);
  if (!filled) return filled.error();
  const double noise_factor = Number(*filled, "noise_factor");
  if (noise_factor > 0) {
    if (parameters.count("control_tolerance") == 0) (*filled)["control_tolerance"] = 1.0;
    const double rounds =
        std::ldexp(Number(*filled, "rounds"), static_cast<int>(Number(*filled, "max_batches")) - 1);
    const double needed = std::ceil(-std::log2(NormalTail(noise_factor)));
    const std::string in_all = "rounds " + Plain(Number(*filled, "rounds")) +
                               ", doubled up to max_batches " +
                               Plain(Number(*filled, "max_batches")) + ", make " + Plain(rounds);
    if (rounds < needed) {
      return Error{"policy field_note: noise_factor " + Plain(noise_factor) + " needs at least " +
                   Plain(needed) + " rounds, however clear they are; " + in_all};
    }
    if (rounds > kMostRounds) {
      return Error{"policy field_note: " + in_all + "; wanted at most " + Plain(kMostRounds)};
    }
  }
  return std::unique_ptr<Policy>(new FieldNote(*filled));
}

FieldNote::FieldNote(const Parameters& filled)
    : min_gain_(Number(filled, "min_gain")),
      control_tolerance_(Number(filled, "control_tolerance")),
      rounds_(Whole(filled, "rounds")),
      void_is_refusal_(Number(filled, "void_is_refusal") != 0),
      noise_factor_(Number(filled, "noise_factor")),
      futility_factor_(Number(filled, "futility_factor")),
      max_batches_(Whole(filled, "max_batches")) {}

std::vector<RoundPlan> FieldNote::Rounds(std::uint64_t seed, Generation generation,
                                         std::uint32_t batch, Arms arms,
                                         std::uint32_t input_sets) const {
  CHECK(input_sets > 0);
  CHECK(batch < kMostBatches, batch);
  const std::vector<std::uint32_t> base = {arms.committed, arms.candidate, arms.incumbent};
  const bool balanced = noise_factor_ > 0;
  const std::size_t start = balanced ? SeedFor(seed, "field_note.mirror", generation.value) % 2 : 0;
  std::vector<RoundPlan> plans;
  // Every batch after the first doubles the rounds so far.
  const std::size_t before = batch == 0 ? 0 : std::size_t{rounds_} << (batch - 1);
  const std::size_t end = batch == 0 ? rounds_ : 2 * before;
  for (std::size_t index = before; index < end; ++index) {
    std::vector<std::uint32_t> order = base;
    if (balanced && (index / base.size() + start) % 2 == 1)
      std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(index % base.size()),
                order.end());
    // The extra step every six rounds keeps two input sets from always meeting the same orders.
    const std::uint32_t input_set = static_cast<std::uint32_t>((index + index / 6) % input_sets);
    RoundPlan plan;
    for (const std::uint32_t arm : order) plan.visits.push_back({arm, input_set});
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::variant<Decision, AskMore> FieldNote::Decide(const std::vector<Report>& reports) const {
  CHECK(!reports.empty());
  const bool by_noise = noise_factor_ > 0;
  const Times times = TimesOf(reports);
  const double threshold = 1 - min_gain_;

  Decision decision;
  decision.ratios = times.ratios;
  if (!times.ratios.empty()) decision.ratio = Median(times.ratios);
  if (times.any_control) decision.control_drift = DriftOf(times.control, by_noise);
  if (!times.incumbent.empty()) decision.before_us = Median(times.incumbent);
  if (!times.candidate.empty()) decision.after_us = Median(times.candidate);
  decision.threshold = threshold;

  const auto settle = [&](Reason reason, std::string detail) {
    decision.reason = reason;
    decision.verdict = VerdictOf(reason);
    decision.detail = std::move(detail);
    return decision;
  };
  const auto failed = [&](const Outcome& outcome) {
    const Decision meaning = DecisionOf(outcome);
    return settle(meaning.reason, meaning.detail);
  };

  for (const Report& report : reports) {
    if (report.outcome.kind == OutcomeKind::kBuildFailed) return failed(report.outcome);
  }
  // Runs that failed have their own reason, whether or not the control's turn came before; wrong
  // outputs do not.
  const bool ran = std::all_of(reports.begin(), reports.end(), [](const Report& report) {
    return report.outcome.kind == OutcomeKind::kMeasured ||
           report.outcome.kind == OutcomeKind::kWrongOutput;
  });
  if (ran && !times.no_control.empty()) return settle(Reason::kDeviceFault, times.no_control);
  for (const Report& report : reports) {
    if (report.outcome.kind != OutcomeKind::kMeasured) return failed(report.outcome);
    for (const CheckFacts& check : report.checks) {
      if (!check.passed) return failed({OutcomeKind::kWrongOutput, check.arm, check.detail});
    }
  }
  if (!times.no_arm.empty()) return settle(Reason::kDeviceFault, times.no_arm);
  if (times.ratios.empty()) return settle(Reason::kDeviceFault, "no round was reported");

  const double allowed = 1 + control_tolerance_;
  if (*decision.control_drift > allowed) {
    return settle(Reason::kControlDrift,
                  "committed moved by " + Fixed(*decision.control_drift, 5) +
                      (by_noise ? " between the halves of a batch" : " (max/min)") + "; " +
                      Fixed(allowed, 5) + " allowed");
  }

  const double ratio = *decision.ratio;
  const bool better = ratio < threshold;
  const std::string seen = RatioText(times.ratios, ratio);
  const std::string against = std::string(better ? " < " : " >= ") + Fixed(threshold, 5);
  if (!by_noise) return settle(better ? Reason::kFaster : Reason::kNotFaster, seen + against);

  const Look look = LookAt(times.pairs, better);
  const std::string arithmetic = seen + against + look.text;
  if (look.finding == Look::Finding::kFaster) return settle(Reason::kFaster, arithmetic);
  if (look.finding == Look::Finding::kFutile) return settle(Reason::kNotFaster, arithmetic);
  if (reports.size() < max_batches_) {
    return AskMore{arithmetic + "; batch " + std::to_string(reports.size()) + " of at most " +
                   std::to_string(max_batches_)};
  }
  return settle(Reason::kNotFaster, "inconclusive after " + std::to_string(times.ratios.size()) +
                                        " rounds: " + arithmetic);
}

FieldNote::Look FieldNote::LookAt(const std::vector<std::pair<double, double>>& pairs,
                                  bool better) const {
  const auto compare = [](const std::string& what, double chance, double allowed) {
    return "; " + what + " " + Chance(chance) + (chance <= allowed ? " <= " : " > ") +
           Chance(allowed);
  };
  std::string text;
  if (better) {
    const double chance = SignedRankTail(pairs);
    const double allowed = NormalTail(noise_factor_);
    text = compare("chance if equal", chance, allowed);
    if (chance <= allowed) return {Look::Finding::kFaster, text};
  }
  std::vector<std::pair<double, double>> reversed;  // the goal against the candidate
  for (const auto& [candidate, incumbent] : pairs) {
    reversed.emplace_back((1 - min_gain_) * incumbent, candidate);
  }
  const double chance = SignedRankTail(reversed);
  const double allowed = NormalTail(futility_factor_);
  if (!better || chance <= allowed) {
    text = compare("chance if at " + Fixed(1 - min_gain_, 5), chance, allowed);
  }
  return {chance <= allowed ? Look::Finding::kFutile : Look::Finding::kOpen, text};
}

Parameters FieldNote::Effective() const {
  return {{"min_gain", min_gain_},
          {"control_tolerance", control_tolerance_},
          {"rounds", double(rounds_)},
          {"void_is_refusal", void_is_refusal_ ? 1.0 : 0.0},
          {"noise_factor", noise_factor_},
          {"futility_factor", futility_factor_},
          {"max_batches", double(max_batches_)}};
}

}  // namespace pawl
