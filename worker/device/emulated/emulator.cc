#include "worker/device/emulated/emulator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstring>
#include <utility>

#include "schema/check.h"

namespace pawl {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t kStackBytes = 64 << 10;  // of a thread: its local memory
constexpr std::size_t kGuardBytes = 4 << 10;
constexpr std::uint32_t kLanes = 32;
constexpr std::size_t kAlignment = 1024;  // of dynamic shared memory

enum class Waiting : std::uint8_t { kReady, kAtBarrier, kInWarp, kAtClusterBarrier, kDone };

struct Fiber {
  Emulator::State* machine = nullptr;
  context::fcontext_t context = nullptr;
  std::uint16_t rank = 0;
  std::uint16_t thread = 0;  // in its block
  PawlIndex index{};
  Waiting status = Waiting::kReady;
  PawlSite site{};  // where it waits
  int kind = 0;     // of the barrier or warp operation
  int predicate = 0;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;
  std::uint32_t parameter = 0;
  std::uint32_t width = 32;
  std::uint64_t result = 0;
  std::vector<PendingCopy> copies;
  std::uint32_t groups = 0;  // committed
};

struct Block {
  std::vector<Fiber*> fibers;
  std::vector<std::uint16_t> syncs;  // __syncwarp passed, by warp
  std::uint32_t waiting = 0;         // at its barrier
  std::uint32_t done = 0;
};

std::string Text(const PawlSite& site) {
  if (site.file == nullptr) return "";
  return std::string(" (") + site.file + ":" + std::to_string(site.line) + ")";
}

const char* NameOf(int operation) {
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
    default:
      return "a vote";
  }
}

std::string Hex(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", mask);
  return text;
}

PawlIndex IndexOf(std::uint64_t linear, const std::array<std::uint32_t, 3>& extent) {
  const std::uint64_t plane = linear / extent[0];
  return {static_cast<unsigned>(linear % extent[0]), static_cast<unsigned>(plane % extent[1]),
          static_cast<unsigned>(plane / extent[1])};
}

std::uint64_t Volume(const std::array<std::uint32_t, 3>& extent) {
  return std::uint64_t{extent[0]} * extent[1] * extent[2];
}

}  // namespace

struct Emulator::State {
  explicit State(Watch& its_watch) : watch(its_watch) {}
  ~State() {
    if (stacks != nullptr) ::munmap(stacks, stack_count * (kStackBytes + kGuardBytes));
  }

  // Of the launch.
  Watch& watch;
  KernelObject* kernel = nullptr;
  const Launch* launch = nullptr;
  std::size_t launch_index = 0;
  RunOrder order;
  std::vector<void*> buffers, scratch;
  std::vector<long long> scalars;
  std::uint32_t threads = 0;  // of a block

  std::byte* stacks = nullptr;
  std::size_t stack_count = 0;
  std::vector<Fiber> fibers;
  std::vector<Block> blocks;
  std::vector<std::vector<std::byte>> dynamic;
  std::uint32_t at_cluster_barrier = 0;

  context::fcontext_t scheduler = nullptr;
  Fiber* current = nullptr;
  std::optional<Finding> found;

  void MakeFibers(std::uint32_t count);
  void Start(Fiber& fiber);
  void Resume(Fiber& fiber);
  void Yield();
  void Wait(Waiting status, PawlSite site);
  static void Enter(context::transfer_t from);

  void RunCluster(std::uint64_t number);
  bool RunWarp(Block& block, std::uint32_t warp);
  void Diagnose();
  std::string Where(const Fiber& fiber) const;

  int Barrier(int kind, int predicate, PawlSite site);
  std::uint64_t Warp(int operation, std::uint32_t mask, std::uint64_t value,
                     std::uint32_t parameter, std::uint32_t width, PawlSite site);
  bool FinishWarp(Block& block, std::uint32_t warp, std::uint32_t mask, int operation);
  std::uint32_t Existing(std::uint32_t warp) const;
  void ClusterBarrier(PawlSite site);
  void Copy(PendingCopy copy);
  void Land(const PendingCopy& copy);
  void WaitCopies(std::uint32_t latest);
  void* MapShared(const void* shared, std::uint32_t rank, PawlSite site);
  const PendingCopy* ReadingCopy(const std::byte* at, std::size_t bytes) const;
  void SetHooks(LoadedKernel& load);
};

void Emulator::State::MakeFibers(std::uint32_t count) {
  if (count > stack_count) {
    constexpr std::size_t kEach = kStackBytes + kGuardBytes;
    if (stacks != nullptr) ::munmap(stacks, stack_count * kEach);
    void* const mapping = ::mmap(nullptr, count * kEach, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapping != MAP_FAILED, "no memory for the stacks of", count, "threads");
    stacks = static_cast<std::byte*>(mapping);
    stack_count = count;
    // A thread that overflows its local memory ends the process here, not in its neighbour's.
    for (std::uint32_t i = 0; i < count; ++i) {
      CHECK(::mprotect(stacks + i * kEach, kGuardBytes, PROT_NONE) == 0);
    }
  }
  if (fibers.size() < count) fibers.resize(count);
}

void Emulator::State::Start(Fiber& fiber) {
  const auto number = static_cast<std::size_t>(&fiber - fibers.data());
  std::byte* const top = stacks + (number + 1) * (kStackBytes + kGuardBytes);
  fiber.context = context::make_fcontext(top, kStackBytes, &Enter);
  fiber.machine = this;
  fiber.status = Waiting::kReady;
  fiber.copies.clear();
  fiber.groups = 0;
}

void Emulator::State::Enter(context::transfer_t from) {
  auto& fiber = *static_cast<Fiber*>(from.data);
  State& state = *fiber.machine;
  state.scheduler = from.fctx;
  const LoadedKernel& load = state.kernel->loads()[fiber.rank];
  load.launches[state.launch_index](state.buffers.data(), state.scalars.data(),
                                    state.scratch.data());
  Block& block = state.blocks[fiber.rank];
  if (++block.done == state.threads && state.blocks.size() > 1 && state.order.watched) {
    state.watch.LeaveBlock(fiber.rank, {});
  }
  fiber.status = Waiting::kDone;
  context::jump_fcontext(state.scheduler, nullptr);
}

void Emulator::State::Resume(Fiber& fiber) {
  current = &fiber;
  LoadedKernel& load = kernel->loads()[fiber.rank];
  load.unit->position->thread = fiber.index;
  watch.Run(fiber.rank, fiber.thread, blocks[fiber.rank].syncs[fiber.thread / kLanes]);
  const context::transfer_t back = context::jump_fcontext(fiber.context, &fiber);
  fiber.context = back.fctx;
}

void Emulator::State::Yield() {
  const context::transfer_t back = context::jump_fcontext(scheduler, nullptr);
  scheduler = back.fctx;
}

void Emulator::State::Wait(Waiting status, PawlSite site) {
  current->status = status;
  current->site = site;
  Fiber& self = *current;
  while (self.status != Waiting::kReady) Yield();
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
              watch.Describe(other->rank, other->thread) + " at" + Text(other->site) + ", " +
              watch.DescribeCurrent() + " at" + Text(site),
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
  return result;
}

std::uint64_t Emulator::State::Warp(int operation, std::uint32_t mask, std::uint64_t value,
                                    std::uint32_t parameter, std::uint32_t width, PawlSite site) {
  Fiber& self = *current;
  const std::uint32_t warp = self.thread / kLanes;
  const std::uint32_t lane = self.thread % kLanes;
  if ((mask >> lane & 1) == 0) {
    watch.Fail(watch.DescribeCurrent() + " is lane " + std::to_string(lane) +
                   ", which is not in the mask " + Hex(mask) + " of its " + NameOf(operation),
               nullptr, site);
  }
  self.kind = operation;
  self.mask = mask;
  self.value = value;
  self.parameter = parameter;
  self.width = width;
  self.site = site;
  self.status = Waiting::kInWarp;
  if (!FinishWarp(blocks[self.rank], warp, mask & Existing(warp), operation)) {
    Wait(Waiting::kInWarp, site);
  }
  return self.result;
}

// Once every lane of the mask is there: gives each its result and lets it go.
bool Emulator::State::FinishWarp(Block& block, std::uint32_t warp, std::uint32_t mask,
                                 int operation) {
  Fiber* const* const lanes = block.fibers.data() + warp * kLanes;
  std::uint32_t ballot = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const Fiber& other = *lanes[lane];
    if (other.status != Waiting::kInWarp || other.kind != operation ||
        (other.mask & Existing(warp)) != mask) {
      return false;
    }
    if (other.value != 0) ballot |= 1u << lane;
  }
  std::array<std::uint64_t, kLanes> results{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const Fiber& other = *lanes[lane];
    if (operation == kPawlSyncWarp) continue;
    if (operation == kPawlBallot) {
      results[lane] = ballot;
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
      watch.Fail(watch.Describe(other.rank, other.thread) + " reads lane " +
                     std::to_string(source) + " by " + NameOf(operation) +
                     ", which is not in its mask " + Hex(mask),
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
  if (operation == kPawlSyncWarp) watch.SetSync(++block.syncs[warp]);
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
}

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

const PendingCopy* Emulator::State::ReadingCopy(const std::byte* at, std::size_t bytes) const {
  for (const Block& block : blocks) {
    for (const Fiber* fiber : block.fibers) {
      for (const PendingCopy& copy : fiber->copies) {
        if (copy.whole && at < copy.from + copy.bytes && copy.from < at + bytes) return &copy;
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

namespace {

Emulator::State& At(void* machine) { return *static_cast<Emulator::State*>(machine); }

template <unsigned kBytes, bool kWrite>
void OnAccess(void* machine, const void* at, const void* from) {
  At(machine).watch.Access<kBytes, kWrite>(reinterpret_cast<std::uintptr_t>(at), from);
}

// What the compiler describes an array index with (libubsan's ubsan_handlers.h): a place in the
// source, the array's type, the index's.
struct IndexData {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];
  } * array;
};

void OnOutOfBounds(void* machine, const void* data, unsigned long index, const void*) {
  const auto& where = *static_cast<const IndexData*>(data);
  Watch& watch = At(machine).watch;
  watch.Fail(watch.DescribeCurrent() + " uses index " + std::to_string(static_cast<long>(index)) +
                 " of an array of type " + where.array->name,
             nullptr, {where.file, static_cast<int>(where.line)});
}

}  // namespace

void Emulator::State::SetHooks(LoadedKernel& load) {
  PawlHooks& hooks = *load.unit->hooks;
  hooks.machine = this;
  hooks.read[0] = &OnAccess<1, false>;
  hooks.read[1] = &OnAccess<2, false>;
  hooks.read[2] = &OnAccess<4, false>;
  hooks.read[3] = &OnAccess<8, false>;
  hooks.read[4] = &OnAccess<16, false>;
  hooks.write[0] = &OnAccess<1, true>;
  hooks.write[1] = &OnAccess<2, true>;
  hooks.write[2] = &OnAccess<4, true>;
  hooks.write[3] = &OnAccess<8, true>;
  hooks.write[4] = &OnAccess<16, true>;
  hooks.read_range = [](void* m, const void* at, unsigned long bytes, const void* from) {
    At(m).watch.AccessRange(reinterpret_cast<std::uintptr_t>(at), bytes, false, from);
  };
  hooks.write_range = [](void* m, const void* at, unsigned long bytes, const void* from) {
    At(m).watch.AccessRange(reinterpret_cast<std::uintptr_t>(at), bytes, true, from);
  };
  hooks.out_of_bounds = &OnOutOfBounds;
  hooks.atomic = [](void* m, const void* at, unsigned bytes, PawlSite site) {
    if (!At(m).order.watched) return;
    At(m).watch.Atomic(reinterpret_cast<std::uintptr_t>(at), bytes, site);
  };
  hooks.barrier = [](void* m, int kind, int predicate, PawlSite site) {
    return At(m).Barrier(kind, predicate, site);
  };
  hooks.warp = [](void* m, int operation, unsigned mask, unsigned long long value,
                  unsigned parameter, unsigned width, PawlSite site) -> unsigned long long {
    return At(m).Warp(operation, mask, value, parameter, width, site);
  };
  hooks.active_lanes = [](void* m) {
    const State& state = At(m);
    const std::uint32_t warp = state.current->thread / kLanes;
    std::uint32_t lanes = state.Existing(warp);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const Fiber& other = *state.blocks[state.current->rank].fibers[warp * kLanes + lane];
      if (other.status == Waiting::kDone) lanes &= ~(1u << lane);
    }
    return lanes;
  };
  hooks.fence = [](void* m) { At(m).watch.Fence(); };
  hooks.copy = [](void* m, void* shared, const void* global, unsigned bytes, bool whole,
                  PawlSite site) {
    At(m).Copy({static_cast<std::byte*>(shared), static_cast<const std::byte*>(global), bytes,
                whole, 0, site});
  };
  hooks.copy_commit = [](void* m) { ++At(m).current->groups; };
  hooks.copy_wait = [](void* m, int latest) {
    At(m).WaitCopies(static_cast<std::uint32_t>(latest));
  };
  hooks.cluster_sync = [](void* m, PawlSite site) { At(m).ClusterBarrier(site); };
  hooks.map_shared = [](void* m, const void* shared, unsigned rank, PawlSite site) {
    return At(m).MapShared(shared, rank, site);
  };
  hooks.trap = [](void* m, const char* what, PawlSite site) {
    Watch& its = At(m).watch;
    its.Fail(its.DescribeCurrent() + " stops at " + what, nullptr, site);
  };
}

// True: some lane has run.
bool Emulator::State::RunWarp(Block& block, std::uint32_t warp) {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    const std::uint32_t first = warp * kLanes;
    const std::uint32_t count = std::min(kLanes, threads - first);
    for (std::uint32_t i = 0; i < count; ++i) {
      Fiber& fiber = *block.fibers[first + (order.descending ? count - 1 - i : i)];
      if (fiber.status != Waiting::kReady) continue;
      Resume(fiber);
      if (found) return false;
      any = again = true;
    }
  }
  return any;
}

void Emulator::State::RunCluster(std::uint64_t number) {
  const std::array<std::uint32_t, 3> clusters = {launch->grid[0] / launch->cluster[0],
                                                 launch->grid[1] / launch->cluster[1],
                                                 launch->grid[2] / launch->cluster[2]};
  const PawlIndex at = IndexOf(number, clusters);
  const auto size = static_cast<std::uint32_t>(blocks.size());
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const PawlIndex in = IndexOf(rank, launch->cluster);
    BlockMemory& memory = watch.blocks[rank];
    memory.index = {at.x * launch->cluster[0] + in.x, at.y * launch->cluster[1] + in.y,
                    at.z * launch->cluster[2] + in.z};
    // Not a number, nor a likely index.
    std::memset(memory.fixed, 0xff, memory.fixed_bytes);
    std::memset(memory.dynamic, 0xff, memory.dynamic_bytes);
    LoadedKernel& load = kernel->loads()[rank];
    load.unit->position->block = memory.index;
    Block& block = blocks[rank];
    block.waiting = block.done = 0;
    std::fill(block.syncs.begin(), block.syncs.end(), 0);
    for (Fiber* fiber : block.fibers) Start(*fiber);
  }
  at_cluster_barrier = 0;
  watch.BeginCluster();
  const std::uint32_t warps = (threads + kLanes - 1) / kLanes;
  for (bool progress = true; progress && !found;) {
    progress = false;
    for (std::uint32_t i = 0; i < size; ++i) {
      Block& block = blocks[order.descending ? size - 1 - i : i];
      for (std::uint32_t w = 0; w < warps && !found; ++w) {
        progress = RunWarp(block, order.descending ? warps - 1 - w : w) || progress;
      }
    }
  }
  if (!found) Diagnose();
}

std::string Emulator::State::Where(const Fiber& fiber) const {
  const std::string who = watch.Describe(fiber.rank, fiber.thread);
  switch (fiber.status) {
    case Waiting::kReady:
      return who + " runs";
    case Waiting::kAtBarrier:
      return who + " waits at __syncthreads()" + Text(fiber.site);
    case Waiting::kInWarp:
      return who + " waits in " + NameOf(fiber.kind) + " with mask " + Hex(fiber.mask) +
             Text(fiber.site);
    case Waiting::kAtClusterBarrier:
      return who + " waits at ClusterSync()" + Text(fiber.site);
    case Waiting::kDone:
      return who + " has left the kernel";
  }
  CHECK(false, static_cast<int>(fiber.status));
}

// Nobody can go on: all have ended, or some wait for what will never come.
void Emulator::State::Diagnose() {
  const Fiber* waiting = nullptr;
  for (const Block& block : blocks) {
    for (const Fiber* fiber : block.fibers) {
      if (fiber->status != Waiting::kDone && waiting == nullptr) waiting = fiber;
    }
  }
  if (waiting == nullptr) return;
  // One that the waiting thread waits for: of its warp, its block, its cluster.
  const Fiber* missing = nullptr;
  const bool cluster = waiting->status == Waiting::kAtClusterBarrier;
  for (const Block& block : blocks) {
    for (const Fiber* fiber : block.fibers) {
      if (missing != nullptr || (!cluster && fiber->rank != waiting->rank)) continue;
      const bool wanted = waiting->status != Waiting::kInWarp ||
                          (fiber->thread / kLanes == waiting->thread / kLanes &&
                           (waiting->mask >> fiber->thread % kLanes & 1) != 0);
      const bool elsewhere = fiber->status != waiting->status ||
                             (fiber->status == Waiting::kInWarp &&
                              (fiber->kind != waiting->kind || fiber->mask != waiting->mask));
      if (wanted && elsewhere) missing = fiber;
    }
  }
  std::string text = waiting->status == Waiting::kInWarp
                         ? "a warp operation that only some lanes of its mask reach: "
                         : "a barrier that only some threads reach: ";
  text += Where(*waiting) + ", " + (missing != nullptr ? Where(*missing) : "and nobody else");
  found = Finding{std::move(text), nullptr, waiting->site};
}

Emulator::Emulator(std::vector<GlobalRange> ranges)
    : watch_([this](Finding found) {
        state_->found = std::move(found);
        for (;;) state_->Yield();  // never resumed
      }),
      state_(std::make_unique<State>(watch_)) {
  watch_.ranges = std::move(ranges);
  watch_.is_private = [this](std::uintptr_t at) {
    const auto stacks = reinterpret_cast<std::uintptr_t>(state_->stacks);
    if (at - stacks < state_->stack_count * (kStackBytes + kGuardBytes)) return true;
    for (const LoadedKernel& load : state_->kernel->loads()) {
      if (load.Holds(at)) return true;
    }
    return false;
  };
  watch_.reading_copy = [this](const std::byte* at, std::size_t bytes) {
    return state_->ReadingCopy(at, bytes);
  };
}

Emulator::~Emulator() = default;

void Emulator::Memset(const Launch& launch) {
  const Argument& target = launch.arguments.front();
  std::size_t index = target.index;
  if (target.kind == Argument::Kind::kScratch) {
    std::size_t buffers = 0;
    while (buffers < watch_.ranges.size() && !watch_.ranges[buffers].scratch) ++buffers;
    index += buffers;
  }
  GlobalRange& range = watch_.ranges[index];
  std::memset(range.data, launch.byte, range.bytes);
  watch_.Memset(range);
}

std::optional<Finding> Emulator::Run(KernelObject& kernel, const Launch& launch, std::size_t index,
                                     const std::vector<std::int64_t>& scalars,
                                     const RunOrder& order) {
  State& state = *state_;
  const auto size = static_cast<std::uint32_t>(Volume(launch.cluster));
  if (Status provided = kernel.Provide(size); !provided) {
    return Finding{provided.error().message, nullptr, {}};
  }
  state.kernel = &kernel;
  state.launch = &launch;
  state.launch_index = index;
  state.order = order;
  state.threads = static_cast<std::uint32_t>(Volume(launch.block));
  state.scalars.assign(scalars.begin(), scalars.end());
  state.buffers.clear();
  state.scratch.clear();
  for (const GlobalRange& range : watch_.ranges) {
    (range.scratch ? state.scratch : state.buffers).push_back(range.data);
  }
  state.found.reset();
  state.MakeFibers(state.threads * size);
  state.blocks.assign(size, {});
  state.dynamic.assign(size, std::vector<std::byte>(launch.dynamic_shared_bytes + kAlignment));
  watch_.blocks.assign(size, {});
  watch_.block_extent = launch.block;
  watch_.shared_variables = kernel.SharedVariables();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    LoadedKernel& load = kernel.loads()[rank];
    Block& block = state.blocks[rank];
    block.syncs.resize((state.threads + kLanes - 1) / kLanes);
    for (std::uint32_t thread = 0; thread < state.threads; ++thread) {
      Fiber& fiber = state.fibers[rank * state.threads + thread];
      fiber.rank = static_cast<std::uint16_t>(rank);
      fiber.thread = static_cast<std::uint16_t>(thread);
      fiber.index = IndexOf(thread, launch.block);
      block.fibers.push_back(&fiber);
    }
    BlockMemory& memory = watch_.blocks[rank];
    memory.fixed = load.shared;
    memory.fixed_bytes = load.shared_bytes;
    const auto base = reinterpret_cast<std::uintptr_t>(state.dynamic[rank].data());
    memory.dynamic = state.dynamic[rank].data() + (kAlignment - base % kAlignment) % kAlignment;
    memory.dynamic_bytes = launch.dynamic_shared_bytes;
    state.SetHooks(load);
    PawlPosition& position = *load.unit->position;
    position.block_extent = {launch.block[0], launch.block[1], launch.block[2]};
    position.grid_extent = {launch.grid[0], launch.grid[1], launch.grid[2]};
    position.rank = rank;
    position.dynamic_shared = memory.dynamic;
  }
  watch_.BeginLaunch();
  const std::uint64_t clusters = Volume(launch.grid) / size;
  for (std::uint64_t i = 0; i < clusters && !state.found; ++i) {
    state.RunCluster(order.descending ? clusters - 1 - i : i);
  }
  return state.found;
}

}  // namespace pawl
