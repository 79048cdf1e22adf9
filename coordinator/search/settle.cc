#include "coordinator/search/settle.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "coordinator/search/figures.h"
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

std::string IncumbentOf(Generation since) {
  return since == Generation(0) ? "the start configuration"
                                : "generation " + std::to_string(since.value) + "'s incumbent";
}

// Of reports against an incumbent that has been replaced. `decision`: the keep that they would be;
// none: the policy asks for more of them.
Decided Superseded(const TrackState& now, const OpenGeneration& open,
                   std::optional<Decision> decision) {
  const OpenAttempt& evidence = *open.Evidence();
  Decided decided;
  decided.generation = open.proposed.generation;
  decided.again = true;
  const std::string old = IncumbentOf(evidence.incumbent_since);
  const std::string replaced = IncumbentOf(now.incumbent_since) + " replaced it";
  if (!decision) {
    decided.decision =
        VoidDecision(Reason::kSuperseded, "not decided against " + old + " when " + replaced);
    return decided;
  }
  decided.decision = *std::move(decision);
  const double ratio = decided.decision.ratio.value();
  const double since = now.gain / evidence.gain;
  decided.again = ratio < since;
  decided.decision.verdict = Verdict::kVoid;
  decided.decision.reason = Reason::kSuperseded;
  decided.decision.detail = "ratio " + Fixed(ratio, 4) + " against " + old + "; " + replaced +
                            " at " + Fixed(since, 4) + " of its time";
  if (!decided.again) decided.decision.detail += ", which it does not beat";
  return decided;
}

constexpr char kNoOrder[] = "no order can be made: ";

std::string Count(std::uint32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::variant<AskAttempt, Decided> NextStep(const Track& track, const OpenGeneration& open,
                                           const Policy& policy, const SettleLimits& limits) {
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
  const OpenAttempt* evidence = open.Evidence();
  const bool replaced = evidence != nullptr && evidence->incumbent != track.state.incumbent;
  if (open.fault) {
    if (open.fault->arm == ArmRole::kCandidate && open.faults <= kFaultsAllowed) {
      // The batch is not tried again against another incumbent than those before it.
      if (replaced) return Superseded(track.state, open, std::nullopt);
      return AskAttempt{true};
    }
    return Settled(open, FaultDecision(open), limits);
  }
  if (open.lost >= limits.max_lost) {
    return Settled(open, VoidDecision(Reason::kWorkerLost, Count(open.lost, "attempt") + " lost"),
                   limits);
  }
  if (evidence == nullptr) return AskAttempt{open.faults > 0};
  auto decided = policy.Decide(open.reports);
  auto* decision = std::get_if<Decision>(&decided);
  if (replaced) {
    if (decision == nullptr) return Superseded(track.state, open, std::nullopt);
    if (decision->verdict == Verdict::kKeep) return Superseded(track.state, open, *decision);
  }
  if (decision == nullptr) return AskAttempt{open.faults > 0};
  if (evidence->incumbent != open.proposed.incumbent) {
    decision->detail += (decision->detail.empty() ? "" : "; ") +
                        ("against " + IncumbentOf(evidence->incumbent_since));
  }
  return Settled(open, std::move(*decision), limits);
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

}  // namespace pawl
