#pragma once
// The emulated device: CUDA kernels on the CPU, for correctness only. It takes audit orders (build
// and check) and refuses to time. "emulated:sm_89" has the limits of that architecture;
// "emulated:sm_89?checks=off" runs without watching accesses.
//
// 1. A kernel passes when its outputs agree with the float64 reference, when nothing is found by
// the
//    watch (watch.h), and when two runs that CUDA allows to differ (the order of blocks and warps,
//    when asynchronous copies land) give the same outputs to the bit.
// 2. The same order gives the same report, whatever the machine does meanwhile.

#include <memory>
#include <string>

#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

// `argument`: what follows "emulated:" in the device's name; empty: sm_89.
Result<std::unique_ptr<Device>> OpenEmulated(const std::string& argument,
                                             const DeviceOptions& options);

}  // namespace pawl
