#include "coordinator/bench/bench.h"

#include <algorithm>

#include "coordinator/search/binding.h"
#include "coordinator/search/timed_arms.h"
#include "kernels/render.h"
#include "schema/check.h"

namespace pawl {
namespace {

Status AddLibrary(Order& order, const Operation& operation, const Rival& rival) {
  auto source = RivalSource(operation, rival);
  if (!source) return source.error();
  Arm arm;
  arm.role = ArmRole::kRival;
  arm.label = rival.name;
  arm.source = static_cast<std::uint32_t>(order.sources.size());
  Launch launch;
  launch.kernel = rival.kernel;
  for (std::uint32_t i = 0; i < order.buffers.size(); ++i) {
    launch.arguments.push_back({Argument::Kind::kBuffer, i});
  }
  for (std::uint32_t i = 0; i < order.scalars.size(); ++i) {
    launch.arguments.push_back({Argument::Kind::kScalar, i});
  }
  arm.launches.push_back(std::move(launch));
  order.sources.push_back(*std::move(source));
  order.arms.push_back(std::move(arm));
  return {};
}

void Fail(BenchArm& arm, OutcomeKind outcome, const std::string& why) {
  const bool unbuilt =
      outcome == OutcomeKind::kBuildFailed || outcome == OutcomeKind::kLaunchFailed;
  arm.state = outcome == OutcomeKind::kWrongOutput              ? ArmState::kWrong
              : unbuilt && arm.kind == BenchArm::Kind::kLibrary ? ArmState::kAbsent
                                                                : ArmState::kFailed;
  arm.why = why;
  arm.rounds.clear();  // the time of what is wrong is never judged
  arm.lost.clear();
}

void TakeConditions(const DeviceConditions& seen, DeviceConditions& conditions) {
  conditions.clock_reasons |= seen.clock_reasons;
  conditions.memory_mhz = std::max(conditions.memory_mhz, seen.memory_mhz);
  conditions.temperature_c = std::max(conditions.temperature_c, seen.temperature_c);
  conditions.power_w = std::max(conditions.power_w, seen.power_w);
  conditions.foreign_processes = std::max(conditions.foreign_processes, seen.foreign_processes);
  conditions.pinned_mhz = std::max(conditions.pinned_mhz, seen.pinned_mhz);
}

}  // namespace

const char* Name(ArmState state) {
  switch (state) {
    case ArmState::kMeasured:
      return "measured";
    case ArmState::kAbsent:
      return "absent";
    case ArmState::kFailed:
      return "failed";
    case ArmState::kWrong:
      return "wrong_output";
  }
  CHECK(false, static_cast<int>(state));
}

const char* Name(BenchArm::Kind kind) {
  switch (kind) {
    case BenchArm::Kind::kKernel:
      return "kernel";
    case BenchArm::Kind::kLibrary:
      return "library";
    case BenchArm::Kind::kProgram:
      return "program";
  }
  CHECK(false, static_cast<int>(kind));
}

std::optional<std::string> WhyNotBench(const Bench& bench, const DeviceFacts& device) {
  if (!device.needs_source) {
    return "device " + device.model + " (replayed) is none that a rival could run on";
  }
  return WhyNotMeasure(bench.measurement, device);
}

Result<Order> BenchOrder(const Bench& bench, const DeviceFacts& device) {
  const Measurement& measurement = bench.measurement;
  const Operation& operation = *measurement.operation;
  const Backend& backend = *operation.FindBackend(measurement.backend);
  ProblemTerms terms;
  terms.seed = measurement.seed;
  terms.input_sets = 1;
  terms.timing.warmup = measurement.warmup;
  terms.timing.iterations = measurement.iterations;
  terms.deadlines = measurement.deadlines;
  if (measurement.instrument) {
    terms.timing.instrument = *measurement.instrument;
  } else {
    const auto instrument =
        DefaultInstrument(measurement.backend, device, operation, measurement.shape);
    if (!instrument) return instrument.error();
    terms.timing.instrument = *instrument;
  }
  Result<Order> order = OrderOver(operation, backend, measurement.shape, terms);
  if (!order) return order.error();
  order->kind = OrderKind::kMeasure;
  order->track = TrackId(1);
  order->generation = Generation(1);
  order->attempt = Attempt(1);
  order->device_model = device.model;
  if (Status added = AddKernel(*order, operation, backend, {}, ArmRole::kCommitted, "committed");
      !added) {
    return added.error();
  }
  if (measurement.kernel.structure != nullptr) {
    const ArmRole role = bench.of_track ? ArmRole::kIncumbent : ArmRole::kCandidate;
    Status added =
        AddKernel(*order, operation, backend, measurement.kernel, role, measurement.label);
    if (!added) return added.error();
  }
  for (const Rival& rival : backend.rivals) {
    if (Status added = AddLibrary(*order, operation, rival); !added) return added.error();
  }
  order->rounds.resize(1);
  for (std::uint32_t arm = 0; arm < order->arms.size(); ++arm) {
    order->rounds[0].visits.push_back({arm, 0});
  }
  return order;
}

Order LegOrder(const Order& base, const std::vector<std::size_t>& arms,
               const std::vector<std::size_t>& visits) {
  Order order = base;
  order.arms.clear();
  for (const std::size_t arm : arms) order.arms.push_back(base.arms[arm]);
  RoundPlan round;
  for (const std::size_t visit : visits) {
    const auto at = std::find(arms.begin(), arms.end(), visit);
    CHECK(at != arms.end(), visit);
    round.visits.push_back({static_cast<std::uint32_t>(at - arms.begin()), 0});
  }
  order.rounds = {std::move(round)};
  return order;
}

void TakeProbe(const Order& order, const Report& report, BenchArm& arm) {
  const TimedArm timed = TimedArms(order, report).front();
  arm.build = timed.build;
  arm.check = timed.check;
  if (const auto why = WhyNotTimed(order, report)) {
    Fail(arm, report.outcome.kind,
         report.outcome.detail.empty()
             ? *why
             : std::string(Name(report.outcome.kind)) + ": " + report.outcome.detail);
  }
}

void TakeLeg(const Order& order, const Report& report, const std::vector<std::size_t>& arms,
             std::uint32_t round, BenchResult& result) {
  TakeConditions(report.conditions, result.conditions);
  if (report.outcome.kind != OutcomeKind::kMeasured) {
    const std::string kind(Name(report.outcome.kind));
    const std::string detail = report.outcome.detail.empty() ? "" : ": " + report.outcome.detail;
    const std::vector<std::size_t> faulty = FaultyArms(order, report);
    std::string whose;
    for (const std::size_t i : faulty) {
      whose += (whose.empty() ? " of " : " or ") + result.arms[arms[i]].label;
    }
    // Of several of a role that nothing tells apart none is called faulty.
    if (faulty.size() == 1) {
      BenchArm& arm = result.arms[arms[faulty.front()]];
      if (faulty.front() < report.checks.size()) arm.check = report.checks[faulty.front()];
      Fail(arm, report.outcome.kind, kind + detail);
    }
    std::vector<std::size_t> visited;
    for (const RoundPlan& plan : order.rounds) {
      for (const VisitPlan& visit : plan.visits) visited.push_back(arms[visit.arm]);
    }
    LoseRound(visited, round, kind + whose + detail, result);
    return;
  }
  const std::vector<TimedArm> timed = TimedArms(order, report);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    BenchArm& arm = result.arms[arms[i]];
    if (timed[i].check) arm.check = timed[i].check;
    if (timed[i].timed()) {
      arm.rounds.push_back({round, timed[i].us.front(), timed[i].clock_mhz.front()});
    }
  }
}

void LoseRound(const std::vector<std::size_t>& arms, std::uint32_t round, const std::string& why,
               BenchResult& result) {
  for (const std::size_t at : arms) {
    if (BenchArm& arm = result.arms[at]; arm.live()) arm.lost.push_back({round, why});
  }
}

void FailUntimed(BenchResult& result) {
  for (BenchArm& arm : result.arms) {
    if (!arm.live() || !arm.rounds.empty() || arm.lost.empty()) continue;
    arm.state = ArmState::kFailed;
    arm.why = "every round was lost; the last: " + arm.lost.back().why;
  }
}

std::vector<double> RatiosToCommitted(const BenchResult& result, const BenchArm& arm) {
  std::vector<double> ratios;
  for (const BenchRound& control : result.arms.front().rounds) {
    for (const BenchRound& round : arm.rounds) {
      if (round.round == control.round) ratios.push_back(round.us / control.us);
    }
  }
  return ratios;
}

std::optional<double> RatioToCommitted(const BenchResult& result, const BenchArm& arm) {
  std::vector<double> ratios = RatiosToCommitted(result, arm);
  if (ratios.empty()) return std::nullopt;
  return MedianOf(std::move(ratios));
}

bool AnyFailed(const BenchResult& result) {
  return std::any_of(result.arms.begin(), result.arms.end(), [](const BenchArm& arm) {
    return arm.state == ArmState::kFailed || arm.state == ArmState::kWrong || !arm.lost.empty();
  });
}

}  // namespace pawl
