#pragma once
// What a cell of global memory has no room for: reads whose place a later read has taken, and
// atomics whose place a later atomic has, without being ordered behind them. What is neither and
// comes next must be ordered behind each of them, not only behind the one that the cell holds.
//
// Cells have lists of them, the newest first. Lists are never changed: a longer one begins with a
// new entry, and equal ones are one, since most words of a buffer have been touched in the same way
// by the same blocks.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "worker/device/emulated/warp_clock.h"
#include "worker/device/emulated/who.h"

namespace pawl {

struct PastTouch {
  std::uint32_t epoch = 0;
  std::uint16_t who = 0;  // as a reader's
  WarpClock::Moment moment = 0;
  std::uint32_t stamp = 0;  // of a write: Publications::stamp; of several the first's

  bool operator==(const PastTouch&) const = default;
};

// Two of one cluster that are not ordered, as one of several threads.
inline PastTouch Together(const PastTouch& older, const PastTouch& newer) {
  const auto is = [](const PastTouch& touch, std::uint16_t several) {
    return (touch.who & kSeveral) != 0 && (touch.who & kLow) == several;
  };
  const auto group = [](const PastTouch& touch) -> std::uint32_t {
    const std::uint32_t low = touch.who & kLow;
    return (touch.who & kSeveral) != 0 ? low % kLanes : GroupOf(low % kLanes);
  };
  const std::uint32_t rank = RankOf(newer.who);
  const std::uint32_t warp = (newer.who & kLow) / kLanes;
  PastTouch both = newer;
  both.stamp = older.stamp;
  if (is(older, kSeveralRanks) || is(newer, kSeveralRanks) || RankOf(older.who) != rank) {
    both.who = kSeveral | kSeveralRanks;
  } else if (is(older, kSeveralWarps) || is(newer, kSeveralWarps) ||
             (older.who & kLow) / kLanes != warp) {
    both.who = static_cast<std::uint16_t>(kSeveral | rank << kRankShift | kSeveralWarps);
  } else {
    both.who = static_cast<std::uint16_t>(kSeveral | rank << kRankShift | warp * kLanes |
                                          CommonGroup(group(older), group(newer)));
    if (WarpClock::IsBefore(newer.moment, older.moment)) both.moment = older.moment;
  }
  return both;
}

class Displaced {
 public:
  using List = std::uint32_t;  // 0: empty

  void Clear();
  // The list with one more before it.
  List With(const PastTouch& touch, List before);
  const PastTouch& Newest(List list) const { return entries_[list - 1].touch; }
  List Before(List list) const { return entries_[list - 1].before; }

 private:
  struct Entry {
    PastTouch touch;
    List before = 0;

    bool operator==(const Entry&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Entry& entry) const;
  };

  std::vector<Entry> entries_;
  std::unordered_map<Entry, List, Hash> lists_;
};

}  // namespace pawl
