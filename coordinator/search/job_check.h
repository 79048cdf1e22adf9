#pragma once
// What can be wrong with a job, found before a ledger is made or a worker started: everything but
// what only a connected device can tell.

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/search/binding.h"
#include "coordinator/search/job.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

// A device that a worker would be started for.
struct ProspectiveDevice {
  DeviceFacts facts;
  std::uint64_t memory_bytes = 0;  // that tensors must fit in; 0: not known
};

// A replay before it is opened: it may serve any backend and instrument.
ProspectiveDevice ProspectiveReplay(const std::string& file);

// Whether tensors of these sizes, with all that a check of them needs, fit the device.
Status CheckSizes(const std::vector<Buffer>& buffers, const ProspectiveDevice& device);

// Holds every track against its package and each device that it would be measured on. `devices`
// empty: not known yet; each track must then be right on its backend, `best` on one of them.
// Gives why no device can serve any track, a line each; empty: one can.
// Errors: what is wrong with the job or a package, with file and line where it is the job's.
Result<std::vector<std::string>> CheckJob(const Job& job,
                                          const std::vector<ProspectiveDevice>& devices,
                                          const OperationLookup& lookup);

}  // namespace pawl
