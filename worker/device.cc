#include "worker/device.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "worker/device/cuda/cuda_device.h"
#include "worker/device/emulated/emulated_device.h"
#include "worker/device/host/host_device.h"
#include "worker/device/host/machine.h"
#include "worker/device/replay/replay.h"

namespace pawl {

std::string_view Name(Stage stage) {
  switch (stage) {
    case Stage::kBuild:
      return "build";
    case Stage::kCheck:
      return "check";
    case Stage::kRun:
      return "run";
  }
  CHECK(false, static_cast<int>(stage));
}

Result<std::unique_ptr<Device>> OpenDevice(const std::string& name, const DeviceOptions& options) {
  constexpr std::string_view kReplay = "replay:";
  constexpr std::string_view kEmulated = "emulated";
  constexpr std::string_view kCuda = "cuda";
  if (name == "host") return OpenHost(options);
  if (name == kCuda) return OpenCuda("", options);
  if (name.compare(0, kCuda.size() + 1, "cuda:") == 0) {
    return OpenCuda(name.substr(kCuda.size() + 1), options);
  }
  if (name == kEmulated) return OpenEmulated("", options);
  if (name.compare(0, kEmulated.size() + 1, "emulated:") == 0) {
    return OpenEmulated(name.substr(kEmulated.size() + 1), options);
  }
  if (name.compare(0, kReplay.size(), kReplay) == 0) {
    return OpenReplay(name.substr(kReplay.size()), options);
  }
  return Error{"device '" + name +
                   "' is not known (have: host, cuda, cuda:NUMBER, cuda:UUID, emulated:sm_89, "
                   "replay:FILE)",
               Advice::kReject};
}

namespace {

// The listing's own folder, gone with it: a listing leaves nothing behind.
DeviceListing ListBuilding(const std::string& name, bool peaks) {
  DeviceListing listing;
  listing.name = name;
  std::error_code failed;
  std::string folder =
      (std::filesystem::temp_directory_path(failed) / "pawl-devices-XXXXXX").string();
  if (failed || ::mkdtemp(folder.data()) == nullptr) {
    listing.problem = "cannot make a folder for builds in the folder for temporary files";
    return listing;
  }
  DeviceOptions options;
  options.scratch = folder + "/scratch";
  options.cache = folder + "/cache";
  options.measure_peaks = peaks;
  if (Result<std::unique_ptr<Device>> device = OpenDevice(name, options)) {
    listing.facts = (*device)->Facts();
    listing.memory_bytes = RunnerMemory(ReadMachine({}));
  } else {
    listing.problem = device.error().message;
  }
  std::filesystem::remove_all(folder, failed);
  return listing;
}

}  // namespace

std::vector<DeviceListing> ListDevices(bool peaks) {
  std::vector<DeviceListing> listings = {ListBuilding("host", peaks)};
  for (DeviceListing& listing : ListCuda()) listings.push_back(std::move(listing));
  listings.push_back(ListBuilding("emulated:sm_89", peaks));
  return listings;
}

}  // namespace pawl
