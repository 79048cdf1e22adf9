#include "worker/device/host/bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "worker/device/compare.h"
#include "worker/device/fill.h"
#include "worker/device/host/clock.h"

namespace pawl {
namespace {

constexpr std::uint64_t kMaxCopies = 256;
constexpr std::uint64_t kMaxCopyBytes = 1ull << 30;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;
constexpr std::uint64_t kReplacedShare = 128;

// A kernel that throws ends the process like one that crashes: std::terminate says what it threw.
void Call(KernelCall call, void* const* buffers, const std::int64_t* scalars) noexcept {
  call(buffers, scalars);
}

template <typename Element>
Element As(double value) {
  if constexpr (std::is_floating_point_v<Element>) {
    return static_cast<Element>(value);
  } else {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<Element>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<Element>::max());
    return static_cast<Element>(std::clamp(std::round(value), kLow, kHigh));
  }
}

// A number that is outside the bound of `expected`: `other`, which is right for other inputs, or
// where that would be right here too, one beside it. Where the type has none, whatever it is.
template <typename Element>
Element WrongNumber(double expected, double other, const CheckPlan& check) {
  const double bound = check.atol + check.rtol * std::fabs(expected);
  const double step = 2 * bound + std::fabs(expected) / 8 + (std::is_integral_v<Element> ? 1 : 0) +
                      std::numeric_limits<float>::min();
  for (const double value : {other, expected - std::copysign(step, expected),
                             expected + std::copysign(step, expected)}) {
    const auto wrong = As<Element>(value);
    const auto seen = static_cast<double>(wrong);
    if (std::isfinite(seen) && std::fabs(seen - expected) > bound) return wrong;
  }
  return As<Element>(other);
}

template <typename Element>
void ReplaceAs(void* output, const std::vector<double>& expected, const std::vector<double>& others,
               const CheckPlan& check, std::uint64_t seed) {
  auto* const elements = static_cast<Element*>(output);
  const std::size_t always = Scaled(seed * kGolden, expected.size());
  std::uint64_t draw = seed;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // SplitMix64's step and a part of its mixing: enough to be no pattern.
    draw += kGolden;
    const std::uint64_t mixed = (draw ^ (draw >> 30)) * 0xbf58476d1ce4e5b9ull;
    const bool number = std::isfinite(static_cast<double>(elements[i]));
    if (number && i != always && Scaled(mixed, kReplacedShare) != 0) continue;
    elements[i] = WrongNumber<Element>(expected[i], others[i], check);
  }
}

}  // namespace

Bench::Bench(const Order& order, OrderSets sets)
    : order_(order),
      sets_(std::move(sets)),
      calls_(order.arms.size(), 0),
      visits_(order.arms.size(), 0) {
  for (const Scalar& scalar : order.scalars) scalars_.push_back(scalar.value);
}

std::uint64_t Bench::CopiesOf(const Order& order, std::uint64_t cache_bytes) {
  std::uint64_t bytes = 0;
  for (const Buffer& buffer : order.buffers) {
    bytes += static_cast<std::uint64_t>(buffer.Elements()) * SizeOf(buffer.dtype);
  }
  if (!order.timing.cold_cache || bytes == 0) return 1;
  return std::clamp<std::uint64_t>(std::min(3 * cache_bytes, kMaxCopyBytes) / bytes + 1, 2,
                                   kMaxCopies);
}

Result<std::unique_ptr<Bench>> Bench::Make(const Order& order, OrderSets sets,
                                           std::uint64_t cache_bytes) {
  std::unique_ptr<Bench> bench(new Bench(order, std::move(sets)));
  const std::uint64_t copies = CopiesOf(order, cache_bytes);
  for (std::uint64_t c = 0; c < copies; ++c) {
    Copy copy;
    for (std::uint32_t i = 0; i < order.buffers.size(); ++i) {
      const Buffer& buffer = order.buffers[i];
      Result<GuardedMemory> memory = GuardedMemory::Allocate(
          static_cast<std::size_t>(buffer.Elements()) * SizeOf(buffer.dtype), i);
      if (!memory) return memory.error();
      copy.arrays.push_back({std::move(*memory), i, SIZE_MAX});
      copy.pointers.push_back(copy.arrays.back().memory.data());
    }
    bench->copies_.push_back(std::move(copy));
  }
  return bench;
}

void Bench::LoadInputs(const InputSet& set) {
  if (loaded_ == &set) return;
  for (Copy& copy : copies_) {
    for (Array& array : copy.arrays) {
      const std::vector<std::byte>& contents = set.contents[array.buffer];
      if (!contents.empty()) std::memcpy(array.memory.data(), contents.data(), contents.size());
      array.changed = SIZE_MAX;
    }
  }
  loaded_ = &set;
}

void Bench::PoisonOutputs() {
  for (Copy& copy : copies_) {
    for (Array& array : copy.arrays) {
      if (order_.buffers[array.buffer].role != BufferRole::kOutput) continue;
      Poison(array.memory.data(), array.memory.bytes());
    }
  }
}

void Bench::ReplaceOutputs(Copy& copy) {
  ++replacements_;
  // The hidden set's: of the same kind as the right ones, whatever the operation.
  const InputSet& others = loaded_ == sets_.hidden.get() ? *sets_.timed.front() : *sets_.hidden;
  for (Array& array : copy.arrays) {
    const Buffer& buffer = order_.buffers[array.buffer];
    if (buffer.role != BufferRole::kOutput) continue;
    const std::uint64_t seed =
        order_.check.hidden_seed + replacements_ * kGolden + array.buffer * kGolden * kGolden;
    const auto replace = [&](auto element) {
      ReplaceAs<decltype(element)>(array.memory.data(), loaded_->expected[array.buffer],
                                   others.expected[array.buffer], order_.check, seed);
    };
    switch (buffer.dtype) {
      case DType::kF32:
        replace(float{});
        break;
      case DType::kF64:
        replace(double{});
        break;
      case DType::kI32:
        replace(std::int32_t{});
        break;
      case DType::kU32:
        replace(std::uint32_t{});
        break;
    }
  }
}

void Bench::ChangeInputs(Copy& copy) {
  ++changes_;
  for (Array& array : copy.arrays) {
    const std::vector<std::byte>& contents = loaded_->contents[array.buffer];
    if (contents.empty()) continue;
    const Buffer& buffer = order_.buffers[array.buffer];
    const std::size_t size = SizeOf(buffer.dtype);
    const std::size_t count = contents.size() / size;
    auto* const elements = static_cast<std::byte*>(array.memory.data());
    if (array.changed != SIZE_MAX) {
      std::memcpy(elements + array.changed * size, contents.data() + array.changed * size, size);
    }
    array.changed = Nudged(buffer, Scaled(changes_ * kGolden, count));
    if (array.changed == kNoElement) continue;
    const std::size_t other = array.changed + 1 < count ? array.changed + 1 : 0;
    std::memcpy(elements + array.changed * size, contents.data() + other * size, size);
  }
}

void Bench::RestoreInputs() {
  for (Copy& copy : copies_) {
    for (Array& array : copy.arrays) {
      if (array.changed == SIZE_MAX) continue;
      const std::size_t size = SizeOf(order_.buffers[array.buffer].dtype);
      std::memcpy(static_cast<std::byte*>(array.memory.data()) + array.changed * size,
                  loaded_->contents[array.buffer].data() + array.changed * size, size);
      array.changed = SIZE_MAX;
    }
  }
}

Bench::Copy& Bench::NextCopy() {
  Copy& copy = copies_[next_copy_];
  if (++next_copy_ == copies_.size()) next_copy_ = 0;
  return copy;
}

void Bench::ChangeNext(std::uint64_t calls) {
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>(calls, copies_.size()));
  for (std::size_t i = 0; i < count; ++i) ChangeInputs(copies_[(next_copy_ + i) % copies_.size()]);
}

void Bench::CallNext(KernelCall call) {
  const Copy& copy = NextCopy();
  Call(call, copy.pointers.data(), scalars_.data());
}

CallCheck Bench::Verify(const Copy& written) const {
  CallCheck check;
  const auto fail = [&check](std::string detail) {
    check.passed = false;
    if (check.detail.empty()) check.detail = std::move(detail);
  };
  // What should not have been touched comes first: it is the better explanation of a wrong output.
  for (const Copy& copy : copies_) {
    for (const Array& array : copy.arrays) {
      const Buffer& buffer = order_.buffers[array.buffer];
      if (const std::optional<std::int64_t> offset = array.memory.Touched()) {
        fail(DescribeTouch(buffer, *offset));
      }
      const std::vector<std::byte>& contents = loaded_->contents[array.buffer];
      const auto* const now = static_cast<const std::byte*>(array.memory.data());
      if (contents.empty() || std::memcmp(now, contents.data(), contents.size()) == 0) continue;
      const auto changed = std::mismatch(contents.begin(), contents.end(), now).first;
      const std::int64_t element =
          (changed - contents.begin()) / static_cast<std::int64_t>(SizeOf(buffer.dtype));
      fail("changed its input " + ElementName(buffer, element));
    }
  }
  for (const Array& array : written.arrays) {
    const Buffer& buffer = order_.buffers[array.buffer];
    if (buffer.role != BufferRole::kOutput) continue;
    const Comparison compared =
        Compare(buffer, array.memory.data(), loaded_->expected[array.buffer].data(),
                order_.check.rtol, order_.check.atol);
    check.elements += compared.elements;
    check.wrong += compared.wrong;
    check.max_abs_error = std::max(check.max_abs_error, compared.max_abs_error);
    if (compared.wrong > 0) fail(compared.detail);
  }
  return check;
}

CallCheck Bench::Check(KernelCall call, const InputSet& set, OutputsBefore before) {
  LoadInputs(set);
  Copy& copy = copies_.front();
  if (before == OutputsBefore::kNaN) PoisonOutputs();
  if (before == OutputsBefore::kNumbers) ReplaceOutputs(copy);
  Call(call, copy.pointers.data(), scalars_.data());
  return Verify(copy);
}

// How many calls make an iteration that is long enough to time: doubles until it can be told, then
// scales. The best of three looks, as the first after a change of kernel is often slow.
std::uint64_t Bench::FindCalls(KernelCall call) {
  const Instrument instrument = order_.timing.instrument;
  const std::int64_t shortest_ns = ShortestSpanNs(instrument);
  for (std::uint64_t calls = 1;; calls *= 2) {
    std::int64_t best_ns = INT64_MAX;
    for (int look = 0; look < 3; ++look) {
      ChangeNext(calls);
      const std::int64_t start = ReadInstrument(instrument);
      for (std::uint64_t c = 0; c < calls; ++c) CallNext(call);
      best_ns = std::min(best_ns, ReadInstrument(instrument) - start);
      if (best_ns > 8 * shortest_ns) return calls;
    }
    if (best_ns < shortest_ns / 4) continue;
    const auto wanted = static_cast<std::uint64_t>(shortest_ns) * calls;
    const auto ns = static_cast<std::uint64_t>(best_ns);
    return std::max<std::uint64_t>(1, (wanted + ns - 1) / ns);
  }
}

Visit Bench::Run(KernelCall call, std::uint32_t arm, std::uint32_t input_set) {
  const Timing& timing = order_.timing;
  LoadInputs(*sets_.timed[input_set]);
  PoisonOutputs();
  Visit visit;
  visit.quiet = WaitUntilQuiet();
  for (std::uint32_t i = 0; i < timing.warmup; ++i) {
    ChangeNext(1);
    CallNext(call);
  }
  if (calls_[arm] == 0) calls_[arm] = FindCalls(call);
  const std::uint64_t calls = calls_[arm];

  visit.us.reserve(timing.iterations);
  const auto timed = [&] {
    const std::int64_t start = ReadInstrument(timing.instrument);
    for (std::uint64_t c = 0; c < calls; ++c) CallNext(call);
    const std::int64_t ns = ReadInstrument(timing.instrument) - start;
    visit.us.push_back(static_cast<double>(ns) / static_cast<double>(calls) / 1e3);
  };
  for (std::uint32_t i = 1; i < timing.iterations; ++i) {
    ChangeNext(calls);
    timed();
  }
  RestoreInputs();
  if (input_set == 0) LoadInputs(*sets_.sibling);
  // By turns; an arm's only visit is over numbers, as most calls of a check are over NaN.
  Copy& last = copies_[(next_copy_ + calls - 1) % copies_.size()];
  if (visits_[arm]++ % 2 == 0) {
    ReplaceOutputs(last);
  } else {
    PoisonOutputs();
  }
  timed();
  visit.clock_mhz = MeasureClockMhz();
  visit.check = Verify(last);
  return visit;
}

}  // namespace pawl
