#pragma once
// What is said of a GPU: the facts that bind a track to it, and the listing of `pawl devices`.

#include <string>
#include <vector>

#include "schema/report.h"
#include "schema/result.h"
#include "worker/device/cuda/driver.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/nvml.h"

namespace pawl {

// `nvml`: null where it is not there.
DeviceFacts FactsOf(const GpuProperties& gpu, const Driver& driver, const Nvml* nvml,
                    const std::string& nvrtc_version);

// Whether this NVRTC makes code for this GPU. An error says which it is too old for.
Status CanBuildFor(const GpuProperties& gpu, const std::string& nvrtc_version,
                   const std::vector<int>& architectures);

}  // namespace pawl
