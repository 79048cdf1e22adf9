// MakeWorkshop: a track's spec and its package, held against each other once.

#include <utility>

#include "coordinator/search/orders.h"
#include "coordinator/search/problem.h"
#include "kernels/compound.h"
#include "kernels/render.h"

namespace pawl {
namespace {

template <typename List, typename Text>
std::string Joined(const List& list, Text text) {
  std::string joined;
  for (const auto& entry : list) joined += (joined.empty() ? "" : ", ") + text(entry);
  return joined.empty() ? "none" : joined;
}

std::string KnobNames(const Configuration& configuration) {
  return Joined(configuration.settings, [](const Setting& setting) { return setting.knob; });
}

Status CheckStart(const TrackSpec& spec, const Space& space) {
  const std::vector<Violation> violations = space.Validate(spec.start);
  if (violations.empty()) return {};
  return Error{"start configuration " + spec.start.Text() + " is not valid: " +
               Joined(violations, [](const Violation& violation) { return violation.text; })};
}

Status CheckDType(const TrackSpec& spec, const Operation& operation) {
  for (const Tensor& tensor : operation.tensors) {
    if (tensor.role == BufferRole::kOutput && tensor.dtype == spec.dtype) return {};
  }
  return Error{"operation " + operation.name + " has no " + std::string(Name(spec.dtype)) +
               " output"};
}

std::string ShapeText(const std::vector<Scalar>& shape) {
  return Joined(
      shape, [](const Scalar& letter) { return letter.name + "=" + std::to_string(letter.value); });
}

// The committed arm. A structure without source is only replayed: neither has its control one then.
Result<BuiltArm> CommittedArm(const TrackSpec& spec, const Operation& operation,
                              const Backend& backend, const Structure& structure) {
  BuiltArm built;
  built.arm.role = ArmRole::kCommitted;
  built.arm.label = Name(ArmRole::kCommitted);
  const bool space_only = structure.source.empty();
  auto found = CommittedAt(operation, backend, spec.shape);
  if (!found) {
    if (space_only) return built;
    return found.error();
  }
  const Committed& committed = **found;
  built.arm.configuration = committed.configuration;
  if (space_only) return built;
  if (committed.source.empty()) {
    return Error{"backend " + backend.name + " of operation " + operation.name +
                 ": the committed kernel of shape " + ShapeText(spec.shape) +
                 " has no source; structure " + structure.name + " needs one to measure against"};
  }
  auto source = CommittedSource(operation, committed);
  if (!source) return source.error();
  built.source = *std::move(source);
  built.source->build_options = committed.build_options;
  auto all = LaunchesOf(operation, committed, spec.shape);
  if (!all) return all.error();
  built.arm.launches = std::move(all->launches);
  built.arm.scratch = std::move(all->scratch);
  return built;
}

Result<std::vector<BuiltArm>> RivalArms(const Operation& operation, const Backend& backend,
                                        const Structure& structure, const Order& base) {
  std::vector<BuiltArm> arms;
  if (structure.source.empty()) return arms;
  for (const Rival& rival : backend.rivals) {
    BuiltArm built;
    built.arm.role = ArmRole::kRival;
    built.arm.label = rival.name;
    auto source = RivalSource(operation, rival);
    if (!source) return source.error();
    built.source = *std::move(source);
    built.source->build_options = rival.build_options;
    Launch launch;
    launch.kernel = rival.kernel;
    for (std::uint32_t i = 0; i < base.buffers.size(); ++i) {
      launch.arguments.push_back({Argument::Kind::kBuffer, i});
    }
    for (std::uint32_t i = 0; i < base.scalars.size(); ++i) {
      launch.arguments.push_back({Argument::Kind::kScalar, i});
    }
    built.arm.launches.push_back(std::move(launch));
    arms.push_back(std::move(built));
  }
  return arms;
}

Result<Order> MakeBase(const TrackSpec& spec, const Operation& operation, const Backend& backend,
                       const Structure& structure) {
  ProblemTerms terms;
  terms.seed = spec.seed;
  terms.timing.instrument = spec.instrument;
  terms.timing.warmup = spec.warmup;
  terms.timing.iterations = spec.iterations;
  terms.deadlines = spec.deadlines;
  terms.with_sources = !structure.source.empty();
  auto over = OrderOver(operation, backend, spec.shape, terms);
  if (!over) return over.error();
  Order base = *std::move(over);
  base.device_model = spec.device_model;
  auto committed = CommittedArm(spec, operation, backend, structure);
  if (!committed) return committed.error();
  if (committed->source) {
    committed->arm.source = static_cast<std::uint32_t>(base.sources.size());
    base.sources.push_back(*std::move(committed->source));
  }
  base.arms.push_back(std::move(committed->arm));
  return base;
}

}  // namespace

Result<Workshop> MakeWorkshop(const TrackSpec& spec, std::shared_ptr<const Operation> operation) {
  const Backend* backend = operation->FindBackend(spec.backend);
  if (backend == nullptr) {
    return Error{"operation " + operation->name + " has no backend '" + spec.backend + "' (have: " +
                 Joined(operation->backends, [](const Backend& entry) { return entry.name; }) +
                 ")"};
  }
  Workshop workshop;
  auto structure = StructureNamed(*backend, spec.structure);
  if (!structure) {
    return Error{"backend " + backend->name + " of operation " + operation->name + ": " +
                 structure.error().message};
  }
  workshop.structure = std::make_unique<const Structure>(*std::move(structure));
  if (Status checked = CheckDType(spec, *operation); !checked) return checked.error();
  auto space = Space::Make(*workshop.structure, spec.shape);
  if (!space) return space.error();
  workshop.space = std::make_unique<Space>(*std::move(space));
  const bool compound = !workshop.structure->members.empty();
  if (!compound && KnobNames(spec.start) != KnobNames(workshop.structure->start)) {
    return Error{"start configuration has knobs " + KnobNames(spec.start) + ", structure " +
                 workshop.structure->name + " has " + KnobNames(workshop.structure->start)};
  }
  if (Status valid = CheckStart(spec, *workshop.space); !valid) return valid.error();
  auto base = MakeBase(spec, *operation, *backend, *workshop.structure);
  if (!base) return base.error();
  workshop.base = *std::move(base);
  auto rivals = RivalArms(*operation, *backend, *workshop.structure, workshop.base);
  if (!rivals) return rivals.error();
  workshop.rivals = *std::move(rivals);
  auto policy = MakePolicy(spec.policy, spec.policy_parameters);
  if (!policy) return policy.error();
  workshop.policy = *std::move(policy);
  auto proposer = MakeProposer(spec.proposer, spec.proposer_parameters);
  if (!proposer) return proposer.error();
  workshop.proposer = *std::move(proposer);
  workshop.operation = std::move(operation);
  // A template that does not render is the package's mistake: said now, not at the first proposal
  // or at a move to another structure.
  if (auto rendered = SourceDigest(workshop, spec.start); !rendered) return rendered.error();
  for (const Structure& member : workshop.structure->members) {
    Configuration start = Qualified(member, member.start);
    if (auto repaired = workshop.space->Repair(start)) start = std::move(repaired->configuration);
    if (!workshop.space->Validate(start).empty()) continue;  // no search moves there
    if (auto rendered = SourceDigest(workshop, start); !rendered) return rendered.error();
  }
  return workshop;
}

}  // namespace pawl
