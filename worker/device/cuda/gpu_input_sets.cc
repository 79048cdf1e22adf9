#include "worker/device/cuda/gpu_input_sets.h"

#include <algorithm>
#include <string>

#include "worker/device/compare.h"
#include "worker/device/fill.h"
#include "worker/device/order_rules.h"

namespace pawl {
namespace {

constexpr std::int64_t kThreads = 128;
constexpr std::int64_t kChunkElements = 1 << 20;
// Of the GPU's memory, for sets that are kept from one problem to the next.
constexpr std::uint64_t kKeptShare = 4;

std::size_t BytesOf(const GpuInputSet& set) {
  std::size_t bytes = 0;
  for (const auto* list : {&set.contents, &set.expected}) {
    for (const GpuMemory& memory : *list) bytes += memory.bytes();
  }
  return bytes;
}

}  // namespace

// The reference's kernels, loaded.
class GpuInputSets::Reference {
 public:
  Reference(const Gpu& gpu, const CudaUnit& unit, const CudaObject& object)
      : gpu_(gpu), unit_(unit), object_(object) {}
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() {
    if (module_ != nullptr) static_cast<void>(gpu_.driver().ModuleUnload(module_).code);
  }

  DriverStatus Load() { return gpu_.driver().ModuleLoad(&module_, object_.cubin.data()); }

  DriverStatus Run(const Order& order, const Buffer& output, const GpuInputSet& set,
                   CuAddress expected, const std::function<void()>& alive) const {
    CuFunction function = nullptr;
    const auto at = std::find(unit_.kernels.begin(), unit_.kernels.end(), ReferenceKernel(output));
    CHECK(at != unit_.kernels.end(), output.name);
    const std::string& name = object_.names[static_cast<std::size_t>(at - unit_.kernels.begin())];
    PAWL_PASS(gpu_.driver().ModuleFunction(&function, module_, name.c_str()));
    const std::int64_t count = output.Elements();
    std::int64_t first = 0, last = 0;
    std::vector<CuAddress> inputs;
    for (const GpuMemory& contents : set.contents) {
      if (contents.bytes() > 0) inputs.push_back(contents.address());
    }
    std::vector<std::int64_t> scalars;
    for (const Scalar& scalar : order.scalars) scalars.push_back(scalar.value);
    std::vector<void*> pointers = {&expected, &first, &last};
    for (CuAddress& input : inputs) pointers.push_back(&input);
    for (std::int64_t& scalar : scalars) pointers.push_back(&scalar);
    // In parts, so that no launch keeps a display or a deadline waiting.
    for (; first < count; first = last) {
      last = std::min(first + kChunkElements, count);
      const auto blocks = static_cast<unsigned>((last - first + kThreads - 1) / kThreads);
      PAWL_PASS(gpu_.driver().Launch(function, blocks, 1, 1, kThreads, 1, 1, 0, gpu_.stream(),
                                     pointers.data(), nullptr));
      PAWL_PASS(gpu_.Synchronize());
      alive();
    }
    return {};
  }

 private:
  const Gpu& gpu_;
  const CudaUnit unit_;
  const CudaObject object_;
  CuModule module_ = nullptr;
};

Result<GpuOrderSets> GpuInputSets::Of(const Order& order, const std::function<void()>& alive) {
  if (!order.check.reference || *order.check.reference >= order.sources.size()) {
    return Error{"cuda: the order for " + order.operation +
                     " names no reference, and nothing unchecked is timed",
                 Advice::kReject};
  }
  if (order.input_seeds.empty()) {
    return Error{"cuda: the order for " + order.operation + " has no input set", Advice::kReject};
  }
  GpuOrderSets sets;
  std::unique_ptr<Reference> reference;  // built only when a set is new
  for (const std::uint64_t seed : order.input_seeds) {
    auto set = Take(order, seed, FillBuffer, reference, alive);
    if (!set) return set.error();
    sets.timed.push_back(std::move(*set));
  }
  auto hidden = Take(order, order.check.hidden_seed, FillBuffer, reference, alive);
  if (!hidden) return hidden.error();
  sets.hidden = std::move(*hidden);
  auto sibling = Take(order, order.input_seeds.front(), FillSibling, reference, alive);
  if (!sibling) return sibling.error();
  sets.sibling = std::move(*sibling);

  std::size_t bytes = 0;
  const std::uint64_t most = gpu_.properties().memory_bytes / kKeptShare;
  auto kept = kept_.begin();
  while (kept != kept_.end() && bytes + kept->bytes <= most) bytes += (kept++)->bytes;
  kept_.erase(kept, kept_.end());
  return sets;
}

Result<std::shared_ptr<const GpuInputSet>> GpuInputSets::Take(const Order& order,
                                                              std::uint64_t seed, Fill fill,
                                                              std::unique_ptr<Reference>& reference,
                                                              const std::function<void()>& alive) {
  const Digest key = InputSetKey(order, "cuda", seed, fill == FillSibling);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&key](const Kept& kept) { return kept.key == key; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().set;
  }
  auto set = Make(order, seed, fill, reference, alive);
  if (set) kept_.push_front({key, *set, BytesOf(**set)});
  return set;
}

Result<std::shared_ptr<const GpuInputSet>> GpuInputSets::Make(const Order& order,
                                                              std::uint64_t seed, Fill fill,
                                                              std::unique_ptr<Reference>& reference,
                                                              const std::function<void()>& alive) {
  const Driver& driver = gpu_.driver();
  const auto failed = [&](const std::string& doing, DriverStatus status) {
    return Error{"cuda: " + doing + ": " + driver.Describe(status), Advice::kRetry};
  };
  if (reference == nullptr) {
    const SourceText& source = order.sources[*order.check.reference];
    const CudaUnit unit = ReferenceUnitFor(source, order.headers, order.buffers, order.scalars,
                                           gpu_.properties().capability);
    Result<std::vector<CudaBuilt>> built = builder_.Build({unit});
    if (!built) return built.error();
    if (!built->front().object.ok) {
      return Error{"cuda: the reference of " + order.operation +
                       " does not compile: " + built->front().object.problem,
                   Advice::kReject};
    }
    reference = std::make_unique<Reference>(gpu_, unit, built->front().object);
    if (DriverStatus done = reference->Load(); !done) {
      return failed("the reference of " + order.operation + " cannot be loaded", done);
    }
  }
  auto set = std::make_shared<GpuInputSet>();
  set->contents.resize(order.buffers.size());
  set->expected.resize(order.buffers.size());
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const Buffer& buffer = order.buffers[i];
    if (buffer.role != BufferRole::kInput) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.Elements()) *
                                 SizeOf(buffer.dtype));
    fill(buffer, static_cast<std::uint32_t>(i), seed, bytes.data());
    alive();
    DriverStatus done = set->contents[i].Allocate(gpu_, bytes.size());
    if (done) {
      done = driver.CopyToDevice(set->contents[i].address(), bytes.data(), bytes.size(),
                                 gpu_.stream());
    }
    if (done) done = gpu_.Synchronize();
    if (!done) {
      return failed("input " + buffer.name + " of " + std::to_string(bytes.size()) + " B", done);
    }
  }
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const Buffer& buffer = order.buffers[i];
    if (buffer.role != BufferRole::kOutput) continue;
    outputs.push_back(i);
    const std::size_t bytes = static_cast<std::size_t>(buffer.Elements()) * sizeof(double);
    if (DriverStatus done = set->expected[i].Allocate(gpu_, bytes); !done) {
      return failed("reference of " + buffer.name + " in " + std::to_string(bytes) + " B", done);
    }
    if (DriverStatus done = reference->Run(order, buffer, *set, set->expected[i].address(), alive);
        !done) {
      return failed("the reference of " + order.operation + " while it ran for " + buffer.name,
                    done);
    }
  }
  DriverStatus done = tools_.Begin(outputs.size());
  for (const std::size_t i : outputs) {
    if (done) {
      done = tools_.Finite(set->expected[i].address(),
                           static_cast<std::uint64_t>(order.buffers[i].Elements()));
    }
  }
  if (done) done = tools_.Read();
  if (!done) return failed("looking at the reference of " + order.operation, done);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (tools_.found(k).count == 0) continue;
    return Error{"cuda: the reference of " + order.operation + " gives " +
                     std::to_string(tools_.found(k).count) + " elements of " +
                     order.buffers[outputs[k]].name + " that are not finite",
                 Advice::kReject};
  }
  return std::shared_ptr<const GpuInputSet>(std::move(set));
}

}  // namespace pawl
