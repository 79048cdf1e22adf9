#include "worker/device/cuda/gpu_bench.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "worker/device/compare.h"
#include "worker/device/fill.h"

namespace pawl {
namespace {

constexpr std::uint64_t kMaxCopies = 256;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;

// A pseudo-random choice that a kernel cannot foresee from the number of the call alone.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::string DescribeTouch(const std::string& name, std::size_t element_bytes, std::int64_t elements,
                          std::int64_t offset) {
  const auto size = static_cast<std::int64_t>(element_bytes);
  if (offset < 0) {
    return "wrote before the start of " + name + ": element " +
           std::to_string(-((-offset + size - 1) / size));
  }
  return "wrote past the end of " + name + ": element " + std::to_string(offset / size) + " of " +
         std::to_string(elements);
}

}  // namespace

Digest GpuBench::KeyOf(const Order& order) {
  Hasher hasher;
  for (const Buffer& buffer : order.buffers) {
    hasher.Field(buffer.name).Field(Name(buffer.dtype));
    hasher.Field(buffer.role == BufferRole::kInput ? "input" : "output");
    for (const std::int64_t extent : buffer.extents) hasher.Field(std::to_string(extent));
  }
  for (const Scalar& scalar : order.scalars) hasher.Field(std::to_string(scalar.value));
  hasher.Field(order.timing.cold_cache ? "cold" : "hot");
  return hasher.Finish();
}

GpuBench::GpuBench(const Gpu& gpu, GpuTools& tools, const Order& order)
    : gpu_(gpu), tools_(tools), buffers_(order.buffers) {
  for (const Buffer& buffer : buffers_) {
    buffer_bytes_.push_back(static_cast<std::size_t>(buffer.Elements()) * SizeOf(buffer.dtype));
  }
  for (const Scalar& scalar : order.scalars) scalars_.push_back(scalar.value);
}

Result<std::unique_ptr<GpuBench>> GpuBench::Make(const Gpu& gpu, GpuTools& tools,
                                                 const Order& order) {
  std::unique_ptr<GpuBench> bench(new GpuBench(gpu, tools, order));
  std::uint64_t bytes = 0;
  for (const std::size_t size : bench->buffer_bytes_) bytes += size;
  std::uint64_t copies = 1;
  std::size_t free_bytes = 0, total_bytes = 0;
  const Driver& driver = gpu.driver();
  if (DriverStatus done = driver.MemoryInfo(&free_bytes, &total_bytes); !done) {
    return Error{"cuda: " + driver.Describe(done), Advice::kRetry};
  }
  if (order.timing.cold_cache && bytes > 0) {
    const std::uint64_t wanted =
        std::min<std::uint64_t>(3 * gpu.properties().l2_bytes, free_bytes / 2);
    copies = std::clamp<std::uint64_t>(wanted / bytes + 1, 2, kMaxCopies);
  }
  for (std::uint64_t c = 0; c < copies; ++c) {
    Copy copy;
    for (const std::size_t size : bench->buffer_bytes_) {
      GuardedGpuMemory memory;
      if (DriverStatus done = memory.Allocate(gpu, size); !done) {
        return Error{"cuda: buffers of " + std::to_string(bytes) + " B, " + std::to_string(copies) +
                         " of each, with " + std::to_string(free_bytes) +
                         " B of the GPU free: " + driver.Describe(done),
                     Advice::kRetry};
      }
      copy.addresses.push_back(memory.data());
      copy.arrays.push_back(std::move(memory));
      copy.changed.push_back(GpuTools::kNone);
    }
    bench->copies_.push_back(std::move(copy));
  }
  return bench;
}

GpuBench::~GpuBench() {
  for (const CuEvent event : events_) static_cast<void>(gpu_.driver().EventDestroy(event).code);
}

void GpuBench::Use(GpuOrderSets sets, const Order& order) {
  sets_ = std::move(sets);
  plan_ = order.check;
  timing_ = order.timing;
}

DriverStatus GpuBench::LoadInputs(const GpuInputSet& set) {
  for (Copy& copy : copies_) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const GpuMemory& contents = set.contents[i];
      copy.changed[i] = GpuTools::kNone;
      if (contents.bytes() == 0) continue;
      PAWL_PASS(gpu_.driver().CopyOnDevice(copy.addresses[i], contents.address(), contents.bytes(),
                                           gpu_.stream()));
    }
  }
  for (const auto& held : sets_.timed) {
    if (held.get() == &set) loaded_ = held;
  }
  if (sets_.hidden.get() == &set) loaded_ = sets_.hidden;
  if (sets_.sibling.get() == &set) loaded_ = sets_.sibling;
  CHECK(loaded_.get() == &set);
  return {};
}

DriverStatus GpuBench::PoisonOutputs(bool plausible) {
  ++poisons_;
  for (const Copy& copy : copies_) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].role != BufferRole::kOutput) continue;
      if (plausible) {
        const auto count = static_cast<std::uint64_t>(buffers_[i].Elements());
        PAWL_PASS(tools_.Plausible(buffers_[i], copy.addresses[i], loaded_->expected[i].address(),
                                   plan_.rtol, plan_.atol, 1 + Mix(poisons_) % count));
      } else {
        PAWL_PASS(gpu_.driver().SetBytes(copy.addresses[i], 0xff, buffer_bytes_[i], gpu_.stream()));
      }
    }
  }
  return {};
}

// Queues the nudges of all inputs of a copy, as few launches as can be: they stand between timed
// calls.
template <typename Choose>
DriverStatus GpuBench::NudgeInputs(Copy& copy, const Choose& choose) {
  Nudges nudges;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const GpuMemory& contents = loaded_->contents[i];
    if (contents.bytes() == 0) continue;
    const std::size_t size = SizeOf(buffers_[i].dtype);
    const auto count = static_cast<std::uint64_t>(contents.bytes() / size);
    const std::uint64_t element = choose(i, count);
    if (element == copy.changed[i]) continue;
    nudges.of[nudges.count++] = {copy.addresses[i],
                                 contents.address(),
                                 copy.changed[i],
                                 element,
                                 element + 1 < count ? element + 1 : 0,
                                 size};
    copy.changed[i] = element;
    if (nudges.count < Nudges::kMost) continue;
    PAWL_PASS(tools_.Apply(nudges));
    nudges.count = 0;
  }
  return tools_.Apply(nudges);
}

static_assert(GpuTools::kNone == kNoElement);

DriverStatus GpuBench::ChangeInputs(Copy& copy) {
  ++changes_;
  return NudgeInputs(copy, [this](std::size_t i, std::uint64_t count) {
    return Nudged(buffers_[i], Mix(changes_ * kGolden + i) % count);
  });
}

DriverStatus GpuBench::RestoreInputs() {
  for (Copy& copy : copies_) {
    PAWL_PASS(NudgeInputs(copy, [](std::size_t, std::uint64_t) { return GpuTools::kNone; }));
  }
  return {};
}

GpuBench::Copy& GpuBench::NextCopy() {
  Copy& copy = copies_[next_copy_];
  if (++next_copy_ == copies_.size()) next_copy_ = 0;
  written_ = &copy;
  return copy;
}

DriverStatus GpuBench::CallOn(const GpuArm& arm, const Copy& copy) const {
  return arm.Call(copy.addresses, buffer_bytes_, scalars_);
}

DriverStatus GpuBench::CallNext(const GpuArm& arm) {
  Copy& copy = NextCopy();
  PAWL_PASS(ChangeInputs(copy));
  return CallOn(arm, copy);
}

DriverStatus GpuBench::SpoilOutputs() {
  ++poisons_;
  for (const Copy& copy : copies_) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].role != BufferRole::kOutput) continue;
      PAWL_PASS(tools_.Spoil(buffers_[i], copy.addresses[i], Mix(poisons_ * kGolden + i) >> 1));
    }
  }
  return {};
}

DriverStatus GpuBench::BeforeLast(std::uint32_t input_set) {
  if (input_set == 0) {
    PAWL_PASS(LoadInputs(*sets_.sibling));
    return SpoilOutputs();
  }
  PAWL_PASS(RestoreInputs());
  return PoisonOutputs(Mix(poisons_ * kGolden) % 2 == 0);
}

// One count for each side of each array, for each input's bytes and for each output.
GpuCheck GpuBench::Verify(const GpuArm& arm, const Copy& written) {
  GpuCheck check;
  const auto count = [&]() -> DriverStatus {
    PAWL_PASS(tools_.Begin(copies_.size() * buffers_.size() * 3 + arm.scratch().size() * 2));
    const auto guards = [&](const GuardedGpuMemory& memory) -> DriverStatus {
      constexpr std::uint64_t kWords = GuardedGpuMemory::kGuardBytes / 4;
      PAWL_PASS(tools_.Words(memory.before(), kWords, GuardedGpuMemory::kPattern));
      return tools_.Words(memory.after(), kWords, GuardedGpuMemory::kPattern);
    };
    for (const Copy& copy : copies_) {
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        PAWL_PASS(guards(copy.arrays[i]));
        const GpuMemory& contents = loaded_->contents[i];
        if (contents.bytes() > 0) {
          PAWL_PASS(tools_.Bytes(copy.addresses[i], contents.address(), contents.bytes()));
        } else if (&copy == &written) {
          PAWL_PASS(tools_.Compare(buffers_[i], copy.addresses[i], loaded_->expected[i].address(),
                                   plan_.rtol, plan_.atol));
        }
      }
    }
    for (const GuardedGpuMemory& memory : arm.scratch()) PAWL_PASS(guards(memory));
    return tools_.Read();
  };
  check.status = count();
  if (!check.status) return check;

  std::size_t at = 0;
  for (const Copy& copy : copies_) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      for (int side = 0; side < 2; ++side) check.passed &= tools_.found(at++).count == 0;
      if (loaded_->contents[i].bytes() > 0) {
        check.passed &= tools_.found(at++).count == 0;
      } else if (&copy == &written) {
        const Found& found = tools_.found(at++);
        check.elements += static_cast<std::uint64_t>(buffers_[i].Elements());
        check.wrong += found.count;
        check.max_abs_error =
            std::max(check.max_abs_error, std::bit_cast<double>(found.max_error_bits));
        check.passed &= found.count == 0;
      }
    }
  }
  for (std::size_t i = 0; i < arm.scratch().size() * 2; ++i) {
    check.passed &= tools_.found(at++).count == 0;
  }
  if (!check.passed) Explain(arm, written, check);
  return check;
}

// Something is wrong: all is fetched and looked at here, element by element. What should not have
// been touched comes first: it is the better explanation of a wrong output.
void GpuBench::Explain(const GpuArm& arm, const Copy& written, GpuCheck& check) {
  const auto fetch = [&](CuAddress from, std::size_t bytes) {
    std::vector<std::byte> contents(bytes);
    if (check.status && bytes > 0) {
      check.status = gpu_.driver().CopyToHost(contents.data(), from, bytes, gpu_.stream());
    }
    if (check.status) check.status = gpu_.Synchronize();
    return contents;
  };
  const auto say = [&](std::string detail) {
    if (check.detail.empty()) check.detail = std::move(detail);
  };
  const auto guards = [&](const GuardedGpuMemory& memory, const std::string& name,
                          std::size_t element_bytes, std::int64_t elements) {
    const auto changed = [](const std::vector<std::byte>& words, std::size_t at) {
      std::uint32_t word = 0;
      std::memcpy(&word, words.data() + at, 4);
      return word != GuardedGpuMemory::kPattern;
    };
    const std::vector<std::byte> after = fetch(memory.after(), GuardedGpuMemory::kGuardBytes);
    for (std::size_t at = 0; at < after.size(); at += 4) {
      if (!check.status || !changed(after, at)) continue;
      return say(DescribeTouch(name, element_bytes, elements,
                               static_cast<std::int64_t>(memory.bytes() + at)));
    }
    const std::vector<std::byte> before = fetch(memory.before(), GuardedGpuMemory::kGuardBytes);
    for (std::size_t at = before.size(); at >= 4; at -= 4) {
      if (!check.status || !changed(before, at - 4)) continue;
      return say(DescribeTouch(
          name, element_bytes, elements,
          static_cast<std::int64_t>(at - 4) - static_cast<std::int64_t>(before.size())));
    }
  };
  for (const Copy& copy : copies_) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      guards(copy.arrays[i], buffers_[i].name, SizeOf(buffers_[i].dtype), buffers_[i].Elements());
      const GpuMemory& contents = loaded_->contents[i];
      if (contents.bytes() == 0) continue;
      const std::vector<std::byte> original = fetch(contents.address(), contents.bytes());
      const std::vector<std::byte> now = fetch(copy.addresses[i], contents.bytes());
      const auto changed = std::mismatch(original.begin(), original.end(), now.begin()).first;
      if (!check.status || changed == original.end()) continue;
      say("changed its input " +
          ElementName(buffers_[i], (changed - original.begin()) /
                                       static_cast<std::int64_t>(SizeOf(buffers_[i].dtype))));
    }
  }
  const std::vector<GuardedGpuMemory>& scratch = arm.scratch();
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    guards(scratch[i], arm.arm().scratch[i].name, SizeOf(arm.arm().scratch[i].dtype),
           arm.arm().scratch[i].elements);
  }
  for (std::size_t i = 0; i < buffers_.size() && check.status; ++i) {
    if (buffers_[i].role != BufferRole::kOutput) continue;
    const std::vector<std::byte> out = fetch(written.addresses[i], buffer_bytes_[i]);
    const std::vector<std::byte> expected =
        fetch(loaded_->expected[i].address(), loaded_->expected[i].bytes());
    const Comparison compared =
        Compare(buffers_[i], out.data(), reinterpret_cast<const double*>(expected.data()),
                plan_.rtol, plan_.atol);
    if (compared.wrong > 0) say(compared.detail);
  }
  if (check.detail.empty())
    say("wrong when counted, right when looked at again: written after its end");
}

GpuCheck GpuBench::Check(const GpuArm& arm, const GpuInputSet& set) {
  GpuCheck whole;
  for (const bool plausible : {false, true}) {
    const auto call = [&]() -> DriverStatus {
      if (!plausible) PAWL_PASS(LoadInputs(set));  // the first call has left them as they were
      PAWL_PASS(PoisonOutputs(plausible));
      if (!plausible) PAWL_PASS(arm.PoisonScratch());
      return CallOn(arm, copies_.front());
    };
    whole.status = call();
    if (!whole.status) return whole;
    GpuCheck check = Verify(arm, copies_.front());
    whole.status = check.status;
    whole.passed = check.passed;
    whole.elements += check.elements;
    whole.wrong += check.wrong;
    whole.max_abs_error = std::max(whole.max_abs_error, check.max_abs_error);
    whole.detail = std::move(check.detail);
    if (!whole.status || !whole.passed) return whole;
  }
  return whole;
}

}  // namespace pawl
