#include "worker/device/cuda/order_rules.h"

#include <algorithm>
#include <string>

namespace pawl {
namespace {

constexpr std::size_t kMaxArguments = 64;

Status ValidateArguments(const Order& order, const Arm& arm, const Launch& launch) {
  const auto refuse = [&](const std::string& what) {
    return Error{"cuda: arm " + arm.label + what, Advice::kReject};
  };
  if (launch.arguments.size() > kMaxArguments) {
    return refuse(" has a launch of " + std::to_string(launch.arguments.size()) + " arguments, " +
                  std::to_string(kMaxArguments) + " are the most");
  }
  for (const Argument& argument : launch.arguments) {
    std::size_t count = 0;
    switch (argument.kind) {
      case Argument::Kind::kBuffer:
        count = order.buffers.size();
        break;
      case Argument::Kind::kScalar:
        count = order.scalars.size();
        break;
      case Argument::Kind::kScratch:
        count = arm.scratch.size();
        break;
    }
    if (argument.index >= count) return refuse(" has an argument out of range");
  }
  if (launch.kind == LaunchKind::kMemset &&
      (launch.arguments.size() != 1 || launch.arguments[0].kind == Argument::Kind::kScalar)) {
    return refuse(" has a fill of something that is no memory");
  }
  return {};
}

}  // namespace

Digest CudaCheckKey(const Order& order, const Arm& arm) {
  Hasher hasher;
  const double bounds[] = {order.check.rtol, order.check.atol};
  hasher.Field("cuda check 1").Field(order.sources[*order.check.reference].digest.Hex());
  hasher.Field({reinterpret_cast<const char*>(bounds), sizeof bounds});
  for (const Buffer& buffer : order.buffers) {
    const double fill[] = {buffer.fill.a, buffer.fill.b};
    hasher.Field(buffer.name).Field(Name(buffer.dtype));
    hasher.Field(buffer.role == BufferRole::kInput ? "input" : "output");
    hasher.Field(std::to_string(static_cast<int>(buffer.fill.kind)));
    hasher.Field({reinterpret_cast<const char*>(fill), sizeof fill});
    for (const std::int64_t extent : buffer.extents) hasher.Field(std::to_string(extent));
  }
  for (const Scalar& scalar : order.scalars) hasher.Field(std::to_string(scalar.value));
  for (const std::uint64_t seed : order.input_seeds) hasher.Field(std::to_string(seed));
  hasher.Field(std::to_string(order.check.hidden_seed));
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
  const auto refuse = [](const std::string& what) {
    return Error{"cuda: " + what, Advice::kReject};
  };
  if (order.backend != "cuda") {
    return refuse("an order for the backend '" + order.backend + "', this device runs 'cuda'");
  }
  const bool timed = !order.rounds.empty();
  if (timed && std::find(instruments.begin(), instruments.end(), order.timing.instrument) ==
                   instruments.end()) {
    std::string have;
    for (const Instrument instrument : instruments) {
      have += (have.empty() ? "" : ", ") + std::string(Name(instrument));
    }
    return refuse("no instrument " + std::string(Name(order.timing.instrument)) +
                  " (have: " + have + ")");
  }
  if (timed && order.timing.iterations == 0) return refuse("an order with no timed iterations");
  for (const Arm& arm : order.arms) {
    if (!arm.source || *arm.source >= order.sources.size() || arm.launches.empty()) {
      return refuse("arm " + arm.label +
                    " has no source or no launch; only a replay can answer it");
    }
    for (const Launch& launch : arm.launches) {
      if (Status valid = ValidateArguments(order, arm, launch); !valid) return valid;
    }
  }
  for (const RoundPlan& round : order.rounds) {
    for (const VisitPlan& visit : round.visits) {
      if (visit.arm >= order.arms.size() || visit.input_set >= order.input_seeds.size()) {
        return refuse("a visit of arm " + std::to_string(visit.arm) + " on input set " +
                      std::to_string(visit.input_set) + ", which the order does not have");
      }
    }
  }
  return {};
}

}  // namespace pawl
