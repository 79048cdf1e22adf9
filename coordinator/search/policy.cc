#include "coordinator/search/policy.h"

#include "coordinator/search/parameters.h"
#include "coordinator/search/policy/field_note.h"
#include "schema/check.h"

namespace pawl {
namespace {

Reason ReasonOf(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kMeasured:
      break;
    case OutcomeKind::kBuildFailed:
      return Reason::kBuild;
    case OutcomeKind::kLaunchFailed:
      return Reason::kLaunch;
    case OutcomeKind::kCrashed:
      return Reason::kCrashed;
    case OutcomeKind::kHung:
      return Reason::kHung;
    case OutcomeKind::kWrongOutput:
      return Reason::kWrongOutput;
    case OutcomeKind::kThrottled:
      return Reason::kThrottled;
    case OutcomeKind::kDeviceFault:
      return Reason::kDeviceFault;
    case OutcomeKind::kNoData:
      return Reason::kNoData;
  }
  CHECK(false, Name(kind), "needs a policy's decision");
}

}  // namespace

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name, const Parameters& parameters) {
  if (name == "field_note") return FieldNote::Make(parameters);
  return UnknownName("policy", name, {"field_note"});
}

Decision DecisionOf(const Outcome& outcome) {
  Decision decision;
  decision.reason = ReasonOf(outcome.kind);
  decision.verdict = VerdictOf(decision.reason);
  decision.detail = outcome.detail;
  const bool candidates = !outcome.arm || *outcome.arm == ArmRole::kCandidate;
  if (decision.verdict == Verdict::kReject && !candidates) {
    // What broke ran, or was kept, before: nothing is learnt about the candidate.
    decision.detail = std::string(Name(*outcome.arm)) + ": " + std::string(Name(outcome.kind)) +
                      (outcome.detail.empty() ? "" : ": " + outcome.detail);
    decision.reason = Reason::kDeviceFault;
    decision.verdict = Verdict::kVoid;
  }
  return decision;
}

}  // namespace pawl
