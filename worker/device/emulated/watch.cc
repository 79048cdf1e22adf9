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
  split(displaced);
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
  displaced_.Clear();
  for (auto* const all : {&ranges, &variables}) {
    for (GlobalRange& range : *all) range.cells.displaced.clear();
  }
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

PastAccess Watch::PastOf(const PastTouch& touch) const {
  PastAccess access;
  access.cluster = static_cast<std::uint32_t>(ClusterOf(touch.epoch));
  access.rank = RankOf(touch.who);
  access.thread = touch.who & kLow;
  access.several = (touch.who & kSeveral) != 0;
  access.epoch = touch.epoch;
  access.moment = touch.moment;
  access.stamp = touch.stamp;
  return access;
}

// The same in global memory, where other blocks of the launch have been too.
bool Watch::OrderedGlobally(const PastTouch& touch) const {
  if (touch.epoch < launch_first_) return true;
  if (touch.epoch >= cluster_start_ && Ordered(touch.epoch, touch.who, touch.moment)) return true;
  if (!publications_.fenced()) return false;
  return publications_.Reaches(PastOf(touch), Now(), clock_->Met(lane_));
}

void Watch::Fence() {
  if (!publications_.fenced()) {
    for (auto* const all : {&ranges, &variables}) {
      for (GlobalRange& range : *all) range.cells.stamps.resize(range.cells.cells.size());
    }
  }
  publications_.Fence(Now(), clock_->Met(lane_));
}

WatchedWords::Lists& Watch::ListsOf(const WatchedWord& cell, WatchedWords& cells) {
  if (cells.displaced.empty()) cells.displaced.resize(cells.cells.size());
  return cells.displaced[static_cast<std::size_t>(&cell - cells.cells.data())];
}

// An entry a block, of a cluster that still runs or that has fenced: behind what has not, nothing
// else of the launch can be, and that says it all.
Displaced::List Watch::Displace(const PastTouch& touch, Displaced::List list) {
  if (list == 0) return displaced_.With(touch, 0);
  const PastTouch newest = displaced_.Newest(list);
  const Displaced::List before = displaced_.Before(list);
  const std::size_t its = ClusterOf(newest.epoch);
  if (its != ClusterOf(touch.epoch)) {
    return publications_.HasFenced(its) ? displaced_.With(touch, list) : list;
  }
  if (RankOf(newest.who) != RankOf(touch.who)) {
    return displaced_.With(newest, Displace(touch, before));
  }
  // A barrier of the block lies between two of its epochs.
  return displaced_.With(newest.epoch == touch.epoch ? Together(newest, touch) : touch, before);
}

// The last arrival at a counter has seen all others, and may put it back.
template <Watch::Kind kKind>
void Watch::CheckDisplaced(const WatchedWord& cell, const Spot& spot, std::uintptr_t at,
                           std::size_t bytes, const void* from, PawlSite site) {
  WatchedWords::Lists& lists = ListsOf(cell, *spot.cells);
  const auto check = [&](Displaced::List list, bool wrote) {
    for (; list != 0; list = displaced_.Before(list)) {
      const PastTouch& touch = displaced_.Newest(list);
      if (!OrderedGlobally(touch)) FailRace(touch, wrote, kKind, at, bytes, true, from, site);
    }
  };
  const bool puts_back = kKind == Kind::kWrite && cell.writer == (Me() | kByAtomic) &&
                         cell.write_epoch >= cluster_start_;
  if (kKind != Kind::kAtomic && !puts_back) check(lists.atomics, true);
  if (kKind != Kind::kRead) check(lists.reads, false);
  if (kKind == Kind::kWrite) lists = {};
}

void Watch::NoteRead(WatchedWord& cell, const Spot& spot) {
  const PastTouch before{cell.read_epoch, cell.reader, cell.read_sync, 0};
  PastTouch touch{block_->epoch, Me(), sync_, 0};
  const bool of_cluster = before.epoch >= cluster_start_;
  if (spot.global && (!of_cluster || RankOf(before.who) != rank_)) {
    if (before.epoch >= launch_first_ && !OrderedGlobally(before)) {
      Displaced::List& reads = ListsOf(cell, *spot.cells).reads;
      reads = Displace(before, reads);
    }
  } else if (of_cluster && !Ordered(before.epoch, before.who, before.moment)) {
    touch = Together(before, touch);
  }
  cell.read_epoch = touch.epoch;
  cell.reader = touch.who;
  cell.read_sync = touch.moment;
}

bool Watch::AnyWritten(const Spot& spot, std::size_t bytes, std::uint32_t oldest) {
  const unsigned shift = spot.cells->shift;
  const WatchedWord* const first = spot.cells->cells.data() + (spot.offset >> shift);
  return std::any_of(first, first + (bytes >> shift),
                     [&](const WatchedWord& cell) { return cell.write_epoch >= oldest; });
}

template <Watch::Kind kKind>
void Watch::TouchCell(WatchedWord& cell, const Spot& spot, std::uintptr_t at, std::size_t bytes,
                      const void* from, PawlSite site) {
  const std::uint32_t oldest = spot.global ? 1 : cluster_start_;
  const bool written = cell.write_epoch >= oldest;
  constexpr bool kReads = kKind == Kind::kRead || kKind == Kind::kAtomic;
  if (kReads && !written && !unseen_stores && !AnyWritten(spot, bytes, oldest)) {
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
    const PastTouch write{cell.write_epoch,
                          static_cast<std::uint16_t>(cell.writer & ~(kByAtomic | kInFlight)),
                          cell.write_sync, spot.global ? spot.cells->StampOf(cell) : 0};
    const auto ordered = [&] {
      return spot.global ? OrderedGlobally(write) : Ordered(write.epoch, write.who, write.moment);
    };
    if (kKind != Kind::kAtomic || (cell.writer & kByAtomic) == 0) {
      if (!ordered()) FailRace(write, true, kKind, at, bytes, spot.global, from, site);
    } else if (spot.global && !ordered() && !publications_.Publishes(PastOf(write))) {
      Displaced::List& atomics = ListsOf(cell, *spot.cells).atomics;
      atomics = Displace(write, atomics);
    }
  }
  if (spot.global && !spot.cells->displaced.empty()) {
    CheckDisplaced<kKind>(cell, spot, at, bytes, from, site);
  }
  if (kKind == Kind::kRead) return NoteRead(cell, spot);
  const PastTouch read{cell.read_epoch, cell.reader, cell.read_sync, 0};
  if (read.epoch >= oldest &&
      !(spot.global ? OrderedGlobally(read) : Ordered(read.epoch, read.who, read.moment))) {
    FailRace(read, false, kKind, at, bytes, spot.global, from, site);
  }
  if (spot.global && publications_.fenced()) spot.cells->Stamp(cell, publications_.stamp());
  cell.writer = Me();
  if (kKind == Kind::kAtomic) cell.writer |= kByAtomic;
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
