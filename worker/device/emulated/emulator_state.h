#pragma once
// What a launch on the emulated device is made of while it runs: a fiber a thread, blocks of a
// cluster, who waits for whom. emulator.cc runs it, emulator_sync.cc holds barriers and warp
// operations, emulator_memory.cc what threads ask of memory beside plain accesses,
// emulator_hooks.cc the doors by which kernels come in.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/device/emulated/emulator.h"

namespace boost::context::detail {
struct transfer_t;
}

namespace pawl {

// Of a thread: the 512 KB of local memory that CUDA gives it, and room for calls.
inline constexpr std::size_t kStackBytes = 576 << 10;
inline constexpr std::size_t kGuardBytes = 4 << 10;
inline constexpr std::size_t kAlignment = 1024;  // of dynamic shared memory

std::string SiteText(const PawlSite& site);    // " (file:line)", empty where there is none
std::string MaskText(std::uint32_t mask);      // in hexadecimal
const char* WarpOperationName(int operation);  // as CUDA calls it

struct Emulator::State {
  enum class Waiting : std::uint8_t { kReady, kAtBarrier, kInWarp, kAtClusterBarrier, kDone };
  // Whom the thread that came last has let go on: the first in the launch's order is next.
  enum class Released : std::uint8_t { kNobody, kWarp, kBlock, kCluster };

  struct Fiber {
    State* machine = nullptr;
    void* context = nullptr;  // fcontext_t: where it goes on
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
    std::vector<std::uint32_t> ended;  // lanes that have left the kernel, by warp
    std::uint32_t waiting = 0;         // at its barrier
    std::uint32_t done = 0;
  };

  explicit State(Watch& its_watch) : watch(its_watch) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

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

  void* scheduler = nullptr;  // likewise
  Fiber* current = nullptr;
  Released released = Released::kNobody;  // since `current` was resumed
  std::optional<Finding> found;
  bool exhausted = false;  // there was no memory to watch with

  Status MakeFibers(std::uint32_t count);
  void Start(Fiber& fiber);
  void Resume(Fiber& fiber);
  void Yield();
  void Wait(Waiting status, PawlSite site);
  // Of a thread that has let itself and others go on: it takes its turn among them.
  void TakeTurn(Released its);
  static void Enter(boost::context::detail::transfer_t from);

  void RunCluster(std::uint64_t number);
  Released RunBlock(Block& block);
  Released RunWarp(Block& block, std::uint32_t warp);
  void Diagnose();
  std::string Where(const Fiber& fiber) const;

  int Barrier(int kind, int predicate, PawlSite site);
  std::uint64_t Warp(int operation, std::uint32_t mask, std::uint64_t value,
                     std::uint32_t parameter, std::uint32_t width, PawlSite site);
  bool FinishWarp(Block& block, std::uint32_t warp, std::uint32_t mask, int operation);
  // A lane has ended: those that waited for it need not.
  void EndLane(Block& block, const Fiber& fiber);
  std::uint32_t ActiveLanes(PawlSite site);
  bool ReleaseActive(Block& block, std::uint32_t warp);
  std::uint32_t Existing(std::uint32_t warp) const;
  // Lanes that are there and have not left the kernel.
  std::uint32_t Live(const Block& block, std::uint32_t warp) const {
    return Existing(warp) & ~block.ended[warp];
  }
  void ClusterBarrier(PawlSite site);
  void Copy(PendingCopy copy);
  void Land(const PendingCopy& copy);
  void WaitCopies(std::uint32_t latest);
  void* MapShared(const void* shared, std::uint32_t rank, PawlSite site);
  const PendingCopy* ReadingCopy(std::uintptr_t at, std::size_t bytes) const;
  void SetHooks(LoadedKernel& load);
};

}  // namespace pawl
