#pragma once
// Which devices `pawl run` starts workers for.

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/search/binding.h"
#include "coordinator/search/job.h"
#include "coordinator/search/job_check.h"
#include "coordinator/service/worker_process.h"
#include "schema/result.h"

namespace pawl {

struct PickedDevices {
  std::vector<std::string> names;          // as OpenDevice takes them
  std::vector<ProspectiveDevice> devices;  // empty: not known before a worker says it
};

// Of the devices that this machine has, those of the best backend that each track can use and that
// its operation has kernels for, a GPU before the host; added to `picked`. The job's tracks are
// then for these: numbers of GPUs become their UUIDs, and "best" the backend that it has come to.
// Errors: there is none.
Status TakeListed(const std::vector<ListedDevice>& listed, const OperationLookup& lookup, Job& job,
                  PickedDevices& picked);

// `named`: with --device, in place of what the job names; else what the job names, else what this
// machine has, as TakeListed has it. `workers` 0: only what needs no worker of ours. Errors: a
// device that is not there or cannot be used, a recording that is none.
Result<PickedDevices> PickDevices(const std::vector<std::string>& named, std::uint32_t workers,
                                  const OperationLookup& lookup, Job& job);

}  // namespace pawl
