#pragma once
// What __syncwarp has ordered among the lanes of one warp since the last barrier of their block.
//
// Each __syncwarp begins a new moment for the lanes that meet at it, and an access is stamped with
// its lane's moment. As long as all lanes meet every time, one number says everything. Once only
// some have met, each lane remembers of each other one which of its moments have come before; a
// meeting of all ends that again. Moments are compared around their wrap: what lies 32768 meetings
// back counts as not ordered.

#include <array>
#include <cstdint>
#include <memory>

namespace pawl {

inline constexpr std::uint32_t kLanes = 32;

// The smallest aligned group of lanes, a power of two of them, that holds two groups: a node of the
// binary tree over a warp's lanes, 1 for all of them, 2 and 3 for its halves, 16 to 31 for pairs,
// 32 to 63 for single lanes. Fits in 5 bits where it holds two lanes or more.
std::uint32_t CommonGroup(std::uint32_t a, std::uint32_t b);
inline std::uint32_t GroupOf(std::uint32_t lane) { return kLanes + lane; }
std::uint32_t LanesOf(std::uint32_t group);  // as a mask

class WarpClock {
 public:
  using Moment = std::uint16_t;
  using Row = std::array<Moment, kLanes>;

  // A barrier of the block: what was before is told apart by other means.
  void Restart();
  // The lanes of the mask meet. `whole`: the warp has no others, nor has had.
  void Meet(std::uint32_t lanes, bool whole);

  Moment Now(std::uint32_t lane) const { return split_ ? apart_->now[lane] : now_; }
  // Whether what `lane` did at a moment comes before what `other` does now.
  bool Before(std::uint32_t lane, Moment at, std::uint32_t other) const {
    return split_ ? IsBefore(at, apart_->met[other][lane]) : at != now_;
  }
  // The same of each lane of a group, but for `other` itself.
  bool AllBefore(std::uint32_t group, Moment at, std::uint32_t other) const;
  // By lane, before which moments what it did comes before what `other` does now; nullptr: before
  // Now() of them all.
  const Row* Met(std::uint32_t other) const { return split_ ? &apart_->met[other] : nullptr; }

  static bool IsBefore(Moment a, Moment b) { return static_cast<std::int16_t>(a - b) < 0; }

 private:
  struct Apart {
    Row now;
    std::array<Row, kLanes> met;
  };

  Moment now_ = 0;  // the newest
  bool split_ = false;
  std::unique_ptr<Apart> apart_;  // of a warp that has been split
};

}  // namespace pawl
