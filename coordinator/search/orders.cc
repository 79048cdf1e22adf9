#include "coordinator/search/orders.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "coordinator/search/seed.h"
#include "kernels/render.h"
#include "schema/check.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::uint32_t kTimedInputSets = 2;
constexpr std::uint32_t kConfirmBurnIn = 4;
constexpr std::uint32_t kConfirmRounds = 8;
constexpr double kMostAddedMs = 1'800'000;

// The index of a source in an order, added when no equal one is there.
std::uint32_t AddSource(Order& order, const SourceText& source) {
  for (std::size_t i = 0; i < order.sources.size(); ++i) {
    if (order.sources[i] == source) return static_cast<std::uint32_t>(i);
  }
  order.sources.push_back(source);
  return static_cast<std::uint32_t>(order.sources.size() - 1);
}

void AddArm(Order& order, const BuiltArm& built) {
  Arm arm = built.arm;
  if (built.source) arm.source = AddSource(order, *built.source);
  order.arms.push_back(std::move(arm));
}

// Arms 0 and 1 are what is compared; the others come after them in every round.
std::vector<RoundPlan> ConfirmRounds(std::uint32_t arms) {
  std::vector<RoundPlan> rounds;
  for (std::uint32_t r = 0; r < kConfirmBurnIn + kConfirmRounds; ++r) {
    RoundPlan round;
    round.recorded = r >= kConfirmBurnIn;
    // Order turns every round, input set every two: each pair of them comes equally often.
    const std::uint32_t input_set = r / 2 % kTimedInputSets;
    const bool turned = r % 2 == 1;
    round.visits.push_back({turned ? 0U : 1U, input_set});
    round.visits.push_back({turned ? 1U : 0U, input_set});
    for (std::uint32_t arm = 2; arm < arms; ++arm) {
      round.visits.push_back({turned ? arms + 1 - arm : arm, input_set});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

bool StartIsBeside(const Workshop& workshop, const Track& track) {
  return !workshop.structure->source.empty() && track.state.incumbent != track.state.spec.start;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<double> MedianOf(const RoundMedians& round, std::size_t arm) {
  for (const VisitMedian& visit : round.visits) {
    if (visit.arm == arm) return visit.median_us;
  }
  return std::nullopt;
}

std::optional<std::size_t> IndexOf(const OrderPlan& plan, ArmRole role) {
  const auto found = std::find(plan.arms.begin(), plan.arms.end(), role);
  if (found == plan.arms.end()) return std::nullopt;
  return found - plan.arms.begin();
}

Beside BesideFrom(const OrderPlan& plan, const Report& report, std::size_t incumbent,
                  std::size_t arm) {
  std::vector<double> ratios, us;
  for (const RoundMedians& round : report.rounds) {
    const auto ours = MedianOf(round, incumbent);
    const auto theirs = MedianOf(round, arm);
    if (!ours || !theirs || *theirs <= 0) continue;
    ratios.push_back(*ours / *theirs);
    us.push_back(*theirs);
  }
  if (us.empty()) return {plan.labels[arm], 0, 0};
  return {plan.labels[arm], Median(us), Median(ratios)};
}

}  // namespace

Status AddConfigured(Order& order, const Workshop& workshop, ArmRole role,
                     const Configuration& configuration) {
  BuiltArm built;
  built.arm.role = role;
  built.arm.label = Name(role);
  built.arm.configuration = configuration;
  if (!workshop.structure->source.empty()) {
    auto source = Render(*workshop.operation, *workshop.structure, *workshop.space, configuration);
    if (!source) return source.error();
    built.source = *std::move(source);
    auto all = LaunchesOf(*workshop.operation, *workshop.structure, *workshop.space, configuration);
    if (!all) return all.error();
    built.arm.launches = std::move(all->launches);
    built.arm.scratch = std::move(all->scratch);
  }
  AddArm(order, built);
  return {};
}

Result<Order> MeasureOrder(const Workshop& workshop, const Track& track, Generation generation,
                           Attempt attempt, bool fresh_process) {
  const OpenGeneration& open = track.generations.at(generation);
  CHECK(open.proposed.violations.empty());
  Order order = workshop.base;
  order.kind = OrderKind::kMeasure;
  order.track = track.state.id;
  order.generation = open.proposed.generation;
  order.attempt = attempt;
  order.batch = static_cast<std::uint32_t>(open.reports.size());
  order.fresh_process = fresh_process;
  if (Status added = AddConfigured(order, workshop, ArmRole::kCandidate, open.proposed.candidate);
      !added) {
    return added.error();
  }
  if (Status added = AddConfigured(order, workshop, ArmRole::kIncumbent, track.state.incumbent);
      !added) {
    return added.error();
  }
  order.rounds = MeasurePlan(workshop, track.state.spec, order.generation, order.batch).rounds;
  return order;
}

std::optional<std::string> WhyNotSent(const Order& order) {
  const std::string bytes = EncodeOrder(order);
  if (bytes.size() > kMostOrderBytes) {
    return "the order has " + std::to_string(bytes.size()) + " bytes, at most " +
           std::to_string(kMostOrderBytes) + " can be sent";
  }
  if (auto taken = DecodeOrder(bytes); !taken) return taken.error().message;
  return std::nullopt;
}

bool BlamesBeside(const Report& report) {
  return report.outcome.arm == ArmRole::kStart || report.outcome.arm == ArmRole::kRival;
}

Result<Order> ConfirmOrder(const Workshop& workshop, const Track& track, Attempt attempt) {
  const std::optional<OpenGeneration>& open = track.confirmation;
  const bool beside =
      !open ||
      (open->faults == 0 && std::none_of(open->reports.begin(), open->reports.end(), BlamesBeside));
  Order order = workshop.base;
  order.kind = OrderKind::kConfirm;
  order.track = track.state.id;
  order.generation = Generation(track.state.confirmations + 1);
  order.attempt = attempt;
  order.batch = open ? static_cast<std::uint32_t>(open->reports.size()) : 0;
  order.fresh_process = true;
  if (Status added = AddConfigured(order, workshop, ArmRole::kIncumbent, track.state.incumbent);
      !added) {
    return added.error();
  }
  if (beside) {
    if (StartIsBeside(workshop, track)) {
      Status added = AddConfigured(order, workshop, ArmRole::kStart, track.state.spec.start);
      if (!added) return added.error();
    }
    for (const BuiltArm& rival : workshop.rivals) AddArm(order, rival);
  }
  order.rounds = ConfirmPlan(workshop, track, beside).rounds;
  return order;
}

OrderPlan MeasurePlan(const Workshop& workshop, const TrackSpec& spec, Generation generation,
                      std::uint32_t batch) {
  OrderPlan plan;
  plan.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  for (const ArmRole role : plan.arms) plan.labels.emplace_back(Name(role));
  plan.rounds =
      workshop.policy->Rounds(spec.seed, generation, batch, Policy::Arms{0, 1, 2}, kTimedInputSets);
  plan.checked = workshop.base.check.reference.has_value();
  return plan;
}

OrderPlan ConfirmPlan(const Workshop& workshop, const Track& track, bool beside) {
  OrderPlan plan;
  plan.arms = {ArmRole::kCommitted, ArmRole::kIncumbent};
  if (beside && StartIsBeside(workshop, track)) plan.arms.push_back(ArmRole::kStart);
  for (const ArmRole role : plan.arms) plan.labels.emplace_back(Name(role));
  if (beside) {
    for (const BuiltArm& rival : workshop.rivals) {
      plan.arms.push_back(ArmRole::kRival);
      plan.labels.push_back(rival.arm.label);
    }
  }
  plan.rounds = ConfirmRounds(static_cast<std::uint32_t>(plan.arms.size()));
  plan.checked = workshop.base.check.reference.has_value();
  return plan;
}

Confirmed ConfirmedFrom(const Order& order, const Report& report, std::uint32_t number,
                        const Configuration& incumbent) {
  OrderPlan plan;
  for (const Arm& arm : order.arms) {
    plan.arms.push_back(arm.role);
    plan.labels.push_back(arm.label);
  }
  return ConfirmedFrom(plan, report, number, incumbent);
}

Confirmed ConfirmedFrom(const OrderPlan& plan, const Report& report, std::uint32_t number,
                        const Configuration& incumbent) {
  Confirmed confirmed;
  confirmed.number = number;
  confirmed.incumbent = incumbent;
  if (report.outcome.kind != OutcomeKind::kMeasured) {
    confirmed.detail = Name(report.outcome.kind);
    if (report.outcome.arm) confirmed.detail += " (" + std::string(Name(*report.outcome.arm)) + ")";
    if (!report.outcome.detail.empty()) confirmed.detail += ": " + report.outcome.detail;
    return confirmed;
  }
  const auto incumbent_arm = IndexOf(plan, ArmRole::kIncumbent);
  const auto committed_arm = IndexOf(plan, ArmRole::kCommitted);
  CHECK(incumbent_arm && committed_arm);
  std::vector<double> gains, incumbent_us, committed_us;
  for (const RoundMedians& round : report.rounds) {
    const auto ours = MedianOf(round, *incumbent_arm);
    const auto control = MedianOf(round, *committed_arm);
    if (!ours || !control || *control <= 0) continue;
    gains.push_back(1 - *ours / *control);
    incumbent_us.push_back(*ours);
    committed_us.push_back(*control);
  }
  if (gains.empty()) {
    confirmed.detail = "no round has a time of both incumbent and committed";
    return confirmed;
  }
  confirmed.valid = true;
  confirmed.rounds = static_cast<std::uint32_t>(gains.size());
  confirmed.gain = Median(gains);
  confirmed.min = *std::min_element(gains.begin(), gains.end());
  confirmed.max = *std::max_element(gains.begin(), gains.end());
  for (const double gain : gains) {
    confirmed.mean += gain / static_cast<double>(gains.size());
    if (gain > 0) ++confirmed.favouring;
  }
  double squares = 0;
  for (const double gain : gains) squares += (gain - confirmed.mean) * (gain - confirmed.mean);
  if (gains.size() > 1)
    confirmed.stddev = std::sqrt(squares / static_cast<double>(gains.size() - 1));
  confirmed.incumbent_us = Median(incumbent_us);
  confirmed.committed_us = Median(committed_us);
  for (std::size_t arm = 0; arm < plan.arms.size(); ++arm) {
    if (plan.arms[arm] == ArmRole::kIncumbent || plan.arms[arm] == ArmRole::kCommitted) continue;
    confirmed.beside.push_back(BesideFrom(plan, report, *incumbent_arm, arm));
  }
  return confirmed;
}

Result<Digest> SourceDigest(const Workshop& workshop, const Configuration& configuration) {
  if (workshop.structure->source.empty()) return Digest{};
  auto source = Render(*workshop.operation, *workshop.structure, *workshop.space, configuration);
  if (!source) return source.error();
  return source->digest;
}

Result<Proposed> ProposedFrom(const Workshop& workshop, const TrackState& state,
                              const Proposal& proposal) {
  Proposed proposed;
  proposed.generation = state.last.Next();
  proposed.candidate = proposal.candidate;
  proposed.incumbent = state.incumbent;
  proposed.changes = proposal.changes;
  proposed.hypothesis = proposal.hypothesis;
  proposed.violations = proposal.violations;
  auto incumbent = SourceDigest(workshop, state.incumbent);
  if (!incumbent) return incumbent.error();
  proposed.incumbent_source = *incumbent;
  if (!proposal.violations.empty()) return proposed;  // it has no source
  auto candidate = SourceDigest(workshop, proposal.candidate);
  if (!candidate) return candidate.error();
  proposed.candidate_source = *candidate;
  return proposed;
}

Deadlines DeadlinesFor(const Deadlines& own, double flops, double bytes, const Timing& timing) {
  const double call_ms = std::max(flops, bytes) / 1e9 * 1e3;
  const double reference_ms = flops / 0.2e9 * 1e3;
  const double calls = static_cast<double>(timing.warmup) + timing.iterations;
  const auto with = [](std::uint32_t base_ms, double added_ms) {
    return base_ms + static_cast<std::uint32_t>(std::min(3 * added_ms, kMostAddedMs));
  };
  Deadlines deadlines = own;
  deadlines.check_ms = with(own.check_ms, reference_ms + call_ms);
  deadlines.run_ms = with(own.run_ms, calls * call_ms);
  return deadlines;
}

}  // namespace pawl
