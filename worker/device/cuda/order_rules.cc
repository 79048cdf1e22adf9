#include "worker/device/cuda/order_rules.h"

#include <algorithm>
#include <string>

#include "worker/device/cuda/nvml.h"
#include "worker/device/median.h"
#include "worker/device/order_rules.h"

namespace pawl {
namespace {

constexpr std::size_t kMaxArguments = 64;
constexpr std::uint64_t kThrottles = kClockReasonHwSlowdown | kClockReasonHwThermal |
                                     kClockReasonSwThermal | kClockReasonHwPowerBrake |
                                     kClockReasonSwPowerCap;
// A visit is void when a throttle is on and its clock is this far below the order's highest.
constexpr double kClockDrop = 0.03;
// A candidate's share of the incumbent's time below which a policy may keep it.
constexpr double kWorthCapturing = 0.995;

}  // namespace

Digest CudaCheckKey(const Order& order, const Arm& arm) {
  Hasher hasher;
  hasher.Field("cuda check 2");
  AddCheck(order, hasher);
  for (const Launch& launch : arm.launches) {
    hasher.Field(launch.kernel).Field(std::to_string(launch.byte));
    for (const auto* sides : {&launch.grid, &launch.block, &launch.cluster}) {
      for (const std::uint32_t side : *sides) hasher.Field(std::to_string(side));
    }
    hasher.Field(std::to_string(launch.dynamic_shared_bytes));
    for (const Argument& argument : launch.arguments) {
      hasher.Field(std::to_string(static_cast<int>(argument.kind)));
      hasher.Field(std::to_string(argument.index));
    }
  }
  for (const Scratch& scratch : arm.scratch) hasher.Field(std::to_string(scratch.elements));
  return hasher.Finish();
}

Status ValidateCudaOrder(const Order& order, const std::vector<Instrument>& instruments) {
  if (Status valid = ValidateArms(order, "cuda", "cuda"); !valid) return valid;
  if (Status valid = ValidateTiming(order, "cuda", instruments); !valid) return valid;
  for (const Arm& arm : order.arms) {
    const auto refuse = [&](const std::string& what) {
      return Error{"cuda: arm " + arm.label + what, Advice::kReject};
    };
    for (const Launch& launch : arm.launches) {
      if (launch.arguments.size() > kMaxArguments) {
        return refuse(" has a launch of " + std::to_string(launch.arguments.size()) +
                      " arguments, " + std::to_string(kMaxArguments) + " are the most");
      }
      if (launch.kind == LaunchKind::kMemset &&
          (launch.arguments.size() != 1 || launch.arguments[0].kind == Argument::Kind::kScalar)) {
        return refuse(" has a fill of something that is no memory");
      }
    }
  }
  return {};
}

bool WorthCapturing(const Order& order, const Report& report, const std::vector<Instrument>& have) {
  if (order.timing.instrument == Instrument::kKernelTime ||
      std::find(have.begin(), have.end(), Instrument::kKernelTime) == have.end()) {
    return false;
  }
  if (order.kind == OrderKind::kConfirm) return true;
  std::vector<double> candidate, incumbent;
  for (const RoundMedians& round : report.rounds) {
    for (const VisitMedian& visit : round.visits) {
      const ArmRole role = order.arms[visit.arm].role;
      if (role == ArmRole::kCandidate) candidate.push_back(visit.median_us);
      if (role == ArmRole::kIncumbent) incumbent.push_back(visit.median_us);
    }
  }
  return !candidate.empty() && !incumbent.empty() &&
         Median(candidate) < kWorthCapturing * Median(incumbent);
}

std::optional<Outcome> JudgeClocks(const Report& report) {
  const std::uint64_t reasons = report.conditions.clock_reasons & kThrottles;
  if (reasons == 0) return std::nullopt;
  double lowest = 0, highest = 0;
  for (const RoundMedians& round : report.rounds) {
    for (const VisitMedian& visit : round.visits) {
      if (visit.clock_mhz <= 0) continue;
      lowest = lowest > 0 ? std::min(lowest, visit.clock_mhz) : visit.clock_mhz;
      highest = std::max(highest, visit.clock_mhz);
    }
  }
  if (highest <= 0 || lowest >= highest * (1 - kClockDrop)) return std::nullopt;
  return Outcome{OutcomeKind::kThrottled, std::nullopt,
                 "visits ran at " + std::to_string(static_cast<int>(lowest)) + " to " +
                     std::to_string(static_cast<int>(highest)) +
                     " MHz: " + DescribeClockReasons(reasons)};
}

}  // namespace pawl
