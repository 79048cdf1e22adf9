#include "coordinator/search/problem.h"

#include <algorithm>
#include <utility>

#include "coordinator/search/orders.h"
#include "coordinator/search/seed.h"
#include "kernels/render.h"
#include "kernels/space.h"

namespace pawl {
namespace {

struct BuiltKernel {
  SourceText source;
  Launches launches;
};

Result<BuiltKernel> BuildCommitted(const Operation& operation, const Backend& backend,
                                   const std::vector<Scalar>& shape) {
  const Result<const Committed*> committed = CommittedAt(operation, backend, shape);
  if (!committed) return committed.error();
  Result<SourceText> source = CommittedSource(operation, **committed);
  if (!source) return source.error();
  Result<Launches> launches = LaunchesOf(operation, **committed, shape);
  if (!launches) return launches.error();
  return BuiltKernel{*std::move(source), *std::move(launches)};
}

Result<BuiltKernel> BuildConfigured(const Operation& operation, const Kernel& kernel,
                                    const std::vector<Scalar>& shape) {
  if (kernel.structure->source.empty()) {
    return Error{"structure " + kernel.structure->name +
                 " has no source: it can be replayed, not built"};
  }
  const Result<Space> space = Space::Make(*kernel.structure, shape);
  if (!space) return space.error();
  Result<SourceText> source = Render(operation, *kernel.structure, *space, kernel.configuration);
  if (!source) return source.error();
  Result<Launches> launches =
      LaunchesOf(operation, *kernel.structure, *space, kernel.configuration);
  if (!launches) return launches.error();
  return BuiltKernel{*std::move(source), *std::move(launches)};
}

}  // namespace

std::uint64_t InputSeed(std::uint64_t seed, std::uint32_t input_set) {
  return SeedFor(seed, "input", input_set);
}

std::uint64_t HiddenSeed(std::uint64_t seed) { return SeedFor(seed, "hidden input"); }

Result<Order> OrderOver(const Operation& operation, const Backend& backend,
                        const std::vector<Scalar>& shape, const ProblemTerms& terms) {
  Order order;
  order.backend = backend.name;
  order.operation = operation.name;
  order.scalars = shape;
  auto buffers = BuffersAt(operation, shape);
  if (!buffers) return buffers.error();
  order.buffers = *std::move(buffers);
  const Result<double> atol = AbsoluteToleranceAt(operation, shape);
  if (!atol) return atol.error();
  order.check = {std::nullopt, operation.rtol, *atol, HiddenSeed(terms.seed)};
  if (terms.with_sources) {
    auto reference = ReferenceSource(operation);
    if (!reference) return reference.error();
    order.sources.push_back(*std::move(reference));
    order.check.reference = 0;
    order.headers = HeadersOf(operation, backend);
  }
  for (std::uint32_t set = 0; set < terms.input_sets; ++set) {
    order.input_seeds.push_back(InputSeed(terms.seed, set));
  }
  order.timing = terms.timing;
  const Result<double> flops = FlopsAt(operation, shape);
  if (!flops) return flops.error();
  const Result<double> bytes = BytesAt(operation, shape);
  if (!bytes) return bytes.error();
  order.deadlines = DeadlinesFor(terms.deadlines, *flops, *bytes, order.timing);
  return order;
}

Status AddKernel(Order& order, const Operation& operation, const Backend& backend,
                 const Kernel& kernel, ArmRole role, const std::string& label) {
  Arm arm;
  arm.role = role;
  arm.label = label;
  arm.configuration = kernel.configuration;
  if (!order.check.reference) {
    if (kernel.structure == nullptr) {
      const auto committed = CommittedAt(operation, backend, order.scalars);
      if (committed) arm.configuration = (*committed)->configuration;
    }
    order.arms.push_back(std::move(arm));
    return {};
  }
  Result<BuiltKernel> built = kernel.structure == nullptr
                                  ? BuildCommitted(operation, backend, order.scalars)
                                  : BuildConfigured(operation, kernel, order.scalars);
  if (!built) return built.error();
  arm.launches = std::move(built->launches.launches);
  arm.scratch = std::move(built->launches.scratch);
  const auto same = std::find(order.sources.begin(), order.sources.end(), built->source);
  arm.source = static_cast<std::uint32_t>(same - order.sources.begin());
  if (same == order.sources.end()) order.sources.push_back(std::move(built->source));
  order.arms.push_back(std::move(arm));
  return {};
}

Digest InputsDigest(const Order& order) {
  Hasher hasher;
  hasher.Field("inputs 1");
  for (const Buffer& buffer : order.buffers) {
    if (buffer.role != BufferRole::kInput) continue;
    const double fill[] = {buffer.fill.a, buffer.fill.b};
    hasher.Field(buffer.name).Field(Name(buffer.dtype));
    hasher.Field(std::to_string(static_cast<int>(buffer.fill.kind)));
    hasher.Field({reinterpret_cast<const char*>(fill), sizeof fill});
    for (const std::int64_t extent : buffer.extents) hasher.Field(std::to_string(extent));
  }
  for (const Scalar& scalar : order.scalars) {
    hasher.Field(scalar.name).Field(std::to_string(scalar.value));
  }
  for (const std::uint64_t seed : order.input_seeds) hasher.Field(std::to_string(seed));
  hasher.Field("hidden").Field(std::to_string(order.check.hidden_seed));
  return hasher.Finish();
}

}  // namespace pawl
