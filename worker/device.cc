#include "worker/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "worker/device/emulated/emulated_device.h"
#include "worker/device/host/host_device.h"
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
  if (name == "host") return OpenHost(options);
  if (name == kEmulated) return OpenEmulated("", options);
  if (name.compare(0, kEmulated.size() + 1, "emulated:") == 0) {
    return OpenEmulated(name.substr(kEmulated.size() + 1), options);
  }
  if (name.compare(0, kReplay.size(), kReplay) == 0) {
    return OpenReplay(name.substr(kReplay.size()), options);
  }
  return Error{"device '" + name + "' is not known (have: host, emulated:sm_89, replay:FILE)",
               Advice::kReject};
}

namespace {

// The listing's own folder, gone with it: a listing leaves nothing behind.
DeviceListing ListBuilding(const std::string& name) {
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
  if (Result<std::unique_ptr<Device>> device = OpenDevice(name, options)) {
    listing.facts = (*device)->Facts();
  } else {
    listing.problem = device.error().message;
  }
  std::filesystem::remove_all(folder, failed);
  return listing;
}

DeviceListing ListCuda() {
  DeviceListing listing;
  listing.name = "cuda";
  listing.facts.kind = "cuda";
  listing.facts.backend = "cuda";
  constexpr const char* kDriver = "libcuda.so.1";
  if (void* driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL)) {
    ::dlclose(driver);
    listing.problem =
        std::string("NVIDIA driver found (") + kDriver + "); GPU devices need the CUDA device";
  } else {
    listing.problem = std::string("no NVIDIA driver (") + kDriver + " cannot be loaded)";
  }
  return listing;
}

}  // namespace

std::vector<DeviceListing> ListDevices() {
  return {ListBuilding("host"), ListCuda(), ListBuilding("emulated:sm_89")};
}

}  // namespace pawl
