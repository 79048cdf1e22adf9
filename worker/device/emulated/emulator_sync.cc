#include <array>
#include <cstdio>
#include <cstring>

#include "worker/device/emulated/emulator_state.h"

namespace pawl {

std::string SiteText(const PawlSite& site) {
  if (site.file == nullptr) return "";
  return std::string(" (") + site.file + ":" + std::to_string(site.line) + ")";
}

const char* WarpOperationName(int operation) {
  switch (operation) {
    case kPawlSyncWarp:
      return "__syncwarp()";
    case kPawlShuffle:
      return "__shfl_sync()";
    case kPawlShuffleUp:
      return "__shfl_up_sync()";
    case kPawlShuffleDown:
      return "__shfl_down_sync()";
    case kPawlShuffleXor:
      return "__shfl_xor_sync()";
    case kPawlBallot:
      return "__ballot_sync()";
    case kPawlAny:
      return "__any_sync()";
    case kPawlAll:
      return "__all_sync()";
    default:
      return "__activemask()";
  }
}

std::string MaskText(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", mask);
  return text;
}

// The lanes of a warp that there are.
std::uint32_t Emulator::State::Existing(std::uint32_t warp) const {
  const std::uint32_t left = threads - warp * kLanes;
  return left >= kLanes ? ~0u : (1u << left) - 1;
}

int Emulator::State::Barrier(int kind, int predicate, PawlSite site) {
  Fiber& self = *current;
  Block& block = blocks[self.rank];
  self.kind = kind;
  self.predicate = predicate;
  self.site = site;
  if (++block.waiting < threads) {
    Wait(Waiting::kAtBarrier, site);
    return static_cast<int>(self.result);
  }
  int count = 0;
  for (const Fiber* other : block.fibers) {
    if (other->site.line != site.line || std::strcmp(other->site.file, site.file) != 0) {
      watch.Fail(
          "the threads of a block wait at different barriers, so one lies in a divergent "
          "branch: " +
              watch.Describe(other->rank, other->thread) + " at" + SiteText(other->site) + ", " +
              watch.DescribeCurrent() + " at" + SiteText(site),
          nullptr, site);
    }
    count += other->predicate != 0 ? 1 : 0;
  }
  const bool all = count == static_cast<int>(threads);
  const int result = kind == kPawlSyncCount ? count : kind == kPawlSyncAnd ? all : count > 0;
  block.waiting = 0;
  for (Fiber* other : block.fibers) {
    other->status = Waiting::kReady;
    other->result = static_cast<std::uint64_t>(result);
  }
  watch.PassBarrier(self.rank);
  TakeTurn(Released::kBlock);
  return result;
}

std::uint64_t Emulator::State::Warp(int operation, std::uint32_t mask, std::uint64_t value,
                                    std::uint32_t parameter, std::uint32_t width, PawlSite site) {
  Fiber& self = *current;
  const std::uint32_t warp = self.thread / kLanes;
  const std::uint32_t lane = self.thread % kLanes;
  if ((mask >> lane & 1) == 0) {
    watch.Fail(watch.DescribeCurrent() + " is lane " + std::to_string(lane) +
                   ", which is not in the mask " + MaskText(mask) + " of its " +
                   WarpOperationName(operation),
               nullptr, site);
  }
  self.kind = operation;
  self.mask = mask;
  self.value = value;
  self.parameter = parameter;
  self.width = width;
  self.site = site;
  self.status = Waiting::kInWarp;
  Block& block = blocks[self.rank];
  if (FinishWarp(block, warp, mask & Live(block, warp), operation)) {
    TakeTurn(Released::kWarp);
  } else {
    Wait(Waiting::kInWarp, site);
  }
  return self.result;
}

void Emulator::State::EndLane(Block& block, const Fiber& fiber) {
  const std::uint32_t warp = fiber.thread / kLanes;
  block.ended[warp] |= 1u << fiber.thread % kLanes;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((Live(block, warp) >> lane & 1) == 0) continue;
    const Fiber& other = *block.fibers[warp * kLanes + lane];
    if (other.status == Waiting::kInWarp && other.kind != kPawlActive) {
      if (FinishWarp(block, warp, other.mask & Live(block, warp), other.kind)) {
        released = Released::kWarp;
      }
    }
  }
}

// CUDA promises nothing of which lanes are active together: a kernel must be right with all that
// can be, and with each alone.
std::uint32_t Emulator::State::ActiveLanes(PawlSite site) {
  Fiber& self = *current;
  self.kind = kPawlActive;
  self.mask = 0;
  Wait(Waiting::kInWarp, site);
  return static_cast<std::uint32_t>(self.result);
}

// True: lanes that have asked for __activemask() go on.
bool Emulator::State::ReleaseActive(Block& block, std::uint32_t warp) {
  const std::uint32_t live = Live(block, warp);
  std::uint32_t together = 0;
  PawlSite site{};
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const std::uint32_t lane = order.descending ? kLanes - 1 - i : i;
    if ((live >> lane & 1) == 0) continue;
    const Fiber& fiber = *block.fibers[warp * kLanes + lane];
    if (fiber.status != Waiting::kInWarp || fiber.kind != kPawlActive) continue;
    if (together == 0) site = fiber.site;
    if (fiber.site.line != site.line || std::strcmp(fiber.site.file, site.file) != 0) continue;
    together |= 1u << lane;
    if (order.descending) break;
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((together >> lane & 1) == 0) continue;
    Fiber& fiber = *block.fibers[warp * kLanes + lane];
    fiber.result = together;
    fiber.status = Waiting::kReady;
  }
  return together != 0;
}

// Once every lane of the mask is there: gives each its result and lets it go.
bool Emulator::State::FinishWarp(Block& block, std::uint32_t warp, std::uint32_t mask,
                                 int operation) {
  Fiber* const* const lanes = block.fibers.data() + warp * kLanes;
  const std::uint32_t live = Live(block, warp);
  std::uint32_t ballot = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const Fiber& other = *lanes[lane];
    if (other.status != Waiting::kInWarp || other.kind != operation ||
        (other.mask & live) != mask) {
      return false;
    }
    if (other.value != 0) ballot |= 1u << lane;
  }
  std::array<std::uint64_t, kLanes> results{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const Fiber& other = *lanes[lane];
    if (operation == kPawlSyncWarp) continue;
    if (operation >= kPawlBallot) {
      results[lane] = operation == kPawlBallot ? ballot
                      : operation == kPawlAny  ? ballot != 0
                                               : ballot == mask;
      continue;
    }
    const std::uint32_t width = other.width;
    const std::uint32_t first = lane / width * width;
    std::uint32_t source = lane;
    if (operation == kPawlShuffle) source = first + other.parameter % width;
    if (operation == kPawlShuffleUp && other.parameter <= lane - first) {
      source = lane - other.parameter;
    }
    if (operation == kPawlShuffleDown && other.parameter < first + width - lane) {
      source = lane + other.parameter;
    }
    if (operation == kPawlShuffleXor && (lane ^ other.parameter) < first + width) {
      source = lane ^ other.parameter;
    }
    if ((mask >> source & 1) == 0) {
      const bool left = (block.ended[warp] & other.mask) >> source & 1;
      watch.Fail(watch.Describe(other.rank, other.thread) + " reads lane " +
                     std::to_string(source) + " by " + WarpOperationName(operation) +
                     (left ? ", which has left the kernel"
                           : ", which is not in its mask " + MaskText(mask)),
                 nullptr, other.site);
    }
    results[lane] = lanes[source]->value;
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    lanes[lane]->result = results[lane];
    lanes[lane]->status = Waiting::kReady;
  }
  // Only __syncwarp orders memory.
  if (operation == kPawlSyncWarp && order.watched) {
    watch.MeetLanes(lanes[0]->rank, warp, mask, mask == Existing(warp));
  }
  return true;
}

void Emulator::State::ClusterBarrier(PawlSite site) {
  current->site = site;
  if (++at_cluster_barrier < threads * blocks.size()) {
    return Wait(Waiting::kAtClusterBarrier, site);
  }
  at_cluster_barrier = 0;
  for (Block& block : blocks) {
    for (Fiber* fiber : block.fibers) fiber->status = Waiting::kReady;
  }
  watch.PassClusterBarrier();
  TakeTurn(Released::kCluster);
}

}  // namespace pawl
