#include "worker/device/host/input_sets.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <thread>

#include "worker/device/compare.h"
#include "worker/device/fill.h"
#include "worker/device/host/thunk.h"
#include "worker/device/order_rules.h"

namespace pawl {
namespace {

constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 30;
constexpr std::int64_t kChunkElements = 256;

using ReferenceLoop = void (*)(const void* const*, const std::int64_t*, std::int64_t, std::int64_t,
                               double*);

Digest KeyOfExpected(const Digest& set, std::size_t buffer) {
  Hasher hasher;
  hasher.Field("expected").Field(set.Hex()).Field(std::to_string(buffer));
  return hasher.Finish();
}

std::size_t BytesOf(const InputSet& set) {
  std::size_t bytes = 0;
  for (const auto& contents : set.contents) bytes += contents.size();
  for (const auto& expected : set.expected) bytes += expected.size() * sizeof(double);
  return bytes;
}

}  // namespace

InputSets::InputSets(Compiler& compiler, ObjectCache& cache, std::string scratch,
                     std::uint32_t threads)
    : compiler_(compiler), cache_(cache), scratch_(std::move(scratch)), threads_(threads) {}

Result<OrderSets> InputSets::Of(const Order& order, const std::function<void()>& alive) {
  if (!order.check.reference || *order.check.reference >= order.sources.size()) {
    return Error{"host: the order for " + order.operation +
                     " names no reference, and nothing unchecked is timed",
                 Advice::kReject};
  }
  if (order.input_seeds.empty()) {
    return Error{"host: the order for " + order.operation + " has no input set", Advice::kReject};
  }
  OrderSets sets;
  std::unique_ptr<Module> reference;  // built only when an expected output is not cached
  for (const std::uint64_t seed : order.input_seeds) {
    Result<std::shared_ptr<const InputSet>> set = Take(order, seed, FillBuffer, reference, alive);
    if (!set) return set.error();
    sets.timed.push_back(std::move(*set));
  }
  Result<std::shared_ptr<const InputSet>> hidden =
      Take(order, order.check.hidden_seed, FillBuffer, reference, alive);
  if (!hidden) return hidden.error();
  sets.hidden = std::move(*hidden);
  Result<std::shared_ptr<const InputSet>> sibling =
      Take(order, order.input_seeds.front(), FillSibling, reference, alive);
  if (!sibling) return sibling.error();
  sets.sibling = std::move(*sibling);

  std::size_t bytes = 0;
  auto kept = kept_.begin();
  while (kept != kept_.end() && bytes + kept->bytes <= kMaxKeptBytes) bytes += (kept++)->bytes;
  kept_.erase(kept, kept_.end());
  return sets;
}

// From memory, or made and kept there.
Result<std::shared_ptr<const InputSet>> InputSets::Take(const Order& order, std::uint64_t seed,
                                                        FillFunction fill,
                                                        std::unique_ptr<Module>& reference,
                                                        const std::function<void()>& alive) {
  const Digest key = InputSetKey(order, "host", seed, fill == FillSibling);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&key](const Kept& kept) { return kept.key == key; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().set;
  }
  Result<std::shared_ptr<const InputSet>> set = Make(order, seed, fill, key, reference, alive);
  if (set) kept_.push_front({key, *set, BytesOf(**set)});
  return set;
}

Result<std::unique_ptr<Module>> InputSets::LoadReference(const Order& order) {
  const SourceText& source = order.sources[*order.check.reference];
  Unit unit;
  unit.text = ReferenceUnit(source, order.buffers, order.scalars);
  unit.flags.assign(std::begin(kReferenceFlags), std::end(kReferenceFlags));
  Result<Built> built = compiler_.Build(unit);
  if (!built) return built.error();
  if (!built->ok) {
    return Error{
        "host: the reference of " + order.operation + " does not compile: " + built->problem,
        Advice::kReject};
  }
  Result<std::unique_ptr<Module>> module = Module::Load(built->object, scratch_);
  if (!module) {
    return Error{
        "host: the reference of " + order.operation + " does not load: " + module.error().message,
        module.error().advice};
  }
  return module;
}

Result<std::shared_ptr<const InputSet>> InputSets::Make(const Order& order, std::uint64_t seed,
                                                        FillFunction fill, const Digest& key,
                                                        std::unique_ptr<Module>& reference,
                                                        const std::function<void()>& alive) {
  auto set = std::make_shared<InputSet>();
  set->contents.resize(order.buffers.size());
  set->expected.resize(order.buffers.size());
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const Buffer& buffer = order.buffers[i];
    if (buffer.role != BufferRole::kInput) continue;
    set->contents[i].resize(static_cast<std::size_t>(buffer.Elements()) * SizeOf(buffer.dtype));
    fill(buffer, static_cast<std::uint32_t>(i), seed, set->contents[i].data());
  }
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const Buffer& buffer = order.buffers[i];
    if (buffer.role != BufferRole::kOutput) continue;
    std::vector<double>& expected = set->expected[i];
    expected.resize(static_cast<std::size_t>(buffer.Elements()));
    const std::size_t bytes = expected.size() * sizeof(double);
    const Digest cached_as = KeyOfExpected(key, i);
    if (const std::optional<std::string> cached = cache_.Get(cached_as);
        cached && cached->size() == bytes) {
      std::memcpy(expected.data(), cached->data(), bytes);
      continue;
    }
    if (reference == nullptr) {
      Result<std::unique_ptr<Module>> loaded = LoadReference(order);
      if (!loaded) return loaded.error();
      reference = std::move(*loaded);
    }
    if (Status computed = Compute(order, buffer, *reference, *set, expected, alive); !computed) {
      return computed.error();
    }
    // What cannot be kept is computed again.
    const std::string_view raw(reinterpret_cast<const char*>(expected.data()), bytes);
    static_cast<void>(cache_.Put(cached_as, raw).has_value());
  }
  return std::shared_ptr<const InputSet>(std::move(set));
}

Status InputSets::Compute(const Order& order, const Buffer& output, const Module& reference,
                          const InputSet& set, std::vector<double>& expected,
                          const std::function<void()>& alive) {
  const Result<void*> symbol = reference.Find(ReferenceSymbol(output));
  if (!symbol) return symbol.error();
  const auto loop = reinterpret_cast<ReferenceLoop>(*symbol);
  std::vector<const void*> inputs;
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    if (order.buffers[i].role == BufferRole::kInput) inputs.push_back(set.contents[i].data());
  }
  std::vector<std::int64_t> scalars;
  for (const Scalar& scalar : order.scalars) scalars.push_back(scalar.value);

  const auto count = static_cast<std::int64_t>(expected.size());
  std::atomic<std::int64_t> next{0};
  const auto take_chunk = [&] {
    const std::int64_t first = next.fetch_add(kChunkElements);
    if (first >= count) return false;
    loop(inputs.data(), scalars.data(), first, std::min(first + kChunkElements, count),
         expected.data() + first);
    return true;
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < threads_; ++i) {
    threads.emplace_back([&take_chunk] {
      while (take_chunk()) {
      }
    });
  }
  auto said = std::chrono::steady_clock::now();
  while (take_chunk()) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said < std::chrono::seconds(1)) continue;
    said = now;
    alive();
  }
  for (std::thread& thread : threads) thread.join();

  const auto bad = std::find_if(expected.begin(), expected.end(),
                                [](double value) { return !std::isfinite(value); });
  if (bad != expected.end()) {
    return Error{"host: the reference of " + order.operation + " gives " + std::to_string(*bad) +
                     " for " + ElementName(output, bad - expected.begin()),
                 Advice::kReject};
  }
  return {};
}

}  // namespace pawl
