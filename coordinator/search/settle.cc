#include "coordinator/search/settle.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "schema/check.h"

namespace pawl {
namespace {

constexpr std::uint32_t kFaultsAllowed = 1;

bool WorthMeasuringAgain(Reason reason) {
  return reason == Reason::kControlDrift || reason == Reason::kThrottled ||
         reason == Reason::kDeviceFault;
}

Decision VoidDecision(Reason reason, std::string detail) {
  Decision decision;
  decision.verdict = Verdict::kVoid;
  decision.reason = reason;
  decision.detail = std::move(detail);
  return decision;
}

Decided Settled(const OpenGeneration& open, Decision decision, const SettleLimits& limits) {
  Decided decided;
  decided.generation = open.proposed.generation;
  decided.again = decision.verdict == Verdict::kVoid && WorthMeasuringAgain(decision.reason) &&
                  open.voids < limits.max_voids;
  decided.decision = std::move(decision);
  return decided;
}

std::string Twice(const OpenGeneration& open) {
  std::string workers;
  for (const WorkerId& worker : open.faulted_on) {
    workers += (workers.empty() ? "" : ", ") + worker.value;
  }
  return "twice (on " + workers + ")";
}

std::string Reworded(const std::string& how, const Outcome& outcome) {
  return how + (outcome.detail.empty() ? "" : ": " + outcome.detail);
}

Decision FaultDecision(const OpenGeneration& open) {
  const Outcome& fault = *open.fault;
  if (!fault.arm) {
    return VoidDecision(
        Reason::kDeviceFault,
        Reworded("runner " + std::string(Name(fault.kind)) + " outside any arm", fault));
  }
  Decision decision = DecisionOf(fault);
  if (*fault.arm == ArmRole::kCandidate) decision.detail = Reworded(Twice(open), fault);
  return decision;
}

constexpr char kNoOrder[] = "no order can be made: ";

std::string Count(std::uint32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::variant<AskAttempt, Decided> NextStep(const OpenGeneration& open, const Policy& policy,
                                           const SettleLimits& limits) {
  CHECK(!open.attempt, "generation", open.proposed.generation.value, "is being measured");
  if (!open.proposed.violations.empty()) {
    Decision decision;
    decision.verdict = Verdict::kReject;
    decision.reason = Reason::kGeometry;
    for (const std::string& violation : open.proposed.violations) {
      decision.detail += (decision.detail.empty() ? "" : "; ") + violation;
    }
    return Settled(open, std::move(decision), limits);
  }
  if (open.fault) {
    if (open.fault->arm == ArmRole::kCandidate && open.faults <= kFaultsAllowed) {
      return AskAttempt{true};
    }
    return Settled(open, FaultDecision(open), limits);
  }
  if (open.lost >= limits.max_lost) {
    return Settled(open, VoidDecision(Reason::kWorkerLost, Count(open.lost, "attempt") + " lost"),
                   limits);
  }
  if (!open.reports.empty()) {
    auto decided = policy.Decide(open.reports);
    if (auto* decision = std::get_if<Decision>(&decided)) {
      return Settled(open, std::move(*decision), limits);
    }
  }
  return AskAttempt{open.faults > 0};
}

std::variant<AskAttempt, Confirmed> NextConfirmStep(const Workshop& workshop, const Track& track,
                                                    const SettleLimits& limits) {
  const OpenGeneration& open = track.confirmation.value();
  CHECK(!open.attempt, "confirmation", open.proposed.generation.value, "is being measured");
  Confirmed failed;
  failed.number = open.proposed.generation.value;
  failed.incumbent = open.proposed.incumbent;
  if (open.fault && open.faults > kFaultsAllowed) {
    failed.detail = Reworded(std::string(Name(open.fault->kind)) + " " + Twice(open), *open.fault);
    return failed;
  }
  if (open.lost >= limits.max_lost) {
    failed.detail = Count(open.lost, "attempt") + " lost";
    return failed;
  }
  if (open.reports.empty()) return AskAttempt{true};
  const Report& report = open.reports.back();
  const OutcomeKind kind = report.outcome.kind;
  const bool passing = kind == OutcomeKind::kThrottled || kind == OutcomeKind::kDeviceFault;
  if (passing && open.reports.size() <= limits.max_voids) return AskAttempt{true};
  if (std::count_if(open.reports.begin(), open.reports.end(), BlamesBeside) == 1 &&
      BlamesBeside(report)) {
    return AskAttempt{true};  // without what is beside
  }
  return ConfirmedFrom(ConfirmPlanOf(workshop, track, report), report, failed.number,
                       failed.incumbent);
}

OrderPlan ConfirmPlanOf(const Workshop& workshop, const Track& track, const Report& report) {
  OrderPlan with = ConfirmPlan(workshop, track, true);
  return report.arms.size() == with.arms.size() ? with : ConfirmPlan(workshop, track, false);
}

std::string AtEndOfReplay(Generation generation) {
  return "the replay has no record of generation " + std::to_string(generation.value) +
         "'s configuration";
}

std::optional<std::string> WhyEnds(const TrackState& state, const Budget& budget) {
  if (budget.generations != 0 && state.last.value >= budget.generations) {
    return "generation limit " + std::to_string(budget.generations) + " reached";
  }
  if (budget.stale != 0 && state.stale >= budget.stale) {
    return Count(state.stale, "rejection") + " in a row";
  }
  if (budget.minutes > 0 && state.worker_seconds >= budget.minutes * 60) {
    char figure[32];
    std::snprintf(figure, sizeof figure, "%g", budget.minutes);
    return std::string(figure) + " minutes of worker time spent";
  }
  return std::nullopt;
}

Decided WithoutOrder(const OpenGeneration& open, const std::string& problem) {
  Decided decided;
  decided.generation = open.proposed.generation;
  decided.decision = VoidDecision(Reason::kDeviceFault, kNoOrder + problem);
  return decided;
}

Confirmed ConfirmedWithoutOrder(const OpenGeneration& open, const std::string& problem) {
  Confirmed confirmed;
  confirmed.number = open.proposed.generation.value;
  confirmed.incumbent = open.proposed.incumbent;
  confirmed.detail = kNoOrder + problem;
  return confirmed;
}

bool IsWithoutOrder(const std::string& detail) { return detail.starts_with(kNoOrder); }

std::optional<std::string> WhyBroken(const OpenGeneration& open, const Decision& decision) {
  if (decision.reason != Reason::kDeviceFault || open.reports.empty()) return std::nullopt;
  const Outcome& outcome = open.reports.back().outcome;
  if (!outcome.arm || *outcome.arm == ArmRole::kCandidate) return std::nullopt;
  switch (outcome.kind) {
    case OutcomeKind::kBuildFailed:
    case OutcomeKind::kLaunchFailed:
    case OutcomeKind::kWrongOutput:
      return decision.detail;
    default:
      return std::nullopt;
  }
}

bool DataExhausted(const OpenGeneration& open) {
  return !open.reports.empty() && open.reports.back().data_exhausted &&
         open.reports.back().outcome.kind == OutcomeKind::kNoData;
}

}  // namespace pawl
