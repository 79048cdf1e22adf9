#pragma once
// A capture: arms of a track measured again by the second instrument, for the record and never for
// a decision. Pure.
//
// One unrecorded pass over every arm, then kCaptureRounds rounds of kCaptureIterations calls, each
// round's order rotated left by one from the round before, all on one input set.

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/search/errands.h"
#include "coordinator/search/orders.h"
#include "schema/event.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

inline constexpr std::uint32_t kCaptureRounds = 3;
inline constexpr std::uint32_t kCaptureIterations = 100;
inline constexpr std::size_t kMostCaptureArms = 16;

// What a track's arms are captured by: kernel_time on a GPU (graph_time where that is the track's
// own); on the host the other of wall_time and cpu_time.
Instrument SecondInstrument(Instrument first);

struct CaptureArm {
  ArmRole role = ArmRole::kCommitted;
  std::string label;            // unique: "committed", "incumbent", "start", "generation 7"
  Configuration configuration;  // of the committed kernel: not looked at
};

// Errors: a structure without source, a template that does not render.
Result<Order> CaptureOrder(const Workshop& workshop, const TrackSpec& spec,
                           const std::vector<CaptureArm>& arms);

// Every round visits every arm once, all on the same input set. Errors: the round and the arm that
// does not.
Status CheckSameInputs(const Order& order);

// The capture as a list of one errand, for workers that the track can be served by. What it is
// given must outlive it.
ErrandList CaptureErrands(const Workshop& workshop, const TrackSpec& spec,
                          const std::vector<CaptureArm>& arms);

}  // namespace pawl
