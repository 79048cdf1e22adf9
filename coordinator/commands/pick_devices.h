#pragma once
// Which devices `pawl run` starts workers for.

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/search/job.h"
#include "coordinator/search/job_check.h"
#include "schema/result.h"

namespace pawl {

struct PickedDevices {
  std::vector<std::string> names;          // as OpenDevice takes them
  std::vector<ProspectiveDevice> devices;  // empty: not known before a worker says it
};

// `named`: with --device, in place of what the job names; else what the job names, else what this
// machine has, a GPU before the host. The job's tracks are then for these devices: numbers of GPUs
// become their UUIDs. `workers` 0: only what needs no worker of ours. Errors: a device that is not
// there or cannot be used, a recording that is none.
Result<PickedDevices> PickDevices(const std::vector<std::string>& named, std::uint32_t workers,
                                  Job& job);

}  // namespace pawl
