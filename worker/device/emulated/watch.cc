#include "worker/device/emulated/watch.h"

#include <algorithm>
#include <utility>

#include "schema/check.h"
#include "worker/device/emulated/who.h"

namespace pawl {
namespace {

std::uintptr_t Address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

void WatchedWords::Resize(std::size_t bytes) {
  const std::size_t count = (bytes + (std::size_t{1} << shift) - 1) >> shift;
  if (cells.size() < count) cells.resize(count);
}

void WatchedWords::Split() {
  if (shift == 0) return;
  const auto split = [](auto& words) {
    std::remove_reference_t<decltype(words)> bytes;
    bytes.reserve(words.size() * 4);
    for (const auto& word : words) bytes.insert(bytes.end(), 4, word);
    words = std::move(bytes);
  };
  split(cells);
  split(stamps);
  shift = 0;
}

void Watch::SetVariables(std::vector<GlobalRange> its) {
  variables = std::move(its);
  ++counter_;
  for (GlobalRange& range : variables) {
    range.cells.Resize(range.bytes);
    for (WatchedWord& cell : range.cells.cells) cell.write_epoch = counter_;
  }
}

void Watch::BeginLaunch() {
  launch_first_ = ++counter_;
  clusters_.clear();
  publications_.BeginLaunch();
  for (GlobalRange& range : ranges) {
    if (range.writable) range.cells.Resize(range.bytes);
  }
}

void Watch::BeginCluster() {
  cluster_start_ = cluster_first_ = ++counter_;
  clusters_.push_back({cluster_start_, {}});
  publications_.BeginCluster();
  for (BlockMemory& block : blocks) {
    clusters_.back().blocks.push_back(block.index);
    block.fixed_cells.Resize(block.fixed_bytes);
    block.dynamic_cells.Resize(block.dynamic_bytes);
    block.epoch = cluster_start_;
    block.peer = {};
    block.left = false;
    for (WarpClock& warp : block.warps) warp.Restart();
  }
  copies_in_flight = 0;
}

void Watch::PassBarrier(std::uint32_t rank) {
  blocks[rank].epoch = ++counter_;
  for (WarpClock& warp : blocks[rank].warps) warp.Restart();
  sync_ = clock_->Now(lane_);
}

void Watch::PassClusterBarrier() {
  cluster_first_ = ++counter_;
  for (BlockMemory& block : blocks) {
    block.epoch = cluster_first_;
    for (WarpClock& warp : block.warps) warp.Restart();
  }
  sync_ = clock_->Now(lane_);
}

void Watch::MeetLanes(std::uint32_t rank, std::uint32_t warp, std::uint32_t lanes, bool whole) {
  blocks[rank].warps[warp].Meet(lanes, whole);
  sync_ = clock_->Now(lane_);
}

void Watch::LeaveBlock(std::uint32_t rank) {
  BlockMemory& block = blocks[rank];
  block.left = true;
  const BlockMemory::Peer& peer = block.peer;
  if (peer.epoch < cluster_first_) return;
  Fail("block " + IndexText(block.index) + " leaves its cluster while " +
           Describe(peer.rank, peer.thread) +
           " uses its shared memory: no cluster barrier lies between",
       peer.from, peer.site);
}

void Watch::Memset(GlobalRange& range) {
  range.cells.Resize(range.bytes);
  ++counter_;
  for (WatchedWord& cell : range.cells.cells) {
    cell = {};
    cell.write_epoch = counter_;
  }
}

// Whether an access by `who` comes before what the running thread does now. Both are of the running
// cluster.
bool Watch::Ordered(std::uint32_t epoch, std::uint16_t who, std::uint16_t sync) const {
  if (epoch < cluster_first_) return true;
  const std::uint16_t low = who & kLow;
  const bool several = (who & kSeveral) != 0;
  if (several && low == kSeveralRanks) return false;
  if (RankOf(who) != rank_) return false;
  if (epoch != block_->epoch) return true;  // an earlier one: a barrier lies between
  if (!several && low == thread_) return true;
  if (several && low == kSeveralWarps) return false;
  if (low / kLanes != warp_) return false;
  return several ? clock_->AllBefore(low % kLanes, sync, lane_)
                 : clock_->Before(low % kLanes, sync, lane_);
}

std::size_t Watch::ClusterOf(std::uint32_t epoch) const {
  const auto after = std::upper_bound(
      clusters_.begin(), clusters_.end(), epoch,
      [](std::uint32_t value, const Cluster& cluster) { return value < cluster.first; });
  CHECK(after != clusters_.begin(), epoch);
  return static_cast<std::size_t>(after - clusters_.begin()) - 1;
}

// The same in global memory, where other blocks of the launch have been too.
bool Watch::OrderedGlobally(std::uint32_t epoch, std::uint16_t who, std::uint16_t sync,
                            std::uint32_t stamp) const {
  if (epoch < launch_first_) return true;
  if (epoch >= cluster_start_ && Ordered(epoch, who, sync)) return true;
  if (!publications_.fenced()) return false;
  PastAccess access;
  access.cluster = static_cast<std::uint32_t>(ClusterOf(epoch));
  access.rank = RankOf(who);
  access.thread = who & kLow;
  access.several = (who & kSeveral) != 0;
  access.epoch = epoch;
  access.moment = sync;
  access.stamp = stamp;
  return publications_.Reaches(access, Now(), clock_->Met(lane_));
}

void Watch::Fence() {
  if (!publications_.fenced()) {
    for (auto* const all : {&ranges, &variables}) {
      for (GlobalRange& range : *all) range.cells.stamps.resize(range.cells.cells.size());
    }
  }
  publications_.Fence(Now(), clock_->Met(lane_));
}

void Watch::NoteRead(WatchedWord& cell) {
  const std::uint32_t low = cell.reader & kLow;
  const bool several = (cell.reader & kSeveral) != 0;
  std::uint16_t latest = sync_;
  if (cell.read_epoch < cluster_start_ || Ordered(cell.read_epoch, cell.reader, cell.read_sync)) {
    cell.reader = Me();
  } else if (RankOf(cell.reader) != rank_ || (several && low == kSeveralRanks)) {
    cell.reader = kSeveral | kSeveralRanks;
  } else if (low / kLanes != warp_ || (several && low == kSeveralWarps)) {
    cell.reader = static_cast<std::uint16_t>(kSeveral | rank_ << kRankShift | kSeveralWarps);
  } else {
    const std::uint32_t group = several ? low % kLanes : GroupOf(low % kLanes);
    cell.reader = static_cast<std::uint16_t>(kSeveral | rank_ << kRankShift | warp_ * kLanes |
                                             CommonGroup(group, GroupOf(lane_)));
    if (WarpClock::IsBefore(sync_, cell.read_sync)) latest = cell.read_sync;
  }
  cell.read_epoch = block_->epoch;
  cell.read_sync = latest;
}

template <Watch::Kind kKind>
void Watch::TouchCell(WatchedWord& cell, const Spot& spot, std::uintptr_t at, std::size_t bytes,
                      const void* from, PawlSite site) {
  const std::uint32_t oldest = spot.global ? 1 : cluster_start_;
  const bool written = cell.write_epoch >= oldest;
  constexpr bool kReads = kKind == Kind::kRead || kKind == Kind::kAtomic;
  if (kReads && !written) {
    Fail(DescribeCurrent() + " reads " + NameOf(at, bytes) + ", which " +
             (spot.global ? "nobody has written"
                          : "no thread of the block has written yet: is a barrier missing?"),
         from, site);
  }
  if (written) {
    if ((cell.writer & kInFlight) != 0 && cell.write_epoch >= cluster_start_) {
      const std::uint16_t who = cell.writer & static_cast<std::uint16_t>(~kInFlight);
      Fail(DescribeCurrent() + (kReads ? " reads " : " writes ") + NameOf(at, bytes) +
               ", into which an asynchronous copy of " + DescribeWho(who, cell.write_epoch) +
               " is still in flight: not waited for by CpAsyncWait",
           from, site);
    }
    const std::uint16_t who = cell.writer & static_cast<std::uint16_t>(~kAtomic);
    const bool both_atomic = kKind == Kind::kAtomic && (cell.writer & kAtomic) != 0;
    if (!both_atomic && !(spot.global ? OrderedGlobally(cell.write_epoch, who, cell.write_sync,
                                                        spot.cells->StampOf(cell))
                                      : Ordered(cell.write_epoch, who, cell.write_sync))) {
      FailRace(cell, true, kKind, at, bytes, spot.global, from, site);
    }
  }
  if (kKind == Kind::kRead) return NoteRead(cell);
  if (cell.read_epoch >= oldest &&
      !(spot.global ? OrderedGlobally(cell.read_epoch, cell.reader, cell.read_sync, 0)
                    : Ordered(cell.read_epoch, cell.reader, cell.read_sync))) {
    FailRace(cell, false, kKind, at, bytes, spot.global, from, site);
  }
  if (spot.global && publications_.fenced()) spot.cells->Stamp(cell, publications_.stamp());
  cell.writer = Me();
  if (kKind == Kind::kAtomic) cell.writer |= kAtomic;
  if (kKind == Kind::kCopy) cell.writer |= kInFlight;
  cell.write_epoch = block_->epoch;
  cell.write_sync = sync_;
  cell.read_epoch = 0;
}

template <Watch::Kind kKind>
void Watch::Touch(const Spot& spot, std::uintptr_t at, std::size_t bytes, const void* from,
                  PawlSite site) {
  if (((spot.offset | bytes) & 3) != 0) spot.cells->Split();
  const unsigned shift = spot.cells->shift;
  WatchedWord* cell = spot.cells->cells.data() + (spot.offset >> shift);
  WatchedWord* const end = cell + (bytes >> shift);
  const auto all = static_cast<std::uint16_t>(kSeveral | rank_ << kRankShift | kSeveralWarps);
  for (; cell != end; ++cell) {
    // Most reads: of a word that all have read since the barrier.
    if (kKind == Kind::kRead && cell->read_epoch == block_->epoch && cell->reader == all) {
      continue;
    }
    TouchCell<kKind>(*cell, spot, at, bytes, from, site);
  }
}

GlobalRange* Watch::RangeOf(std::uintptr_t& at) {
  if (last_range_ != nullptr && at - Address(last_range_->data) < last_range_->bytes) {
    return last_range_;
  }
  at = HomeOf(at);
  for (auto* const all : {&ranges, &variables}) {
    for (GlobalRange& range : *all) {
      if (at - Address(range.data) < range.bytes) return last_range_ = &range;
    }
  }
  return nullptr;
}

bool Watch::Find(std::uintptr_t at, std::size_t bytes, bool write, Spot& spot, const void* from,
                 PawlSite site) {
  const auto inside = [&](BlockMemory& block) {
    if (at - Address(block.fixed) < block.fixed_bytes) {
      spot = {&block.fixed_cells, at - Address(block.fixed), false};
      return spot.offset + bytes <= block.fixed_bytes;
    }
    if (at - Address(block.dynamic) < block.dynamic_bytes) {
      spot = {&block.dynamic_cells, at - Address(block.dynamic), false};
      return spot.offset + bytes <= block.dynamic_bytes;
    }
    return false;
  };
  if (inside(*block_)) return true;
  std::uintptr_t home = at;
  if (GlobalRange* range = RangeOf(home)) {
    const std::size_t offset = home - Address(range->data);
    if (offset + bytes > range->bytes) FailOutside(at, bytes, write, from, site);
    if (write && !range->writable) {
      Fail(DescribeCurrent() + " writes to the input " + NameOf(at, bytes), from, site);
    }
    if (write && copies_in_flight > 0) {
      const PendingCopy* copy = reading_copy(home, bytes);
      if (copy != nullptr) {
        Fail(DescribeCurrent() + " writes " + NameOf(at, bytes) +
                 ", which an asynchronous copy that is still in flight reads",
             from, site);
      }
    }
    spot = {range->writable ? &range->cells : nullptr, offset, true};
    return true;
  }
  for (BlockMemory& block : blocks) {
    if (&block == block_ || !inside(block)) continue;
    const std::string touches = write ? " writes " : " reads ";
    if (block.left) {
      Fail(DescribeCurrent() + touches + NameOf(at, bytes) + " of block " + IndexText(block.index) +
               ", which has left the cluster",
           from, site);
    }
    if (cluster_first_ == cluster_start_) {
      Fail(DescribeCurrent() + touches + NameOf(at, bytes) + " of block " + IndexText(block.index) +
               " before any ClusterSync(): that block may not have started",
           from, site);
    }
    block.peer = {counter_, rank_, thread_, from, site};
    return true;
  }
  if (is_private(at)) return false;
  FailOutside(at, bytes, write, from, site);
}

template <Watch::Kind kKind>
void Watch::Check(std::uintptr_t at, std::size_t bytes, const void* from, PawlSite site) {
  Spot spot;
  if (!Find(at, bytes, kKind != Kind::kRead, spot, from, site) || spot.cells == nullptr) return;
  Touch<kKind>(spot, at, bytes, from, site);
}

template <unsigned kBytes, bool kWrite>
void Watch::Access(std::uintptr_t at, const void* from) {
  constexpr Kind kKind = kWrite ? Kind::kWrite : Kind::kRead;
  const std::size_t offset = at - Address(block_->fixed);
  if (at % kBytes != 0 && !is_private(at)) {
    Fail(DescribeCurrent() + (kWrite ? " writes " : " reads ") + std::to_string(kBytes) +
             " bytes of " + NameOf(at, 1) + " at once: the address is no multiple of " +
             std::to_string(kBytes) + " (it is " + std::to_string(at % kBytes) + " past one)",
         from);
  }
  if (offset < block_->fixed_bytes && offset + kBytes <= block_->fixed_bytes) {
    return Touch<kKind>({&block_->fixed_cells, offset, false}, at, kBytes, from, {});
  }
  Check<kKind>(at, kBytes, from, {});
}

template void Watch::Access<1, false>(std::uintptr_t, const void*);
template void Watch::Access<2, false>(std::uintptr_t, const void*);
template void Watch::Access<4, false>(std::uintptr_t, const void*);
template void Watch::Access<8, false>(std::uintptr_t, const void*);
template void Watch::Access<16, false>(std::uintptr_t, const void*);
template void Watch::Access<1, true>(std::uintptr_t, const void*);
template void Watch::Access<2, true>(std::uintptr_t, const void*);
template void Watch::Access<4, true>(std::uintptr_t, const void*);
template void Watch::Access<8, true>(std::uintptr_t, const void*);
template void Watch::Access<16, true>(std::uintptr_t, const void*);

void Watch::AccessRange(std::uintptr_t at, std::size_t bytes, bool write, const void* from) {
  if (bytes == 0) return;
  if (write) {
    Check<Kind::kWrite>(at, bytes, from, {});
  } else {
    Check<Kind::kRead>(at, bytes, from, {});
  }
}

void Watch::Atomic(std::uintptr_t at, std::uint32_t bytes, PawlSite site) {
  if (at % bytes != 0) {
    Fail(DescribeCurrent() + ": an atomic on " + NameOf(at, 1) + ", which is no multiple of " +
             std::to_string(bytes),
         nullptr, site);
  }
  Spot spot;
  if (!Find(at, bytes, true, spot, nullptr, site) || spot.cells == nullptr) return;
  // A variable has an address in each block of a cluster, and is one.
  if (spot.global) publications_.Atomic(HomeOf(at), Now(), clock_->Met(lane_));
  Touch<Kind::kAtomic>(spot, at, bytes, nullptr, site);
}

void Watch::IssueCopy(const PendingCopy& copy) {
  const std::uintptr_t to = Address(copy.to);
  const std::uintptr_t from = Address(copy.from);
  const auto multiple = [&](std::uintptr_t at, const char* which) {
    if (at % copy.bytes == 0) return;
    Fail(DescribeCurrent() + ": an asynchronous copy of " + std::to_string(copy.bytes) +
             " bytes, whose " + which + ", " + NameOf(at, 1) + ", is no multiple of " +
             std::to_string(copy.bytes),
         nullptr, copy.site);
  };
  multiple(to, "destination");
  Spot spot;
  if (!Find(to, copy.bytes, true, spot, nullptr, copy.site) || spot.global) {
    Fail(DescribeCurrent() + ": an asynchronous copy to " + NameOf(to, copy.bytes) +
             ", which is not shared memory",
         nullptr, copy.site);
  }
  if (spot.cells != &block_->fixed_cells && spot.cells != &block_->dynamic_cells) {
    Fail(DescribeCurrent() + ": an asynchronous copy to " + NameOf(to, copy.bytes) +
             ", which is another block's: it goes into its own block's shared memory only",
         nullptr, copy.site);
  }
  if (copy.whole) {
    multiple(from, "source");
    Spot source;
    if (!Find(from, copy.bytes, false, source, nullptr, copy.site) || !source.global) {
      Fail(DescribeCurrent() + ": an asynchronous copy from " + NameOf(from, copy.bytes) +
               ", which is not global memory",
           nullptr, copy.site);
    }
    if (source.cells != nullptr) Touch<Kind::kRead>(source, from, copy.bytes, nullptr, copy.site);
  }
  Touch<Kind::kCopy>(spot, to, copy.bytes, nullptr, copy.site);
}

// From here on its own thread has written it.
void Watch::LandCopy(const PendingCopy& copy) {
  Spot spot;
  if (!Find(Address(copy.to), copy.bytes, true, spot, nullptr, copy.site)) return;
  const unsigned shift = spot.cells->shift;
  for (std::size_t i = spot.offset >> shift; i < (spot.offset + copy.bytes) >> shift; ++i) {
    WatchedWord& cell = spot.cells->cells[i];
    cell.writer = Me();
    cell.write_epoch = block_->epoch;
    cell.write_sync = sync_;
  }
}

}  // namespace pawl
