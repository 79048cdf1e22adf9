#pragma once
// Makes the orders of a track: what a worker is asked, from the package, the track's state and its policy.
// Pure: the same arguments give the same order to the byte.

#include <memory>
#include <string>

#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "coordinator/search/track.h"
#include "kernels/operation.h"
#include "kernels/space.h"
#include "schema/message.h"
#include "schema/order.h"

namespace pawl {

// What a track searches with: made once when it is opened or resumed; lives as long as the track does.
struct Workshop {
  std::shared_ptr<const Operation> operation;
  const Structure* structure = nullptr;
  std::unique_ptr<Space> space;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Proposer> proposer;
};

// Errors: package, structure, shape, start configuration, committed kernel, each as one line.
Result<Workshop> MakeWorkshop(const TrackSpec& spec, std::shared_ptr<const Operation> operation);

// The order of the next batch of a generation that is open.
Result<Order> MeasureOrder(const Workshop& workshop, const Track& track, Attempt attempt,
                           bool fresh_process);
// The order of a confirmation: the incumbent against committed, two input sets an arm, 4 unrecorded and 8
// recorded rounds in which input set and order are crossed, not confounded.
Result<Order> ConfirmOrder(const Workshop& workshop, const Track& track, Attempt attempt);

// The confirmation's figures from its report.
Confirmed ConfirmedFrom(const Order& order, const Report& report, std::uint32_t number,
                        const Configuration& incumbent);

// Hints for what may come after the open generation, on the guess that it is rejected.
Prepare PrepareHint(const Workshop& workshop, const Track& track, std::size_t ahead);

// Source digest of a configuration (zero: space only).
Result<Digest> SourceDigest(const Workshop& workshop, const Configuration& configuration);

}  // namespace pawl
