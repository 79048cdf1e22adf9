#pragma once
// Runs one configuration of a cuda package on the emulated device, in this process: as the device
// does it (Audited), or the bare launches with their outputs (RunLaunches).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/audit.h"
#include "kernels/operation.h"
#include "schema/report.h"
#include "worker/device.h"
#include "worker/device/emulated/emulator.h"

namespace pawl::test {

// tests/data/planted_cuda/twice, or kernels/matmul.
std::shared_ptr<const Operation> LoadPackage(const std::string& folder);
std::shared_ptr<const Operation> LoadFiles(const std::map<std::string, std::string>& files,
                                           const std::string& name);

// The order that an audit sends for a configuration: "tiled", "k_step=32" over its start.
Order OrderFor(std::shared_ptr<const Operation> operation, const std::string& structure,
               const std::string& settings, const std::vector<Scalar>& shape);

// A package of one cuda kernel `one` (X, Y of n = 1000 elements, n), wanted Y = 2 X, with what its
// launch is besides ("block = [64, 1, 1]\n").
Order OneKernel(const std::string& launch, const std::string& source);
// What the audit of such a package finds; empty: nothing. 16 blocks of 64 threads.
std::string FoundIn(const std::string& source, const std::string& launch = "");

// Folders of this process, gone with it.
DeviceOptions EmulatedOptions();
// Devices by name ("emulated:sm_90"), kept with their cache for the whole test program.
Device& DeviceNamed(const std::string& name);
Report Audited(const Order& order, const std::string& device = "emulated:sm_90");

struct Ran {
  std::optional<std::string> finding;
  std::map<std::string, std::vector<float>> buffers;  // all of them, after the last launch
  double seconds = 0;                                 // of CPU time, of the launches
};
// Inputs are filled from input seed 0; `order`: how blocks run.
Ran RunLaunches(const Order& order, const RunOrder& run);

}  // namespace pawl::test
