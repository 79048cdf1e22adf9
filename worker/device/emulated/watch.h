#pragma once
// Watches every access of the blocks that run: bounds, alignment, what was never written, races,
// and asynchronous copies in flight. Knows no scheduling: it is told which thread runs and which
// barriers have been passed.
//
// Memory is watched by words of 4 bytes, a cell each, of which one remembers who wrote it last and
// who has read it since (and of global memory what else must not be forgotten, displaced.h). Time
// is counted in epochs: each barrier of a block begins the next one, and epochs are never used
// twice, so cells need no clearing between blocks. Two accesses of different threads of a block, of
// which one is a write, are ordered when a barrier lies between them (another epoch), or a
// __syncwarp that both lanes are led through (warp_clock.h). Blocks of a cluster are ordered by
// cluster barriers; in global memory all threads also by what is published and acquired
// (publication.h); launches by their order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schema/order.h"
#include "worker/device/emulated/displaced.h"
#include "worker/device/emulated/kernel_abi.h"
#include "worker/device/emulated/object_file.h"
#include "worker/device/emulated/publication.h"
#include "worker/device/emulated/warp_clock.h"

namespace pawl {

// One word's memory. A who is a thread's number in its block, its block's rank in the cluster, or
// several of them (watch.cc).
struct WatchedWord {
  std::uint32_t write_epoch = 0;
  std::uint16_t writer = 0;
  std::uint16_t write_sync = 0;
  std::uint32_t read_epoch = 0;
  std::uint16_t reader = 0;
  std::uint16_t read_sync = 0;
};

// The cells of a range of memory: of its words, or of its bytes once something smaller than a word
// has been touched.
struct WatchedWords {
  void Resize(std::size_t bytes);
  // Of one of `cells`; 0 before there has been a fence.
  std::uint32_t StampOf(const WatchedWord& cell) const {
    return stamps.empty() ? 0 : stamps[static_cast<std::size_t>(&cell - cells.data())];
  }
  void Stamp(const WatchedWord& cell, std::uint32_t stamp) {
    stamps[static_cast<std::size_t>(&cell - cells.data())] = stamp;
  }
  void Split();

  std::vector<WatchedWord> cells;
  // Of global memory once there has been a fence: each cell's write's (Publications::stamp).
  std::vector<std::uint32_t> stamps;
  // Of global memory, by cell, once there is one in the launch.
  struct Lists {
    Displaced::List reads = 0, atomics = 0;
  };
  std::vector<Lists> displaced;
  unsigned shift = 2;
};

// A buffer, scratch memory or a __device__ variable in global memory.
struct GlobalRange {
  Buffer buffer;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool writable = false;
  bool scratch = false;
  bool variable = false;  // of `buffer` only the name is known
  WatchedWords cells;     // of writable ones
};

// What one block of the running cluster has.
struct BlockMemory {
  std::byte* fixed = nullptr;  // static shared memory
  std::size_t fixed_bytes = 0;
  std::byte* dynamic = nullptr;
  std::size_t dynamic_bytes = 0;
  WatchedWords fixed_cells, dynamic_cells;
  PawlIndex index{};  // of the block in the grid
  std::uint32_t epoch = 0;
  std::vector<WarpClock> warps;
  bool left = false;  // all its threads have ended
  // The last touch of its shared memory by another block.
  struct Peer {
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0, thread = 0;
    const void* from = nullptr;
    PawlSite site{};
  } peer;
};

// Where something was found: a return address in the kernel's code, or a place in its source.
struct Finding {
  std::string text;
  const void* from = nullptr;
  PawlSite site{};
  bool refused = false;  // no GPU would launch it
};

// A copy that has been asked for and not been waited for.
struct PendingCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0;
  bool whole = true;
  std::uint32_t group = 0;
  PawlSite site{};
};

class Watch {
 public:
  // `fail` takes the first finding and never returns: the thread that runs is at its end.
  explicit Watch(std::function<void(Finding)> fail) : fail_(std::move(fail)) {}

  std::vector<GlobalRange> ranges;
  std::vector<BlockMemory> blocks;                 // by rank, of the running cluster
  std::vector<Variable> shared_variables;          // of static shared memory
  std::vector<GlobalRange> variables;              // __device__ ones
  std::function<bool(std::uintptr_t)> is_private;  // stacks and the kernel's own constants
  // The address in `variables` of what some block of a cluster has at another.
  std::function<std::uintptr_t(std::uintptr_t)> variable_home;
  std::array<std::uint32_t, 3> block_extent{1, 1, 1};
  // Memory may have been written that is not known to be: nothing is called unwritten.
  bool unseen_stores = false;

  // What they hold was there before the first launch.
  void SetVariables(std::vector<GlobalRange> its);
  void BeginLaunch();
  // `blocks` has been filled in: their shared memory holds nothing yet.
  void BeginCluster();
  void PassBarrier(std::uint32_t rank);
  void PassClusterBarrier();
  void LeaveBlock(std::uint32_t rank);
  // A __syncwarp of the lanes of a mask; `whole`: the warp has no others, nor has had.
  void MeetLanes(std::uint32_t rank, std::uint32_t warp, std::uint32_t lanes, bool whole);
  void Memset(GlobalRange& range);  // by the host, between launches

  // The thread that runs from now on.
  void Run(std::uint32_t rank, std::uint32_t thread) {
    rank_ = rank;
    thread_ = static_cast<std::uint16_t>(thread);
    warp_ = static_cast<std::uint16_t>(thread / kLanes);
    lane_ = thread % kLanes;
    block_ = &blocks[rank];
    clock_ = &block_->warps[warp_];
    sync_ = clock_->Now(lane_);
  }

  template <unsigned kBytes, bool kWrite>
  void Access(std::uintptr_t at, const void* from);
  void AccessRange(std::uintptr_t at, std::size_t bytes, bool write, const void* from);
  void Atomic(std::uintptr_t at, std::uint32_t bytes, PawlSite site);
  void Fence();
  // Both ends of an asynchronous copy, as it is asked for and as it lands.
  void IssueCopy(const PendingCopy& copy);
  void LandCopy(const PendingCopy& copy);
  // Copies that other threads have in flight, for writes to what they read. `at`: of a variable the
  // address in `variables`.
  std::function<const PendingCopy*(std::uintptr_t at, std::size_t bytes)> reading_copy;
  std::uint32_t copies_in_flight = 0;

  // "thread (3,0,0) of block (1,2,0)".
  std::string Describe(std::uint32_t rank, std::uint32_t thread) const;
  std::string DescribeCurrent() const { return Describe(rank_, thread_); }
  // The first element of a range that no launch or memset has written; -1: none.
  std::int64_t UnwrittenIn(const GlobalRange& range) const;
  // Who wrote an element of a range last; empty: nobody.
  std::string WriterOf(const GlobalRange& range, std::int64_t element) const;
  // "a_tile + 1040 B (of 17408 B)", "C[3,17]".
  std::string NameOf(std::uintptr_t at, std::size_t bytes) const;
  [[noreturn]] void Fail(std::string text, const void* from, PawlSite site = {},
                         bool refused = false);

 private:
  enum class Kind { kRead, kWrite, kAtomic, kCopy };
  struct Spot {
    WatchedWords* cells = nullptr;
    std::size_t offset = 0;
    bool global = false;
  };

  bool Ordered(std::uint32_t epoch, std::uint16_t who, std::uint16_t sync) const;
  PastAccess PastOf(const PastTouch& touch) const;
  bool OrderedGlobally(const PastTouch& touch) const;
  std::size_t ClusterOf(std::uint32_t epoch) const;  // its place in clusters_
  Instant Now() const { return {Rank(), thread_, block_->epoch, cluster_first_, sync_, -1}; }
  std::uint16_t Rank() const { return static_cast<std::uint16_t>(rank_); }
  // Whether some word of an access is: the rest may be padding, which a copy of a struct reads too.
  static bool AnyWritten(const Spot& spot, std::size_t bytes, std::uint32_t oldest);
  template <Kind kKind>
  void TouchCell(WatchedWord& cell, const Spot& spot, std::uintptr_t at, std::size_t bytes,
                 const void* from, PawlSite site);
  template <Kind kKind>
  void Touch(const Spot& spot, std::uintptr_t at, std::size_t bytes, const void* from,
             PawlSite site);
  template <Kind kKind>
  void Check(std::uintptr_t at, std::size_t bytes, const void* from, PawlSite site);
  // False: memory that nobody else sees.
  bool Find(std::uintptr_t at, std::size_t bytes, bool write, Spot& spot, const void* from,
            PawlSite site);
  std::uintptr_t HomeOf(std::uintptr_t at) const {
    return variables.empty() ? at : variable_home(at);
  }
  // `at` becomes the address in the range.
  GlobalRange* RangeOf(std::uintptr_t& at);
  void NoteRead(WatchedWord& cell, const Spot& spot);
  WatchedWords::Lists& ListsOf(const WatchedWord& cell, WatchedWords& cells);
  // The list with what has lost its place in the cell.
  Displaced::List Displace(const PastTouch& touch, Displaced::List list);
  template <Kind kKind>
  void CheckDisplaced(const WatchedWord& cell, const Spot& spot, std::uintptr_t at,
                      std::size_t bytes, const void* from, PawlSite site);
  [[noreturn]] void FailOutside(std::uintptr_t at, std::size_t bytes, bool write, const void* from,
                                PawlSite site);
  // `wrote`: the earlier access.
  [[noreturn]] void FailRace(const PastTouch& earlier, bool wrote, Kind kind, std::uintptr_t at,
                             std::size_t bytes, bool global, const void* from, PawlSite site);
  std::string DescribeWho(std::uint16_t who, std::uint32_t epoch) const;
  std::uint16_t Me() const { return static_cast<std::uint16_t>(rank_ << 10 | thread_); }

  const std::function<void(Finding)> fail_;
  // Of the thread that runs.
  std::uint32_t rank_ = 0;
  std::uint16_t thread_ = 0;
  std::uint16_t warp_ = 0;
  std::uint32_t lane_ = 0;
  std::uint16_t sync_ = 0;
  BlockMemory* block_ = nullptr;
  const WarpClock* clock_ = nullptr;

  std::uint32_t counter_ = 1;        // the newest epoch
  std::uint32_t launch_first_ = 1;   // the first epoch of the launch, of the running cluster, and
  std::uint32_t cluster_start_ = 1;  // since its last barrier
  std::uint32_t cluster_first_ = 1;
  GlobalRange* last_range_ = nullptr;
  // What has run of the launch, the running cluster last.
  struct Cluster {
    std::uint32_t first = 0;  // epoch
    std::vector<PawlIndex> blocks;
  };
  std::vector<Cluster> clusters_;
  Publications publications_;
  Displaced displaced_;
};

}  // namespace pawl
