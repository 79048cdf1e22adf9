#include "worker/device/emulated/watch.h"

#include <algorithm>
#include <utility>

#include "schema/check.h"
#include "worker/device/compare.h"

namespace pawl {
namespace {

// A who: bits 0-9 the thread, 10-13 the rank. With kSeveral the low bits are a warp of the rank, or
// all its warps, or all ranks. kAtomic marks a writer's read-modify-write; kInFlight a copy that
// has not been waited for.
constexpr std::uint16_t kInFlight = 0x8000;
constexpr std::uint16_t kSeveral = 0x4000;  // readers
constexpr std::uint16_t kAtomic = 0x4000;   // writers
constexpr std::uint16_t kLow = 0x3ff;
constexpr std::uint16_t kSeveralWarps = 0x3ff;
constexpr std::uint16_t kSeveralRanks = 0x3fe;

std::uint16_t RankOf(std::uint16_t who) { return who >> 10 & 15; }

std::string Index(const PawlIndex& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::uintptr_t Address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

void WatchedWords::Resize(std::size_t bytes) {
  const std::size_t count = (bytes + (std::size_t{1} << shift) - 1) >> shift;
  if (cells.size() < count) cells.resize(count);
}

void WatchedWords::Split() {
  if (shift == 0) return;
  std::vector<WatchedWord> bytes;
  bytes.reserve(cells.size() * 4);
  for (const WatchedWord& cell : cells) bytes.insert(bytes.end(), 4, cell);
  cells = std::move(bytes);
  shift = 0;
}

void Watch::BeginLaunch() {
  launch_first_ = ++counter_;
  clusters_.clear();
  for (GlobalRange& range : ranges) {
    if (range.writable) range.cells.Resize(range.bytes);
  }
}

void Watch::BeginCluster() {
  if (!clusters_.empty() && fenced_ && acquired_) clusters_.back().published = counter_;
  cluster_start_ = cluster_first_ = ++counter_;
  fenced_ = acquired_ = false;
  clusters_.push_back({cluster_start_, 0, {}});
  for (BlockMemory& block : blocks) {
    clusters_.back().blocks.push_back(block.index);
    block.fixed_cells.Resize(block.fixed_bytes);
    block.dynamic_cells.Resize(block.dynamic_bytes);
    block.epoch = cluster_start_;
    block.peer_epoch = 0;
    block.left = false;
  }
  copies_in_flight = 0;
}

void Watch::PassBarrier(std::uint32_t rank) { blocks[rank].epoch = ++counter_; }

void Watch::PassClusterBarrier() {
  cluster_first_ = ++counter_;
  for (BlockMemory& block : blocks) block.epoch = cluster_first_;
}

void Watch::LeaveBlock(std::uint32_t rank, PawlSite site) {
  blocks[rank].left = true;
  if (blocks[rank].peer_epoch < cluster_first_) return;
  Fail("block " + Index(blocks[rank].index) +
           " leaves its cluster while another block uses its shared memory: no cluster barrier "
           "lies between",
       nullptr, site);
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
  if ((who & kSeveral) != 0 && low == kSeveralRanks) return false;
  if (RankOf(who) != rank_) return false;
  if (epoch != block_->epoch) return true;  // an earlier one: a barrier lies between
  if ((who & kSeveral) != 0) return low == warp_ && sync != sync_;
  return low == thread_ || (low >> 5 == warp_ && sync != sync_);
}

// The same in global memory, where other blocks of the launch have been too.
bool Watch::OrderedGlobally(std::uint32_t epoch, std::uint16_t who, std::uint16_t sync) const {
  if (epoch < launch_first_) return true;
  if (epoch >= cluster_start_) return Ordered(epoch, who, sync);
  if (!acquired_) return false;
  const auto after = std::upper_bound(
      clusters_.begin(), clusters_.end(), epoch,
      [](std::uint32_t value, const Cluster& cluster) { return value < cluster.first; });
  CHECK(after != clusters_.begin(), epoch);
  return std::prev(after)->published >= epoch;
}

void Watch::NoteRead(WatchedWord& cell) {
  const std::uint16_t me = Me();
  const bool stale = cell.read_epoch < cluster_start_;
  if (stale || Ordered(cell.read_epoch, cell.reader, cell.read_sync)) {
    cell.reader = me;
  } else if (RankOf(cell.reader) != rank_ ||
             ((cell.reader & kSeveral) != 0 && (cell.reader & kLow) == kSeveralRanks)) {
    cell.reader = kSeveral | kSeveralRanks;
  } else {
    const std::uint16_t low = cell.reader & kLow;
    const std::uint16_t warp = (cell.reader & kSeveral) != 0 ? low : low >> 5;
    cell.reader =
        static_cast<std::uint16_t>(kSeveral | rank_ << 10 | (warp == warp_ ? warp : kSeveralWarps));
  }
  cell.read_epoch = block_->epoch;
  cell.read_sync = sync_;
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
    if (!both_atomic && !(spot.global ? OrderedGlobally(cell.write_epoch, who, cell.write_sync)
                                      : Ordered(cell.write_epoch, who, cell.write_sync))) {
      FailRace(cell, true, kKind, at, bytes, spot.global, from, site);
    }
  }
  if (kKind == Kind::kRead) return NoteRead(cell);
  if (cell.read_epoch >= oldest &&
      !(spot.global ? OrderedGlobally(cell.read_epoch, cell.reader, cell.read_sync)
                    : Ordered(cell.read_epoch, cell.reader, cell.read_sync))) {
    FailRace(cell, false, kKind, at, bytes, spot.global, from, site);
  }
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
  if (bytes < 4 || (at & 3) != 0) spot.cells->Split();
  const unsigned shift = spot.cells->shift;
  WatchedWord* cell = spot.cells->cells.data() + (spot.offset >> shift);
  WatchedWord* const end = cell + std::max<std::size_t>(bytes >> shift, 1);
  for (; cell != end; ++cell) {
    // Most reads: of a word that all have read since the barrier.
    if (kKind == Kind::kRead && cell->read_epoch == block_->epoch &&
        cell->reader == (kSeveral | kSeveralWarps) && rank_ == 0) {
      continue;
    }
    TouchCell<kKind>(*cell, spot, at, bytes, from, site);
  }
}

GlobalRange* Watch::RangeOf(std::uintptr_t at) {
  if (last_range_ != nullptr && at - Address(last_range_->data) < last_range_->bytes) {
    return last_range_;
  }
  for (GlobalRange& range : ranges) {
    if (at - Address(range.data) < range.bytes) return last_range_ = &range;
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
  if (GlobalRange* range = RangeOf(at)) {
    const std::size_t offset = at - Address(range->data);
    if (offset + bytes > range->bytes) FailOutside(at, bytes, write, from, site);
    if (write && !range->writable) {
      Fail(DescribeCurrent() + " writes to the input " + NameOf(at, bytes), from, site);
    }
    if (write && copies_in_flight > 0) {
      const PendingCopy* copy = reading_copy(reinterpret_cast<const std::byte*>(at), bytes);
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
    if (block.left) {
      Fail(DescribeCurrent() + (write ? " writes " : " reads ") + NameOf(at, bytes) + " of block " +
               Index(block.index) + ", which has left the cluster",
           from, site);
    }
    block.peer_epoch = counter_;
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
  if (spot.global) {
    // Sequential blocks make atomics ordered among themselves, whichever block they are of.
    const std::size_t first = spot.offset >> spot.cells->shift;
    const std::size_t count = std::max<std::size_t>(bytes >> spot.cells->shift, 1);
    for (std::size_t i = first; i < first + count; ++i) {
      WatchedWord& cell = spot.cells->cells[i];
      if (cell.write_epoch >= launch_first_ && cell.write_epoch < cluster_start_ &&
          (cell.writer & kAtomic) != 0) {
        cell.write_epoch = launch_first_ - 1;  // and with nothing else: written before
      }
    }
    acquired_ = true;
  }
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

std::string Watch::Describe(std::uint32_t rank, std::uint32_t thread) const {
  const std::uint32_t x = block_extent[0];
  const std::uint32_t y = block_extent[1];
  return "thread " + Index({thread % x, thread / x % y, thread / x / y}) + " of block " +
         Index(blocks[rank].index);
}

std::string Watch::DescribeWho(std::uint16_t who, std::uint32_t epoch) const {
  if (epoch < cluster_start_) {
    const auto after = std::upper_bound(
        clusters_.begin(), clusters_.end(), epoch,
        [](std::uint32_t value, const Cluster& cluster) { return value < cluster.first; });
    if (after == clusters_.begin()) return "an earlier launch";
    const std::vector<PawlIndex>& its = std::prev(after)->blocks;
    const std::uint16_t rank = RankOf(who);
    const PawlIndex block = rank < its.size() ? its[rank] : its.front();
    if ((who & kSeveral) != 0) return "threads of block " + Index(block);
    const std::uint32_t thread = who & kLow;
    const std::uint32_t x = block_extent[0];
    const std::uint32_t y = block_extent[1];
    return "thread " + Index({thread % x, thread / x % y, thread / x / y}) + " of block " +
           Index(block);
  }
  if ((who & kSeveral) == 0) return Describe(RankOf(who), who & kLow);
  const std::uint16_t low = who & kLow;
  if (low == kSeveralRanks) return "threads of several blocks of the cluster";
  if (low == kSeveralWarps) return "threads of several warps";
  return "threads of warp " + std::to_string(low);
}

std::string Watch::WriterOf(const GlobalRange& range, std::int64_t element) const {
  if (!range.writable || range.cells.cells.empty()) return "";
  const std::size_t offset = static_cast<std::size_t>(element) * SizeOf(range.buffer.dtype);
  const WatchedWord& cell = range.cells.cells[offset >> range.cells.shift];
  if (cell.write_epoch < launch_first_) return "";
  return DescribeWho(cell.writer & static_cast<std::uint16_t>(~(kAtomic | kInFlight)),
                     cell.write_epoch);
}

std::string Watch::NameOf(std::uintptr_t at, std::size_t bytes) const {
  static_cast<void>(bytes);
  const auto offset_in = [](std::size_t offset, std::size_t of) {
    return "byte " + std::to_string(offset) + " of " + std::to_string(of) +
           (offset % 4 == 0 ? " (word " + std::to_string(offset / 4) + ")" : "");
  };
  for (const GlobalRange& range : ranges) {
    if (at - Address(range.data) >= range.bytes) continue;
    const std::size_t size = SizeOf(range.buffer.dtype);
    return ElementName(range.buffer, static_cast<std::int64_t>((at - Address(range.data)) / size));
  }
  for (const BlockMemory& block : blocks) {
    const std::size_t offset = at - Address(block.fixed);
    if (offset < block.fixed_bytes) {
      for (const SharedVariable& variable : shared_variables) {
        if (offset - variable.offset >= variable.bytes) continue;
        return variable.name + " in shared memory, " +
               offset_in(offset - variable.offset, variable.bytes);
      }
      return "static shared memory, " + offset_in(offset, block.fixed_bytes);
    }
    if (at - Address(block.dynamic) < block.dynamic_bytes) {
      return "dynamic shared memory, " +
             offset_in(at - Address(block.dynamic), block.dynamic_bytes);
    }
  }
  return "memory that is no buffer's";
}

void Watch::FailOutside(std::uintptr_t at, std::size_t bytes, bool write, const void* from,
                        PawlSite site) {
  // The nearest thing that has an end.
  std::string nearest;
  std::uint64_t least = UINT64_MAX;
  const auto consider = [&](std::uintptr_t base, std::size_t extent, const auto& describe) {
    if (extent == 0) return;
    const std::uint64_t distance = at < base                    ? base - at
                                   : at + bytes > base + extent ? at + bytes - base - extent
                                                                : 0;
    if (distance >= least) return;
    least = distance;
    nearest = describe(static_cast<std::int64_t>(at - base));
  };
  for (const GlobalRange& range : ranges) {
    consider(Address(range.data), range.bytes, [&](std::int64_t offset) {
      const auto size = static_cast<std::int64_t>(SizeOf(range.buffer.dtype));
      const std::int64_t element = offset >= 0 ? offset / size : -((size - 1 - offset) / size);
      return range.buffer.name + " element " + std::to_string(element) + ", of " +
             std::to_string(range.buffer.Elements());
    });
  }
  for (const BlockMemory& block : blocks) {
    const auto in = [&](const char* what, std::size_t extent) {
      return [what, extent](std::int64_t offset) {
        return std::string(what) + " byte " + std::to_string(offset) + ", of " +
               std::to_string(extent);
      };
    };
    consider(Address(block.fixed), block.fixed_bytes,
             in("static shared memory", block.fixed_bytes));
    consider(Address(block.dynamic), block.dynamic_bytes,
             in("dynamic shared memory", block.dynamic_bytes));
  }
  Fail(DescribeCurrent() + (write ? " writes " : " reads ") + std::to_string(bytes) +
           " bytes out of range: " + (nearest.empty() ? "there is no buffer" : nearest),
       from, site);
}

void Watch::FailRace(const WatchedWord& cell, bool cell_writes, Kind kind, std::uintptr_t at,
                     std::size_t bytes, bool global, const void* from, PawlSite site) {
  const std::uint32_t epoch = cell_writes ? cell.write_epoch : cell.read_epoch;
  std::uint16_t who = cell_writes ? cell.writer : cell.reader;
  if (cell_writes) who &= static_cast<std::uint16_t>(~(kAtomic | kInFlight));
  const char* does = kind == Kind::kRead     ? " reads "
                     : kind == Kind::kWrite  ? " writes "
                     : kind == Kind::kAtomic ? " changes atomically "
                                             : " copies asynchronously into ";
  std::string missing = "no barrier";
  if (global && epoch < cluster_start_) {
    missing = "nothing that orders the two blocks";
  } else if ((who & kSeveral) != 0 ? (who & kLow) == kSeveralRanks : RankOf(who) != rank_) {
    missing = "no cluster barrier";
  }
  Fail(std::string("race on ") + (global ? "global" : "shared") + " memory: " + DescribeCurrent() +
           does + NameOf(at, bytes) + ", which " + DescribeWho(who, epoch) +
           (cell_writes ? " wrote" : " read") + ", with " + missing + " between",
       from, site);
}

void Watch::Fail(std::string text, const void* from, PawlSite site) {
  fail_({std::move(text), from, site});
  CHECK(false, "a finding was returned from");
}

}  // namespace pawl
