#include "worker/device/emulated/publication.h"

#include <algorithm>
#include <bit>

#include "worker/device/emulated/who.h"

namespace pawl {

void Publications::BeginLaunch() {
  fences_.clear();
  published_.clear();
  acquired_.clear();
  rows_.clear();
}

void Publications::BeginCluster() {
  fences_.emplace_back();
  acquired_.clear();
}

void Publications::Keep(Instant& at, const WarpClock::Row* met) {
  at.row = -1;
  if (met == nullptr) return;
  at.row = static_cast<std::int32_t>(rows_.size());
  rows_.push_back(*met);
}

bool Publications::Leads(const Instant& from, const Instant& to, const WarpClock::Row* met) const {
  if (from.epoch < to.cluster_epoch) return true;
  if (from.rank != to.rank) return false;
  if (from.epoch < to.epoch || from.thread == to.thread) return true;
  if (from.thread / kLanes != to.thread / kLanes) return false;
  return met == nullptr ? from.moment != to.moment
                        : WarpClock::IsBefore(from.moment, (*met)[from.thread % kLanes]);
}

bool Publications::Leads(const Instant& from, const Instant& to) const {
  return Leads(from, to, to.row < 0 ? nullptr : &rows_[static_cast<std::size_t>(to.row)]);
}

bool Publications::Leads(const PastAccess& from, const Instant& to) const {
  if (from.epoch < to.cluster_epoch) return true;
  if (from.several && from.thread == kSeveralRanks) return false;
  if (from.rank != to.rank || from.epoch > to.epoch) return false;
  if (from.epoch < to.epoch || (!from.several && from.thread == to.thread)) return true;
  if (from.several && from.thread == kSeveralWarps) return false;
  if (from.thread / kLanes != to.thread / kLanes) return false;
  const std::uint32_t lane = from.thread % kLanes;
  const std::uint32_t lanes =
      LanesOf(from.several ? lane : GroupOf(lane)) & ~(1u << to.thread % kLanes);
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const WarpClock::Moment met =
        to.row < 0 ? to.moment : rows_[static_cast<std::size_t>(to.row)][i];
    if (!WarpClock::IsBefore(from.moment, met)) return false;
  }
  return true;
}

void Publications::Fence(Instant at, const WarpClock::Row* met) {
  Keep(at, met);
  fences_.back().push_back({at, ++stamp_});
}

void Publications::Atomic(std::uintptr_t address, Instant at, const WarpClock::Row* met) {
  // Without a fence anywhere nothing is published.
  if (fences_.back().empty() && published_.empty()) return;
  ++number_;
  const auto by_me = [&](const auto& other) {
    return other.at.rank == at.rank && other.at.thread == at.thread;
  };
  const auto there = published_.find(address);
  if (there != published_.end()) {
    const auto last = std::find_if(
        acquired_.rbegin(), acquired_.rend(),
        [&](const Acquired& acquired) { return acquired.address == address && by_me(acquired); });
    if (last == acquired_.rend() || last->number < there->second.back().number) {
      Acquired acquired{address, at, number_};
      Keep(acquired.at, met);
      acquired_.push_back(acquired);
    }
  }
  const std::vector<Fenced>& fences = fences_.back();
  if (std::none_of(fences.begin(), fences.end(), by_me)) return;
  Published published;
  published.cluster = static_cast<std::uint32_t>(fences_.size() - 1);
  published.at = at;
  published.number = number_;
  published.fences = fences.size();
  for (const Acquired& acquired : acquired_) {
    if (Leads(acquired.at, at, met)) published.acquired.push_back(acquired);
  }
  std::vector<Published>& all = published_[address];
  // A thread that polls publishes the same again and again.
  if (!all.empty()) {
    const Published& last = all.back();
    if (last.cluster == published.cluster && by_me(last) && last.fences == published.fences &&
        last.at.epoch == at.epoch && last.at.moment == at.moment &&
        last.acquired.size() == published.acquired.size()) {
      return;
    }
  }
  Keep(published.at, met);
  all.push_back(std::move(published));
}

bool Publications::Publishes(const PastAccess& atomic) const {
  const std::vector<Fenced>& fences = fences_[atomic.cluster];
  return std::any_of(fences.begin(), fences.end(), [&](const Fenced& fence) {
    return fence.stamp <= atomic.stamp && fence.at.rank == atomic.rank &&
           fence.at.thread == atomic.thread;
  });
}

bool Publications::Covers(const Published& by, const PastAccess& access) const {
  const std::vector<Fenced>& fences = fences_[by.cluster];
  auto fence = std::upper_bound(
      fences.begin(), fences.end(), access.stamp,
      [](std::uint32_t stamp, const Fenced& fenced) { return stamp < fenced.stamp; });
  // Who of several threads it was is not known: where enough of them have fenced themselves, it was
  // those. That is two of different warps, or one of each half of a group of lanes.
  std::uint32_t lanes = 0, warps = 0;
  const std::uint32_t group = access.thread % kLanes;
  for (; fence < fences.begin() + static_cast<std::ptrdiff_t>(by.fences); ++fence) {
    if (!Leads(fence->at, by.at)) continue;
    if (Leads(access, fence->at)) return true;
    if (!access.several || fence->at.rank != access.rank || fence->at.epoch != access.epoch) {
      continue;
    }
    const std::uint32_t warp = fence->at.thread / kLanes;
    warps |= 1u << warp;
    if (warp == access.thread / kLanes) lanes |= 1u << fence->at.thread % kLanes;
  }
  if (!access.several || access.thread == kSeveralRanks) return false;
  if (access.thread == kSeveralWarps) return std::popcount(warps) > 1;
  return (lanes & LanesOf(2 * group)) != 0 && (lanes & LanesOf(2 * group + 1)) != 0;
}

bool Publications::Reaches(const PastAccess& access, std::uintptr_t address, std::uint64_t before,
                           std::vector<std::uintptr_t>& seen) const {
  if (std::find(seen.begin(), seen.end(), address) != seen.end()) return false;
  seen.push_back(address);
  const auto there = published_.find(address);
  if (there == published_.end()) return false;
  const std::vector<Published>& all = there->second;
  // By the cluster itself, or handed on by one that ran later.
  const auto first = std::lower_bound(all.begin(), all.end(), access.cluster,
                                      [](const Published& published, std::uint32_t cluster) {
                                        return published.cluster < cluster;
                                      });
  for (auto by = first; by != all.end() && by->cluster == access.cluster; ++by) {
    if (by->number < before && Covers(*by, access)) return true;
  }
  for (auto by = first; by != all.end() && by->number < before; ++by) {
    for (const Acquired& acquired : by->acquired) {
      if (Reaches(access, acquired.address, acquired.number, seen)) return true;
    }
  }
  return false;
}

bool Publications::Reaches(const PastAccess& access, Instant now, const WarpClock::Row* met) const {
  std::vector<std::uintptr_t> seen;
  for (const Acquired& acquired : acquired_) {
    if (Leads(acquired.at, now, met) && Reaches(access, acquired.address, acquired.number, seen)) {
      return true;
    }
  }
  return false;
}

}  // namespace pawl
