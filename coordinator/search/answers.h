#pragma once
// Whether a report answers its order, and whether a worker can serve a track.

#include <optional>
#include <string>

#include "coordinator/search/orders.h"
#include "schema/event.h"
#include "schema/report.h"

namespace pawl {

// nullopt when the report can be an answer to an order with this plan; else what is wrong, in one
// line. A measured report has every recorded round with its visits as planned, times above 0, no
// failed check and, for the first batch of an order that can be checked, a passed check of the arm
// that is judged. Others may stop short, but not go beyond the plan.
std::optional<std::string> WhyNotAnswer(const OrderPlan& plan, const Report& report);

// nullopt when the device's clocks are as a track wants them; else what is missing.
std::optional<std::string> WhyNotPinned(const DeviceFacts& device, bool require_pinned);

// nullopt when the device can measure for the track; else what differs.
std::optional<std::string> WhyNotServe(const DeviceFacts& device, const TrackSpec& spec,
                                       const Structure& structure);

}  // namespace pawl
