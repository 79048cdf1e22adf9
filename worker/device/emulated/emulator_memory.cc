#include <cstring>

#include "worker/device/emulated/emulator_state.h"

namespace pawl {

void Emulator::State::Land(const PendingCopy& copy) {
  if (copy.whole) {
    std::memcpy(copy.to, copy.from, copy.bytes);
  } else {
    std::memset(copy.to, 0, copy.bytes);
  }
}

void Emulator::State::Copy(PendingCopy copy) {
  if (order.watched) watch.IssueCopy(copy);
  if (!order.land_at_wait) Land(copy);
  copy.group = current->groups;
  current->copies.push_back(copy);
  ++watch.copies_in_flight;
}

void Emulator::State::WaitCopies(std::uint32_t latest) {
  Fiber& self = *current;
  std::erase_if(self.copies, [&](const PendingCopy& copy) {
    if (copy.group + latest >= self.groups) return false;
    if (order.land_at_wait) Land(copy);
    if (order.watched) watch.LandCopy(copy);
    --watch.copies_in_flight;
    return true;
  });
}

const PendingCopy* Emulator::State::ReadingCopy(std::uintptr_t at, std::size_t bytes) const {
  for (const Block& block : blocks) {
    for (const Fiber* fiber : block.fibers) {
      for (const PendingCopy& copy : fiber->copies) {
        const std::uintptr_t from = kernel->HomeOf(reinterpret_cast<std::uintptr_t>(copy.from));
        if (copy.whole && at < from + copy.bytes && from < at + bytes) return &copy;
      }
    }
  }
  return nullptr;
}

void* Emulator::State::MapShared(const void* shared, std::uint32_t rank, PawlSite site) {
  const auto at = static_cast<const std::byte*>(shared);
  if (rank >= blocks.size()) {
    watch.Fail(watch.DescribeCurrent() + " maps shared memory of rank " + std::to_string(rank) +
                   " of a cluster of " + std::to_string(blocks.size()) + " blocks",
               nullptr, site);
  }
  const BlockMemory& mine = watch.blocks[current->rank];
  const BlockMemory& its = watch.blocks[rank];
  if (at >= mine.fixed && at < mine.fixed + mine.fixed_bytes) return its.fixed + (at - mine.fixed);
  if (at >= mine.dynamic && at < mine.dynamic + mine.dynamic_bytes) {
    return its.dynamic + (at - mine.dynamic);
  }
  watch.Fail(watch.DescribeCurrent() + " maps " +
                 watch.NameOf(reinterpret_cast<std::uintptr_t>(shared), 1) +
                 ", which is not its block's shared memory",
             nullptr, site);
}

}  // namespace pawl
