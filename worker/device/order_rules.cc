#include "worker/device/order_rules.h"

#include <algorithm>

namespace pawl {
namespace {

std::string_view Bytes(const double& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

bool PointsAtSomething(const Argument& argument, const Order& order, const Arm& arm) {
  switch (argument.kind) {
    case Argument::Kind::kBuffer:
      return argument.index < order.buffers.size();
    case Argument::Kind::kScalar:
      return argument.index < order.scalars.size();
    case Argument::Kind::kScratch:
      return argument.index < arm.scratch.size();
  }
  return false;
}

}  // namespace

Status ValidateArms(const Order& order, const std::string& device, const std::string& backend) {
  const auto refuse = [&](const std::string& what) {
    return Error{device + ": " + what, Advice::kReject};
  };
  if (order.backend != backend) {
    return refuse("an order for the backend '" + order.backend + "', this device runs '" + backend +
                  "'");
  }
  for (const Arm& arm : order.arms) {
    if (!arm.source || *arm.source >= order.sources.size() || arm.launches.empty()) {
      return refuse("arm " + arm.label +
                    " has no source or no launch; only a replay can answer it");
    }
    for (const Launch& launch : arm.launches) {
      for (const Argument& argument : launch.arguments) {
        if (!PointsAtSomething(argument, order, arm)) {
          return refuse("arm " + arm.label + " has an argument out of range");
        }
      }
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

Status ValidateTiming(const Order& order, const std::string& device,
                      const std::vector<Instrument>& have) {
  if (order.rounds.empty()) return {};
  if (std::find(have.begin(), have.end(), order.timing.instrument) == have.end()) {
    std::string list;
    for (const Instrument instrument : have) {
      list += (list.empty() ? "" : ", ") + std::string(Name(instrument));
    }
    return Error{device + ": no instrument " + std::string(Name(order.timing.instrument)) +
                     " (have: " + list + ")",
                 Advice::kReject};
  }
  if (order.timing.iterations == 0) {
    return Error{device + ": an order with no timed iterations", Advice::kReject};
  }
  return {};
}

Error TooLarge(const std::string& device, const Order& order, std::uint64_t bytes,
               std::uint64_t allowed) {
  return Error{device + ": " + order.operation + " needs " + std::to_string(bytes >> 20) +
                   " MiB for its buffers, input sets and references; a runner may take " +
                   std::to_string(allowed >> 20) + " MiB: give it a smaller shape",
               Advice::kReject};
}

void AddProblem(const Order& order, Hasher& hasher) {
  hasher.Field(order.sources[*order.check.reference].digest.Hex());
  for (const HeaderText& header : order.headers) {  // which the reference is compiled with
    hasher.Field(header.name).Field(header.digest.Hex());
  }
  for (const Buffer& buffer : order.buffers) {
    hasher.Field(buffer.name).Field(Name(buffer.dtype));
    hasher.Field(buffer.role == BufferRole::kInput ? "input" : "output");
    for (const std::int64_t extent : buffer.extents) hasher.Field(std::to_string(extent));
    hasher.Field(std::to_string(static_cast<int>(buffer.fill.kind)));
    hasher.Field(Bytes(buffer.fill.a)).Field(Bytes(buffer.fill.b));
  }
  for (const Scalar& scalar : order.scalars) {
    hasher.Field(scalar.name).Field(std::to_string(scalar.value));
  }
}

Digest InputSetKey(const Order& order, const std::string& device, std::uint64_t seed,
                   bool sibling) {
  Hasher hasher;
  hasher.Field(device + " input set 2");
  AddProblem(order, hasher);
  hasher.Field(std::to_string(seed)).Field(sibling ? "sibling" : "set");
  return hasher.Finish();
}

void AddCheck(const Order& order, Hasher& hasher) {
  AddProblem(order, hasher);
  hasher.Field(Bytes(order.check.rtol)).Field(Bytes(order.check.atol));
  for (const std::uint64_t seed : order.input_seeds) hasher.Field(std::to_string(seed));
  hasher.Field(std::to_string(order.check.hidden_seed));
}

}  // namespace pawl
