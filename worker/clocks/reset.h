#pragma once
// Resetting clocks: what a lease records, and nothing else; then looking whether they move again.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/clocks/clock_lease.h"
#include "worker/clocks/gpu_clocks.h"
#include "worker/clocks/lease_folder.h"

namespace pawl {

// A clock that reads this much else is another one: steps are 5 to 15 MHz.
inline constexpr std::uint32_t kClockStepMhz = 15;

// Resets each setting that the lease records; one that fails is tried three times. Then waits, 10 s
// at most, until the clock reads something else than what it was held at (where that is known: a
// guardian that died between its lease and its lock may have set nothing). An error: something is
// not reset, or the clock was not seen to move.
Status ResetRecorded(GpuClocks& clocks, Timer& timer, const ClockLease& lease);

// Opened when it is first wanted: where there is nothing to reset there may be no driver either.
using ClocksSource = std::function<Result<GpuClocks*>()>;

// What became of one lease.
struct Swept {
  std::string line;  // for people
  bool ok = true;    // false: something is still to be reset, or may be
};

// A lease whose GPU's lock file the caller holds: reset and removed when its guardian is gone,
// forgotten when it is of another boot. nullopt: there is none.
std::optional<Swept> SweepHeld(LeaseFolder& leases, const Machine& machine,
                               const ClocksSource& source, Timer& timer, const std::string& gpu);

// All leases of the folder. Those of live guardians are left as they are.
std::vector<Swept> SweepLeases(LeaseFolder& leases, const Machine& machine,
                               const ClocksSource& source, Timer& timer);

}  // namespace pawl
