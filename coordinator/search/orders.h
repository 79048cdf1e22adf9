#pragma once
// Makes the orders of a track: what a worker is asked, from the package, the track's state and its
// policy. Pure: the same arguments give the same order to the byte.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "coordinator/search/track.h"
#include "kernels/operation.h"
#include "kernels/space.h"
#include "schema/codec.h"
#include "schema/message.h"
#include "schema/order.h"

namespace pawl {

// An arm with its source, ready to be put into an order.
struct BuiltArm {
  Arm arm;
  std::optional<SourceText> source;
};

// What a track searches with: made once when it is opened or resumed; lives as long as the track
// does.
struct Workshop {
  std::shared_ptr<const Operation> operation;
  std::unique_ptr<const Structure> structure;  // one of the operation's, or several as one
  std::unique_ptr<Space> space;                // of `structure`
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Proposer> proposer;
  // What every order of the track has in common: buffers, scalars, the reference's and the
  // committed kernel's sources, the committed arm (0), check, input seeds, timing, deadlines.
  Order base;
  std::vector<BuiltArm> rivals;  // none where the structure has no source
};

// Errors: package, structure, shape, start configuration, template, committed kernel, policy,
// proposer, each as one line.
Result<Workshop> MakeWorkshop(const TrackSpec& spec, std::shared_ptr<const Operation> operation);

// The arms of an order and the rounds it asks for: all that a report is held against.
struct OrderPlan {
  std::vector<ArmRole> arms;
  std::vector<std::string> labels;  // of the arms
  std::vector<RoundPlan> rounds;
  bool checked = false;  // there is a reference to check against
};
OrderPlan MeasurePlan(const Workshop& workshop, const TrackSpec& spec, Generation generation,
                      std::uint32_t batch);
// `beside`: with the arms that are measured in the same rounds for comparison, the start
// configuration (where the incumbent is another one) and the rivals. None where the structure has
// no source.
OrderPlan ConfirmPlan(const Workshop& workshop, const Track& track, bool beside);

// Adds a configuration of the track's structure as an arm, with its source where the structure has
// one, labelled by its role. Errors: the template's.
Status AddConfigured(Order& order, const Workshop& workshop, ArmRole role,
                     const Configuration& configuration);

// The order of the next batch of a generation that is open, against the present incumbent.
Result<Order> MeasureOrder(const Workshop& workshop, const Track& track, Generation generation,
                           Attempt attempt, bool fresh_process);
// The order of a confirmation: the incumbent against committed in a fresh process, two input sets
// an arm, 4 unrecorded and 8 recorded rounds in which input set and order are crossed, not
// confounded. After a crash or hang, or a report that blames what is beside, it is without that: a
// rival that does not build spoils no confirmation.
Result<Order> ConfirmOrder(const Workshop& workshop, const Track& track, Attempt attempt);

// Whether a report blames an arm that was only measured beside: the start configuration, a rival.
bool BlamesBeside(const Report& report);

// The confirmation's figures from its report: of 1 - incumbent/committed in each recorded round,
// favouring the incumbent where that is above 0. Not valid, with the detail, when the report is not
// kMeasured.
Confirmed ConfirmedFrom(const OrderPlan& plan, const Report& report, std::uint32_t number,
                        const Configuration& incumbent);
Confirmed ConfirmedFrom(const Order& order, const Report& report, std::uint32_t number,
                        const Configuration& incumbent);

// An order that may be sent has at most so many bytes: the grant lies around it.
inline constexpr std::size_t kMostOrderBytes = kMaxMessageBytes - 4'096;

// Why no worker would take the order: too long, or what the codec's limits refuse. nullopt: it may
// be sent.
std::optional<std::string> WhyNotSent(const Order& order);

// Hints for what may come after the open generations, on the guess that they are rejected: up to
// `ahead` sources. `track` is only lent (outlook.h).
Prepare PrepareHint(const Workshop& workshop, Track& track, std::size_t ahead);

// Source digest of a configuration (zero: space only).
Result<Digest> SourceDigest(const Workshop& workshop, const Configuration& configuration);

// A proposal as the event that opens the next generation. Errors: the template's.
Result<Proposed> ProposedFrom(const Workshop& workshop, const TrackState& state,
                              const Proposal& proposal);

// Deadlines of one unit of work each: a track's own, which are for a problem of no size, and what
// the size adds: three times what a slow kernel on a slow machine takes (1 GFLOP/s, 1 GB/s; the
// float64 reference 0.2 GFLOP/s), at most half an hour.
Deadlines DeadlinesFor(const Deadlines& own, double flops, double bytes, const Timing& timing);

}  // namespace pawl
