// What the watch says of memory, threads and races.

#include <algorithm>
#include <utility>

#include "schema/check.h"
#include "worker/device/compare.h"
#include "worker/device/emulated/watch.h"
#include "worker/device/emulated/who.h"

namespace pawl {
namespace {

std::uintptr_t Address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

std::string OffsetText(std::size_t offset, std::size_t of) {
  return "byte " + std::to_string(offset) + " of " + std::to_string(of) +
         (offset % 4 == 0 ? " (word " + std::to_string(offset / 4) + ")" : "");
}

}  // namespace

std::string IndexText(const PawlIndex& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

std::string Watch::Describe(std::uint32_t rank, std::uint32_t thread) const {
  const std::uint32_t x = block_extent[0];
  const std::uint32_t y = block_extent[1];
  return "thread " + IndexText({thread % x, thread / x % y, thread / x / y}) + " of block " +
         IndexText(blocks[rank].index);
}

std::string Watch::DescribeWho(std::uint16_t who, std::uint32_t epoch) const {
  if (epoch < cluster_start_) {
    if (clusters_.empty() || epoch < clusters_.front().first) return "an earlier launch";
    const std::vector<PawlIndex>& its = clusters_[ClusterOf(epoch)].blocks;
    const std::uint16_t rank = RankOf(who);
    const PawlIndex block = rank < its.size() ? its[rank] : its.front();
    if ((who & kSeveral) != 0) return "threads of block " + IndexText(block);
    const std::uint32_t thread = who & kLow;
    const std::uint32_t x = block_extent[0];
    const std::uint32_t y = block_extent[1];
    return "thread " + IndexText({thread % x, thread / x % y, thread / x / y}) + " of block " +
           IndexText(block);
  }
  if ((who & kSeveral) == 0) return Describe(RankOf(who), who & kLow);
  const std::uint16_t low = who & kLow;
  if (low == kSeveralRanks) return "threads of several blocks of the cluster";
  if (low == kSeveralWarps) return "threads of several warps";
  return "threads of warp " + std::to_string(low / kLanes);
}

std::int64_t Watch::UnwrittenIn(const GlobalRange& range) const {
  if (unseen_stores) return -1;
  const auto& cells = range.cells.cells;
  const auto first = std::find_if(cells.begin(), cells.end(),
                                  [](const WatchedWord& cell) { return cell.write_epoch == 0; });
  if (first == cells.end()) return -1;
  return ((first - cells.begin()) << range.cells.shift) /
         static_cast<std::int64_t>(SizeOf(range.buffer.dtype));
}

std::string Watch::WriterOf(const GlobalRange& range, std::int64_t element) const {
  if (!range.writable || range.cells.cells.empty()) return "";
  const std::size_t offset = static_cast<std::size_t>(element) * SizeOf(range.buffer.dtype);
  const WatchedWord& cell = range.cells.cells[offset >> range.cells.shift];
  if (cell.write_epoch < launch_first_) return "";
  return DescribeWho(cell.writer & static_cast<std::uint16_t>(~(kByAtomic | kInFlight)),
                     cell.write_epoch);
}

std::string Watch::NameOf(std::uintptr_t at, std::size_t bytes) const {
  static_cast<void>(bytes);
  for (const GlobalRange& range : ranges) {
    if (at - Address(range.data) >= range.bytes) continue;
    const std::size_t size = SizeOf(range.buffer.dtype);
    return ElementName(range.buffer, static_cast<std::int64_t>((at - Address(range.data)) / size));
  }
  at = HomeOf(at);
  for (const GlobalRange& range : variables) {
    if (at - Address(range.data) >= range.bytes) continue;
    return "the __device__ variable " + range.buffer.name + ", " +
           OffsetText(at - Address(range.data), range.bytes);
  }
  for (const BlockMemory& block : blocks) {
    const std::size_t offset = at - Address(block.fixed);
    if (offset < block.fixed_bytes) {
      for (const Variable& variable : shared_variables) {
        if (offset - variable.offset >= variable.bytes) continue;
        return variable.name + " in shared memory, " +
               OffsetText(offset - variable.offset, variable.bytes);
      }
      return "static shared memory, " + OffsetText(offset, block.fixed_bytes);
    }
    if (at - Address(block.dynamic) < block.dynamic_bytes) {
      return "dynamic shared memory, " +
             OffsetText(at - Address(block.dynamic), block.dynamic_bytes);
    }
  }
  return "memory that is no buffer's";
}

void Watch::FailOutside(std::uintptr_t at, std::size_t bytes, bool write, const void* from,
                        PawlSite site) {
  // The nearest thing that has an end.
  at = HomeOf(at);
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
  for (const GlobalRange& range : variables) {
    consider(Address(range.data), range.bytes, [&](std::int64_t offset) {
      return "the __device__ variable " + range.buffer.name + " byte " + std::to_string(offset) +
             ", of " + std::to_string(range.bytes);
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

void Watch::FailRace(const PastTouch& earlier, bool wrote, Kind kind, std::uintptr_t at,
                     std::size_t bytes, bool global, const void* from, PawlSite site) {
  const std::uint32_t epoch = earlier.epoch;
  const std::uint16_t who = earlier.who;
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
           (wrote ? " wrote" : " read") + ", with " + missing + " between",
       from, site);
}

void Watch::Fail(std::string text, const void* from, PawlSite site, bool refused) {
  fail_({std::move(text), from, site, refused});
  CHECK(false, "a finding was returned from");
}

}  // namespace pawl
