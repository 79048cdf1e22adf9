#pragma once
// The device "cuda": arms are CUDA kernels, compiled by NVRTC for the GPU at hand, checked and
// timed on it.
//
// 1. An arm is timed only after its outputs, for every timed input set and the hidden one, agree
//    with the float64 reference; every visit's last outputs are compared too (gpu_bench.h).
// 2. A check that an object has passed is not made again by the same process for the same problem,
//    except for the candidate, which is always checked.
// 3. Compilers run in child processes, on other cores than the one that measures. The GPU's state
//    is read, never set.
// 4. After a kernel's fault the context is lost: the outcome says whose it was, and the process
// that
//    holds the device is to be replaced. A GPU that fails its probe is not opened.

#include <memory>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

// `which`: a GPU by its number as nvidia-smi counts, its UUID, or "" for the first. Errors name the
// GPUs there are.
Result<std::unique_ptr<Device>> OpenCuda(const std::string& which, const DeviceOptions& options);

// One for each GPU ("cuda:0", ...), or one that says what is missing. Makes no context.
std::vector<DeviceListing> ListCuda();

}  // namespace pawl
