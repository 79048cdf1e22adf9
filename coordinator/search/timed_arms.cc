#include "coordinator/search/timed_arms.h"

#include <algorithm>

#include "schema/check.h"

namespace pawl {
namespace {

std::string LabelsOf(const Order& order, const std::vector<std::size_t>& arms) {
  std::string labels;
  for (const std::size_t arm : arms) {
    labels += (labels.empty() ? "" : " or ") + order.arms[arm].label;
  }
  return labels;
}

}  // namespace

double MedianOf(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<TimedArm> TimedArms(const Order& order, const Report& report) {
  std::vector<TimedArm> arms;
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    TimedArm arm;
    arm.label = order.arms[i].label;
    arm.role = order.arms[i].role;
    arm.configuration = order.arms[i].configuration;
    if (i < report.builds.size() && report.builds[i].arm == arm.role) arm.build = report.builds[i];
    if (i < report.checks.size() && report.checks[i].arm == arm.role) arm.check = report.checks[i];
    for (const RoundMedians& round : report.rounds) {
      for (const VisitMedian& visit : round.visits) {
        if (visit.arm != i) continue;
        arm.us.push_back(visit.median_us);
        arm.clock_mhz.push_back(visit.clock_mhz);
        arm.input_sets.push_back(visit.input_set);
      }
    }
    if (arm.timed()) {
      arm.median_us = MedianOf(arm.us);
      arm.least_us = *std::min_element(arm.us.begin(), arm.us.end());
      arm.most_us = *std::max_element(arm.us.begin(), arm.us.end());
    }
    arms.push_back(std::move(arm));
  }
  return arms;
}

std::vector<std::size_t> FaultyArms(const Order& order, const Report& report) {
  if (!report.outcome.arm) return {};
  const auto is_it = [&](std::size_t arm) {
    return arm < order.arms.size() && order.arms[arm].role == *report.outcome.arm;
  };
  // Devices build and check arm by arm and stop at the first that fails.
  if (report.outcome.kind == OutcomeKind::kBuildFailed && !report.builds.empty() &&
      is_it(report.builds.size() - 1)) {
    return {report.builds.size() - 1};
  }
  for (std::size_t arm = 0; arm < report.checks.size(); ++arm) {
    if (!report.checks[arm].passed && is_it(arm)) return {arm};
  }
  std::vector<std::size_t> arms;
  for (std::size_t arm = 0; arm < order.arms.size(); ++arm) {
    if (is_it(arm)) arms.push_back(arm);
  }
  return arms;
}

std::optional<std::string> WhyNotTimed(const Order& order, const Report& report) {
  if (report.outcome.kind != OutcomeKind::kMeasured) {
    const std::string arm = LabelsOf(order, FaultyArms(order, report));
    std::string why(Name(report.outcome.kind));
    if (!arm.empty()) why += " of " + arm;
    if (!report.outcome.detail.empty()) why += ": " + report.outcome.detail;
    return why;
  }
  for (const TimedArm& arm : TimedArms(order, report)) {
    if (order.check.reference && (!arm.check || arm.check->elements == 0)) {
      return "nothing of " + arm.label + " was compared with the reference";
    }
    if (!arm.timed()) return arm.label + " has no time";
  }
  return std::nullopt;
}

}  // namespace pawl
