#include "coordinator/search/policy.h"

#include "schema/check.h"

namespace pawl {
namespace {

Reason ReasonOf(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kMeasured: break;
    case OutcomeKind::kBuildFailed: return Reason::kBuild;
    case OutcomeKind::kLaunchFailed: return Reason::kLaunch;
    case OutcomeKind::kCrashed: return Reason::kCrashed;
    case OutcomeKind::kHung: return Reason::kHung;
    case OutcomeKind::kWrongOutput: return Reason::kWrongOutput;
    case OutcomeKind::kThrottled: return Reason::kThrottled;
    case OutcomeKind::kDeviceFault: return Reason::kDeviceFault;
    case OutcomeKind::kNoData: return Reason::kNoData;
  }
  CHECK(false, Name(kind), "needs a policy's decision");
}

}  // namespace

Decision DecisionOf(const Outcome& outcome) {
  Decision decision;
  decision.reason = ReasonOf(outcome.kind);
  decision.verdict = VerdictOf(decision.reason);
  decision.detail = outcome.detail;
  return decision;
}

}  // namespace pawl
