#include "worker/device/emulated/emulator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "schema/check.h"
#include "worker/device/emulated/emulator_state.h"

namespace pawl {
namespace {

namespace context = boost::context::detail;

PawlIndex IndexOf(std::uint64_t linear, const std::array<std::uint32_t, 3>& extent) {
  const std::uint64_t plane = linear / extent[0];
  return {static_cast<unsigned>(linear % extent[0]), static_cast<unsigned>(plane % extent[1]),
          static_cast<unsigned>(plane / extent[1])};
}

std::uint64_t Volume(const std::array<std::uint32_t, 3>& extent) {
  return std::uint64_t{extent[0]} * extent[1] * extent[2];
}

}  // namespace

Emulator::State::~State() {
  if (stacks != nullptr) ::munmap(stacks, stack_count * (kStackBytes + kGuardBytes));
}

Status Emulator::State::MakeFibers(std::uint32_t count) {
  if (count > stack_count) {
    constexpr std::size_t kEach = kStackBytes + kGuardBytes;
    if (stacks != nullptr) ::munmap(stacks, stack_count * kEach);
    stacks = nullptr;
    stack_count = 0;
    const auto failed = [&] {
      return Error{"emulated: no memory for the stacks of " + std::to_string(count) +
                       " threads: " + std::strerror(errno),
                   Advice::kRetry};
    };
    void* const mapping = ::mmap(nullptr, count * kEach, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return failed();
    stacks = static_cast<std::byte*>(mapping);
    stack_count = count;
    // A thread that overflows its local memory ends the process here, not in its neighbour's.
    for (std::uint32_t i = 0; i < count; ++i) {
      if (::mprotect(stacks + i * kEach, kGuardBytes, PROT_NONE) != 0) return failed();
    }
  }
  if (fibers.size() < count) fibers.resize(count);
  return {};
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
  try {
    load.launches[state.launch_index](state.buffers.data(), state.scalars.data(),
                                      state.scratch.data());
  } catch (const std::bad_alloc&) {
    state.exhausted = true;  // the watch's; it must not leave this stack
  }
  if (state.exhausted) {
    state.found = Finding{};
    for (;;) state.Yield();
  }
  Block& block = state.blocks[fiber.rank];
  if (++block.done == state.threads && state.blocks.size() > 1 && state.order.watched) {
    state.watch.LeaveBlock(fiber.rank);
  }
  fiber.status = Waiting::kDone;
  state.EndLane(block, fiber);
  context::jump_fcontext(state.scheduler, nullptr);
}

void Emulator::State::Resume(Fiber& fiber) {
  current = &fiber;
  LoadedKernel& load = kernel->loads()[fiber.rank];
  load.unit->position->thread = fiber.index;
  kernel->HandVariablesTo(fiber.rank);
  watch.Run(fiber.rank, fiber.thread);
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

void Emulator::State::TakeTurn(Released its) {
  released = its;
  Yield();
}

// Until its lanes all wait or have left, or one lets more than the warp go on.
Emulator::State::Released Emulator::State::RunWarp(Block& block, std::uint32_t warp) {
  const std::uint32_t first = warp * kLanes;
  const std::uint32_t count = std::min(kLanes, threads - first);
  do {
    for (std::uint32_t i = 0; i < count;) {
      Fiber& fiber = *block.fibers[first + (order.descending ? count - 1 - i : i)];
      ++i;
      if (fiber.status != Waiting::kReady) continue;
      released = Released::kNobody;
      Resume(fiber);
      if (found) return Released::kNobody;
      if (released > Released::kWarp) return released;
      if (released == Released::kWarp) i = 0;
    }
  } while (ReleaseActive(block, warp));
  return Released::kNobody;
}

// Until its threads all wait or have left, or one lets the cluster go on.
Emulator::State::Released Emulator::State::RunBlock(Block& block) {
  const std::uint32_t warps = (threads + kLanes - 1) / kLanes;
  for (std::uint32_t w = 0; w < warps && !found;) {
    const Released its = RunWarp(block, order.descending ? warps - 1 - w : w);
    if (its == Released::kCluster) return its;
    w = its == Released::kBlock ? 0 : w + 1;
  }
  return Released::kNobody;
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
    std::fill(block.ended.begin(), block.ended.end(), 0);
    for (Fiber* fiber : block.fibers) Start(*fiber);
  }
  at_cluster_barrier = 0;
  watch.BeginCluster();
  for (std::uint32_t i = 0; i < size && !found;) {
    const Released its = RunBlock(blocks[order.descending ? size - 1 - i : i]);
    i = its == Released::kCluster ? 0 : i + 1;
  }
  if (!found) Diagnose();
}

std::string Emulator::State::Where(const Fiber& fiber) const {
  const std::string who = watch.Describe(fiber.rank, fiber.thread);
  switch (fiber.status) {
    case Waiting::kReady:
      return who + " runs";
    case Waiting::kAtBarrier:
      return who + " waits at __syncthreads()" + SiteText(fiber.site);
    case Waiting::kInWarp:
      return who + " waits in " + WarpOperationName(fiber.kind) + " with mask " +
             MaskText(fiber.mask) + SiteText(fiber.site);
    case Waiting::kAtClusterBarrier:
      return who + " waits at ClusterSync()" + SiteText(fiber.site);
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
      const bool wanted =
          waiting->status != Waiting::kInWarp ||
          (fiber->thread / kLanes == waiting->thread / kLanes && fiber->status != Waiting::kDone &&
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
      if (load.Holds(at)) return !load.Variable(at, state_->kernel->file());
    }
    return false;
  };
  watch_.variable_home = [this](std::uintptr_t at) { return state_->kernel->HomeOf(at); };
  watch_.reading_copy = [this](std::uintptr_t at, std::size_t bytes) {
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

// Where the kernel has its __device__ variables, as global memory.
std::vector<GlobalRange> VariablesOf(const KernelObject& kernel) {
  std::vector<GlobalRange> variables;
  for (const Variable& variable : kernel.file().device) {
    GlobalRange range;
    range.buffer.name = variable.name;
    range.data = reinterpret_cast<std::byte*>(kernel.loads()[0].base + variable.offset);
    range.bytes = variable.bytes;
    range.writable = range.variable = true;
    variables.push_back(std::move(range));
  }
  return variables;
}

Result<std::optional<Finding>> Emulator::Run(KernelObject& kernel, const Launch& launch,
                                             std::size_t index,
                                             const std::vector<std::int64_t>& scalars,
                                             const RunOrder& order) {
  State& state = *state_;
  const auto size = static_cast<std::uint32_t>(Volume(launch.cluster));
  if (Status provided = kernel.Provide(size); !provided) {
    return Error{provided.error().message, Advice::kRetry};  // the first load worked
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
  state.exhausted = false;
  if (Status made = state.MakeFibers(state.threads * size); !made) return made.error();
  state.blocks.assign(size, {});
  state.dynamic.assign(size, std::vector<std::byte>(launch.dynamic_shared_bytes + kAlignment));
  watch_.blocks = std::vector<BlockMemory>(size);
  watch_.block_extent = launch.block;
  watch_.shared_variables = kernel.file().shared;
  if (watch_.variables.empty()) watch_.SetVariables(VariablesOf(kernel));
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    LoadedKernel& load = kernel.loads()[rank];
    State::Block& block = state.blocks[rank];
    block.ended.resize((state.threads + kLanes - 1) / kLanes);
    for (std::uint32_t thread = 0; thread < state.threads; ++thread) {
      State::Fiber& fiber = state.fibers[rank * state.threads + thread];
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
    memory.warps.resize(block.ended.size());
    state.SetHooks(load);
    PawlPosition& position = *load.unit->position;
    position.block_extent = {launch.block[0], launch.block[1], launch.block[2]};
    position.grid_extent = {launch.grid[0], launch.grid[1], launch.grid[2]};
    position.rank = rank;
    position.dynamic_shared = memory.dynamic;
    *load.unit->dynamic_shared = memory.dynamic;
  }
  watch_.unseen_stores = watch_.unseen_stores || kernel.calls_out(index);
  watch_.BeginLaunch();
  const std::uint64_t clusters = Volume(launch.grid) / size;
  for (std::uint64_t i = 0; i < clusters && !state.found; ++i) {
    state.RunCluster(order.descending ? clusters - 1 - i : i);
  }
  kernel.HandVariablesTo(0);
  if (state.exhausted) throw std::bad_alloc();
  return state.found;
}

}  // namespace pawl
