#pragma once
// What threads of other blocks, or of the same one without a barrier, may rely on in global memory:
// accesses that were published and acquired, as CUDA's memory model has it.
//
// 1. A thread's __threadfence() covers what it has written or read itself, and what others have
//    where a barrier or a __syncwarp lies between their access and the fence.
// 2. An atomic by a thread that has fenced publishes, at its address, what has been covered by its
//    own fences before, and by others' fences from which a barrier leads to the atomic.
// 3. A later atomic at the same address acquires what was published there: for its own thread, and
//    for those that a barrier leads to from it. What it acquires, it can publish in its turn.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "worker/device/emulated/warp_clock.h"

namespace pawl {

// Who did something, and when by the counts of its block (watch.h).
struct Instant {
  std::uint16_t rank = 0;
  std::uint16_t thread = 0;
  std::uint32_t epoch = 0;          // of the block
  std::uint32_t cluster_epoch = 0;  // the first one since the cluster's last barrier
  WarpClock::Moment moment = 0;
  std::int32_t row = -1;  // the others' moments that came before; -1: all but `moment`
};

// What is asked about. Reads have stamp 0: any fence since covers them.
struct PastAccess {
  std::uint32_t cluster = 0;  // counted as they have run in the launch
  std::uint16_t rank = 0;
  std::uint16_t thread = 0;  // or what stands for several (who.h)
  bool several = false;
  std::uint32_t epoch = 0;
  WarpClock::Moment moment = 0;
  std::uint32_t stamp = 0;
};

class Publications {
 public:
  void BeginLaunch();
  void BeginCluster();

  // `met`: of the thread's clock (WarpClock::Met).
  void Fence(Instant at, const WarpClock::Row* met);
  // A read-modify-write of global memory.
  void Atomic(std::uintptr_t address, Instant at, const WarpClock::Row* met);

  // What a write is remembered with: how many fences there had been.
  std::uint32_t stamp() const { return stamp_; }
  bool fenced() const { return stamp_ > 0; }
  // Whether anything of a cluster, that has run or runs, may come before what others do.
  bool HasFenced(std::size_t cluster) const { return !fences_[cluster].empty(); }
  // Whether an atomic of one thread has published something: what follows a later one at its
  // address, and acquires that, comes after it too.
  bool Publishes(const PastAccess& atomic) const;

  // Whether an access comes before what the thread at `now` does.
  bool Reaches(const PastAccess& access, Instant now, const WarpClock::Row* met) const;

 private:
  struct Fenced {
    Instant at;
    std::uint32_t stamp = 0;
  };
  struct Acquired {
    std::uintptr_t address = 0;
    Instant at;
    std::uint64_t number = 0;  // of the atomic
  };
  struct Published {
    std::uint32_t cluster = 0;
    Instant at;
    std::uint64_t number = 0;        // of the atomic
    std::size_t fences = 0;          // of the cluster, before it
    std::vector<Acquired> acquired;  // by its thread
  };

  void Keep(Instant& at, const WarpClock::Row* met);
  // Within one cluster, of what happened earlier.
  bool Leads(const Instant& from, const Instant& to, const WarpClock::Row* met) const;
  bool Leads(const Instant& from, const Instant& to) const;
  bool Leads(const PastAccess& from, const Instant& to) const;
  bool Covers(const Published& by, const PastAccess& access) const;
  bool Reaches(const PastAccess& access, std::uintptr_t address, std::uint64_t before,
               std::vector<std::uintptr_t>& seen) const;

  std::uint32_t stamp_ = 0;
  std::uint64_t number_ = 0;
  std::vector<std::vector<Fenced>> fences_;  // by cluster
  std::unordered_map<std::uintptr_t, std::vector<Published>> published_;
  std::vector<Acquired> acquired_;  // of the running cluster
  std::vector<WarpClock::Row> rows_;
};

}  // namespace pawl
