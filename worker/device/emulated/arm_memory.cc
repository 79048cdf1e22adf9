#include "worker/device/emulated/arm_memory.h"

#include <algorithm>
#include <utility>

namespace pawl {

Result<ArmMemory> ArmMemory::Allocate(const Order& order, const Arm& arm) {
  ArmMemory memory;
  const auto add = [&](Buffer buffer, bool writable, bool scratch) -> Status {
    const std::size_t bytes = static_cast<std::size_t>(buffer.Elements()) * SizeOf(buffer.dtype);
    Result<GuardedMemory> guarded =
        GuardedMemory::Allocate(bytes, static_cast<std::uint32_t>(memory.guarded.size()));
    if (!guarded) return guarded.error();
    memory.guarded.push_back(std::move(*guarded));
    GlobalRange range;
    range.buffer = std::move(buffer);
    range.data = static_cast<std::byte*>(memory.guarded.back().data());
    range.bytes = bytes;
    range.writable = writable;
    range.scratch = scratch;
    memory.ranges.push_back(std::move(range));
    return {};
  };
  for (const Buffer& buffer : order.buffers) {
    Status added = add(buffer, buffer.role == BufferRole::kOutput, false);
    if (!added) return added.error();
  }
  for (const Scratch& scratch : arm.scratch) {
    Buffer buffer{scratch.name, scratch.dtype, BufferRole::kOutput, {scratch.elements}, {}};
    if (Status added = add(std::move(buffer), true, true); !added) return added.error();
  }
  return memory;
}

std::uint64_t MemoryFor(const Order& order, bool watched) {
  // A cell, a stamp and its lists a word.
  constexpr std::uint64_t kWatched =
      sizeof(WatchedWord) + sizeof(std::uint32_t) + sizeof(WatchedWords::Lists);
  const std::uint64_t watch = watched ? kWatched / 4 : 0;
  std::uint64_t buffers = 0, set = 0;
  for (const Buffer& buffer : order.buffers) {
    const auto elements = static_cast<std::uint64_t>(buffer.Elements());
    const std::uint64_t bytes = elements * SizeOf(buffer.dtype);
    const bool output = buffer.role == BufferRole::kOutput;
    buffers += bytes * (output ? 2 + watch : 1);  // with what the run before has left
    set += output ? elements * sizeof(double) : bytes;
  }
  std::uint64_t scratch = 0;
  for (const Arm& arm : order.arms) {
    std::uint64_t its = 0;
    for (const Scratch& each : arm.scratch) {
      its += static_cast<std::uint64_t>(each.elements) * SizeOf(each.dtype) * (1 + watch);
    }
    scratch = std::max(scratch, its);
  }
  const std::uint64_t sets = order.input_seeds.size() + 2;  // the hidden one and the sibling
  return buffers + scratch + sets * set;
}

}  // namespace pawl
