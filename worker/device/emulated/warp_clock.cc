#include "worker/device/emulated/warp_clock.h"

#include <bit>

namespace pawl {

std::uint32_t CommonGroup(std::uint32_t a, std::uint32_t b) {
  // Ancestors until they are one: a node's is half its number.
  while (a != b) {
    if (a > b)
      a /= 2;
    else
      b /= 2;
  }
  return a;
}

std::uint32_t LanesOf(std::uint32_t group) {
  const auto depth = static_cast<std::uint32_t>(std::bit_width(group)) - 1;
  const std::uint32_t size = kLanes >> depth;
  const std::uint32_t first = (group - (1u << depth)) * size;
  return (size == kLanes ? ~0u : (1u << size) - 1) << first;
}

void WarpClock::Restart() {
  now_ = 0;
  split_ = false;
}

void WarpClock::Meet(std::uint32_t lanes, bool whole) {
  if (whole) {
    ++now_;
    split_ = false;
    return;
  }
  if (!split_) {
    if (apart_ == nullptr) apart_ = std::make_unique<Apart>();
    apart_->now.fill(now_);
    for (Row& row : apart_->met) row.fill(now_);
    split_ = true;
  }
  ++now_;
  Row joined{};
  bool first = true;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (std::uint32_t of = 0; of < kLanes; ++of) {
      const Moment known = apart_->met[lane][of];
      if (first || IsBefore(joined[of], known)) joined[of] = known;
    }
    first = false;
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) != 0) joined[lane] = now_;
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    apart_->met[lane] = joined;
    apart_->now[lane] = now_;
  }
}

bool WarpClock::AllBefore(std::uint32_t group, Moment at, std::uint32_t other) const {
  if (!split_) return at != now_;
  const std::uint32_t lanes = LanesOf(group) & ~(1u << other);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) != 0 && !Before(lane, at, other)) return false;
  }
  return true;
}

}  // namespace pawl
