#include "tests/support/double_order.h"

namespace pawl::test {
namespace {

Arm ArmOf(ArmRole role, const std::string& label, std::uint32_t source, const Launch& launch) {
  Arm arm;
  arm.role = role;
  arm.label = label;
  arm.source = source;
  arm.launches = {launch};
  return arm;
}

}  // namespace

SourceText TextSource(const std::string& name, const std::string& text) {
  SourceText source;
  source.name = name;
  source.text = text;
  source.digest = Sha256(text);
  return source;
}

Launch DoubleLaunch(const std::string& kernel) {
  Launch launch;
  launch.kernel = kernel;
  launch.arguments = {
      {Argument::Kind::kBuffer, 0}, {Argument::Kind::kBuffer, 1}, {Argument::Kind::kScalar, 0}};
  return launch;
}

Order DoubleOrder(const std::string& backend, Instrument instrument, const SourceText& reference,
                  const DoubleKernel& right, const DoubleKernel& candidate, std::int64_t n) {
  Order order;
  order.track = TrackId(1);
  order.generation = Generation(1);
  order.attempt = Attempt(1);
  order.backend = backend;
  order.operation = "double_plus_one";
  order.device_model = "any";
  Buffer in;
  in.name = "in";
  in.extents = {n};
  in.fill = {FillKind::kNormal, 0, 1};
  Buffer out;
  out.name = "out";
  out.role = BufferRole::kOutput;
  out.extents = {n};
  order.buffers = {in, out};
  order.scalars = {{"n", n}};
  order.sources = {reference, right.source, candidate.source};
  order.arms = {ArmOf(ArmRole::kCommitted, "committed", 1, right.launch),
                ArmOf(ArmRole::kCandidate, "candidate", 2, candidate.launch),
                ArmOf(ArmRole::kIncumbent, "incumbent", 1, right.launch)};
  order.check.reference = 0;
  order.check.rtol = 1e-5;
  order.check.atol = 1e-6;
  order.check.hidden_seed = 77;
  order.input_seeds = {11, 22};
  order.timing.instrument = instrument;
  order.timing.warmup = 2;
  order.timing.iterations = 5;
  for (std::uint32_t round = 0; round < 2; ++round) {
    RoundPlan plan;
    for (std::uint32_t arm = 0; arm < 3; ++arm) {
      plan.visits.push_back({(arm + round) % 3, round % 2});
    }
    order.rounds.push_back(plan);
  }
  return order;
}

}  // namespace pawl::test
