#include "worker/device/emulated/displaced.h"

namespace pawl {

void Displaced::Clear() {
  entries_.clear();
  lists_.clear();
}

Displaced::List Displaced::With(const PastTouch& touch, List before) {
  const Entry entry{touch, before};
  const auto [at, added] = lists_.try_emplace(entry, static_cast<List>(entries_.size() + 1));
  if (added) entries_.push_back(entry);
  return at->second;
}

std::size_t Displaced::Hash::operator()(const Entry& entry) const {
  std::uint64_t hash = std::uint64_t{entry.touch.epoch} << 32 |
                       std::uint64_t{entry.touch.who} << 16 | entry.touch.moment;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15;
  hash ^= std::uint64_t{entry.touch.stamp} << 32 | entry.before;
  hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 29;
}

}  // namespace pawl
