#pragma once
// The device "host": arms are C++ functions, compiled here, loaded into this process and called on
// this machine's CPU.
//
// 1. An arm is timed only after its outputs, for every timed input set and the hidden one, agree
//    with the float64 reference. Every visit's last outputs are compared too (bench.h).
// 2. A check that an object has passed is not made again by the same process for the same problem,
//    except for the candidate, which is always checked.
// 3. A visit's median is over its iterations' times for one call. Nothing of ours runs meanwhile.

#include <memory>

#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

Result<std::unique_ptr<Device>> OpenHost(const DeviceOptions& options);

}  // namespace pawl
