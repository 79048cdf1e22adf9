#pragma once
// What follows from what is open: the pure rules between a report and a decision. Core acts on
// them, and `pawl verify` asks them again of every decision that a ledger holds.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "coordinator/search/orders.h"
#include "coordinator/search/policy.h"
#include "coordinator/search/track.h"
#include "schema/event.h"

namespace pawl {

struct SettleLimits {
  std::uint32_t max_voids = 2;  // a void generation is measured again up to this often
  std::uint32_t max_lost = 8;   // attempts lost before the generation is void (worker lost)
};

// Another attempt is to be granted: the first, of the next batch, or of the same one.
struct AskAttempt {
  bool fresh_process = false;  // after a crash or a hang

  bool operator==(const AskAttempt&) const = default;
};

// For an open generation of the track without an attempt out. In order:
//   violations                     reject geometry, with all of them
//   the candidate crashed or hung  once more in a fresh process; the second time its own reject
//   another arm did, or no arm     void device_fault
//   max_lost attempts lost         void worker_lost
//   reports                        the policy's decision, or another batch
// control_drift, throttled and device_fault are measured again up to max_voids times, then set
// aside; other voids are set aside at once.
//
// Where the incumbent was replaced since the reports were ordered, what they say against the
// candidate stands: what is not faster than the old one is not faster than the new one. They never
// keep it. When its ratio against the old incumbent is not below the product of the ratios that
// were kept since, it cannot win: void superseded. Otherwise, and where another batch is asked for,
// it is measured again against the new one: superseded "again", as often as that happens.
std::variant<AskAttempt, Decided> NextStep(const Track& track, const OpenGeneration& open,
                                           const Policy& policy, const SettleLimits& limits);

// For a confirmation without an attempt out: a crash or hang is tried once more, throttling and
// device faults up to max_voids times; what failed because of an arm that is only beside is tried
// again without them. Whatever else fails is the confirmation's answer.
std::variant<AskAttempt, Confirmed> NextConfirmStep(const Workshop& workshop, const Track& track,
                                                    const SettleLimits& limits);

// The plan of the confirmation's order that this report answers: with what is beside, or without.
OrderPlan ConfirmPlanOf(const Workshop& workshop, const Track& track, const Report& report);

// Why this budget ends the search now, in the words of TrackClosed: "generation limit 20 reached",
// "8 rejections in a row", "2.5 minutes of worker time spent"; nullopt: it does not.
std::optional<std::string> WhyEnds(const TrackState& state, const Budget& budget);

// What is decided when no order can be made of a proposal (its arms do not render, or it is too
// long to be sent), and whether a detail says that.
Decided WithoutOrder(const OpenGeneration& open, const std::string& problem);
Confirmed ConfirmedWithoutOrder(const OpenGeneration& open, const std::string& problem);
bool IsWithoutOrder(const std::string& detail);

// TrackClosed's words when the replay that measured this generation has come to its end.
std::string AtEndOfReplay(Generation generation);

// TrackClosed's words when the proposer has no proposal.
inline constexpr char kNothingLeft[] = "nothing left to propose";

}  // namespace pawl
