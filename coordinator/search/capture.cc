#include "coordinator/search/capture.h"

#include <algorithm>
#include <utility>

#include "coordinator/search/answers.h"

namespace pawl {
namespace {

std::vector<RoundPlan> CaptureRounds(std::uint32_t arms) {
  std::vector<RoundPlan> rounds;
  for (std::uint32_t round = 0; round < 1 + kCaptureRounds; ++round) {
    RoundPlan plan;
    plan.recorded = round > 0;
    const std::uint32_t turn = round == 0 ? 0 : round - 1;
    for (std::uint32_t i = 0; i < arms; ++i) plan.visits.push_back({(i + turn) % arms, 0});
    rounds.push_back(std::move(plan));
  }
  return rounds;
}

// As the track is served, but for the instrument.
std::optional<std::string> WhyNotCapture(const DeviceFacts& device, TrackSpec spec,
                                         const Structure& structure) {
  const Instrument second = SecondInstrument(spec.instrument);
  const std::vector<Instrument>& have = device.instruments;
  if (device.model == spec.device_model &&
      std::find(have.begin(), have.end(), second) == have.end()) {
    return "a capture of this track is by " + std::string(Name(second)) + ", which device " +
           device.model + (device.kind == "replay" ? " (replayed)" : "") + " has not";
  }
  spec.instrument = second;
  if (const auto why = WhyNotServe(device, spec, structure)) return "the track " + *why;
  return std::nullopt;
}

}  // namespace

Instrument SecondInstrument(Instrument first) {
  switch (first) {
    case Instrument::kCpuTime:
      return Instrument::kWallTime;
    case Instrument::kWallTime:
      return Instrument::kCpuTime;
    case Instrument::kEventSpan:
    case Instrument::kGraphTime:
      return Instrument::kKernelTime;
    case Instrument::kKernelTime:
      return Instrument::kGraphTime;
  }
  CHECK(false, static_cast<int>(first));
}

Result<Order> CaptureOrder(const Workshop& workshop, const TrackSpec& spec,
                           const std::vector<CaptureArm>& arms) {
  Order order = workshop.base;
  order.kind = OrderKind::kMeasure;
  order.fresh_process = true;
  order.input_seeds.resize(1);
  order.timing.instrument = SecondInstrument(spec.instrument);
  order.timing.iterations = kCaptureIterations;
  const auto flops = FlopsAt(*workshop.operation, spec.shape);
  if (!flops) return flops.error();
  const auto bytes = BytesAt(*workshop.operation, spec.shape);
  if (!bytes) return bytes.error();
  order.deadlines = DeadlinesFor(spec.deadlines, *flops, *bytes, order.timing);
  const Arm committed = order.arms.front();
  order.arms.clear();
  for (const CaptureArm& arm : arms) {
    if (arm.role == ArmRole::kCommitted) {
      order.arms.push_back(committed);
    } else {
      Status added = AddConfigured(order, workshop, arm.role, arm.configuration);
      if (!added) return added.error();
    }
    order.arms.back().label = arm.label;
  }
  order.rounds = CaptureRounds(static_cast<std::uint32_t>(arms.size()));
  if (Status same = CheckSameInputs(order); !same) return same.error();
  return order;
}

Status CheckSameInputs(const Order& order) {
  for (std::size_t round = 0; round < order.rounds.size(); ++round) {
    std::vector<std::uint32_t> times(order.arms.size());
    const std::vector<VisitPlan>& visits = order.rounds[round].visits;
    for (const VisitPlan& visit : visits) {
      const std::string where =
          "round " + std::to_string(round + 1) + ": " + order.arms[visit.arm].label;
      if (visit.input_set != visits.front().input_set) {
        return Error{where + " sees input set " + std::to_string(visit.input_set) + ", " +
                     order.arms[visits.front().arm].label + " sees " +
                     std::to_string(visits.front().input_set)};
      }
      if (++times[visit.arm] > 1) return Error{where + " is visited twice"};
    }
    for (std::size_t arm = 0; arm < times.size(); ++arm) {
      if (times[arm] > 0) continue;
      return Error{"round " + std::to_string(round + 1) + ": " + order.arms[arm].label +
                   " is not visited"};
    }
  }
  return {};
}

ErrandList CaptureErrands(const Workshop& workshop, const TrackSpec& spec,
                          const std::vector<CaptureArm>& arms) {
  ErrandList list;
  list.kind = OrderKind::kMeasure;
  list.count = 1;
  list.make = [&](std::size_t, Attempt, const DeviceFacts&) {
    return CaptureOrder(workshop, spec, arms);
  };
  list.why_not = [&](const DeviceFacts& device) {
    return WhyNotCapture(device, spec, *workshop.structure);
  };
  return list;
}

}  // namespace pawl
