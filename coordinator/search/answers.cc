#include "coordinator/search/answers.h"

#include <algorithm>
#include <cmath>

namespace pawl {
namespace {

using Why = std::optional<std::string>;

std::string Roles(const std::vector<ArmRole>& roles) {
  std::string text;
  for (const ArmRole role : roles) text += (text.empty() ? "" : ", ") + std::string(Name(role));
  return text.empty() ? "none" : text;
}

Why WhyNotRounds(const OrderPlan& plan, const Report& report, bool whole) {
  std::vector<const RoundPlan*> recorded;
  for (const RoundPlan& round : plan.rounds) {
    if (round.recorded) recorded.push_back(&round);
  }
  const std::size_t count = report.rounds.size();
  if (whole ? count != recorded.size() : count > recorded.size()) {
    return "reports " + std::to_string(count) + " rounds of " + std::to_string(recorded.size());
  }
  for (std::size_t r = 0; r < count; ++r) {
    const std::string round = "round " + std::to_string(r + 1);
    const std::vector<VisitPlan>& asked = recorded[r]->visits;
    const std::vector<VisitMedian>& visits = report.rounds[r].visits;
    if (whole ? visits.size() != asked.size() : visits.size() > asked.size()) {
      return round + " has " + std::to_string(visits.size()) + " visits of " +
             std::to_string(asked.size());
    }
    for (std::size_t v = 0; v < visits.size(); ++v) {
      if (visits[v].arm != asked[v].arm || visits[v].input_set != asked[v].input_set) {
        return round + " visit " + std::to_string(v + 1) + " is of another arm or input set";
      }
      if (!std::isfinite(visits[v].median_us) || visits[v].median_us <= 0) {
        return round + " visit " + std::to_string(v + 1) + " took " +
               std::to_string(visits[v].median_us) + " us";
      }
    }
  }
  return std::nullopt;
}

Why WhyNotChecked(const OrderPlan& plan, const Report& report) {
  const ArmRole judged =
      report.kind == OrderKind::kMeasure ? ArmRole::kCandidate : ArmRole::kIncumbent;
  bool passed = false;
  for (const CheckFacts& check : report.checks) {
    if (!check.passed) {
      return "measured although the check of " + std::string(Name(check.arm)) +
             " failed: " + check.detail;
    }
    passed = passed || (check.arm == judged && check.elements > 0);
  }
  if (plan.checked && report.batch == 0 && !passed) {
    return "measured without a check of " + std::string(Name(judged));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyNotAnswer(const OrderPlan& plan, const Report& report) {
  const bool measured = report.outcome.kind == OutcomeKind::kMeasured;
  // What failed before anything ran need not name the arms.
  const bool nothing_ran = !measured && report.arms.empty() && report.rounds.empty();
  if (report.arms != plan.arms && !nothing_ran) {
    return "reports arms " + Roles(report.arms) + ", ordered were " + Roles(plan.arms);
  }
  if (report.outcome.arm &&
      std::find(plan.arms.begin(), plan.arms.end(), *report.outcome.arm) == plan.arms.end()) {
    return "blames arm " + std::string(Name(*report.outcome.arm)) + ", ordered were " +
           Roles(plan.arms);
  }
  if (const Why why = WhyNotRounds(plan, report, measured)) return why;
  if (measured) return WhyNotChecked(plan, report);
  return std::nullopt;
}

std::optional<std::string> WhyNotPinned(const DeviceFacts& device, bool require_pinned) {
  // A recording has been made at the clocks it was made at.
  if (!require_pinned || !device.needs_source || device.pinned_mhz != 0) return std::nullopt;
  std::string why = "wants pinned clocks (clocks = \"require-pinned\"), ";
  if (device.kind != "cuda") {
    why.append("which a ").append(device.kind).append(" device does not have");
  } else {
    why += "this worker observes them; start it with --clocks pin";
  }
  return why;
}

std::optional<std::string> WhyNotServe(const DeviceFacts& device, const TrackSpec& spec,
                                       const Structure& structure) {
  if (device.model != spec.device_model) {
    return "wants device '" + spec.device_model + "', this is '" + device.model + "'";
  }
  if (device.toolchain != spec.toolchain) {
    return "wants toolchain '" + spec.toolchain + "', this is '" + device.toolchain + "'";
  }
  if (!device.backend.empty() && device.backend != spec.backend) {
    return "wants backend " + spec.backend + ", this is " + device.backend;
  }
  if (std::find(device.instruments.begin(), device.instruments.end(), spec.instrument) ==
      device.instruments.end()) {
    return "wants instrument " + std::string(Name(spec.instrument)) + ", which it has not";
  }
  if (device.needs_source && structure.source.empty()) {
    return "structure " + structure.name + " has no source, so only a replay can measure it";
  }
  return WhyNotPinned(device, spec.require_pinned);
}

}  // namespace pawl
