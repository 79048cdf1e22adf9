#include "coordinator/commands/device_choice.h"

#include <algorithm>
#include <filesystem>

#include "schema/file_kind.h"

namespace pawl {
namespace {

constexpr std::string_view kReplay = "replay:";

}  // namespace

Status CheckReplay(const std::string& name) {
  const std::string file = name.substr(kReplay.size());
  const std::string path = file.substr(0, file.find('?'));
  const std::optional<std::string> there = WhatIsAt(path);
  std::error_code error;
  std::string problem;
  if (!there) {
    problem = "no such file";
  } else if (*there != kAFile) {
    problem = "is " + *there + "; a recording's file is wanted";
  } else if (std::filesystem::file_size(path, error) == 0) {
    problem = "is empty";
  }
  if (problem.empty()) return {};
  return Error{"device '" + name + "': " + path + ": " + problem};
}

Result<const ListedDevice*> FindListed(const std::vector<ListedDevice>& listed,
                                       const std::string& name) {
  const auto found = std::find_if(listed.begin(), listed.end(),
                                  [&](const ListedDevice& device) { return device.name == name; });
  if (found != listed.end()) {
    if (found->problem.empty()) return &*found;
    return Error{"device '" + name + "': " + found->problem + "; see `pawl devices`"};
  }
  if (name.find(':') != std::string::npos) return static_cast<const ListedDevice*>(nullptr);
  std::string have;
  for (const ListedDevice& device : listed) have += device.name + ", ";
  return Error{"no device '" + name + "' (have: " + have + "replay:FILE); see `pawl devices`"};
}

Result<std::string> DeviceOfTrack(const TrackSpec& spec, const std::string& given) {
  if (!given.empty()) return given;
  auto listed = ListWorkerDevices(WorkerProgram());
  if (!listed) return listed.error();
  for (const ListedDevice& device : *listed) {
    if (device.problem.empty() && device.model == spec.device_model) return device.name;
  }
  return Error{
      "the track is bound to device '" + spec.device_model +
      "', which this machine does not have; run this where it is, or name a replay with --device"};
}

Result<ChosenDevice> ChooseDevice(const std::string& given,
                                  const std::vector<std::string>& backends) {
  if (given.starts_with(kReplay)) {
    if (Status there = CheckReplay(given); !there) return there.error();
    return ChosenDevice{given, ""};
  }
  auto listed = ListWorkerDevices(WorkerProgram());
  if (!listed) return listed.error();
  if (!given.empty()) {
    auto found = FindListed(*listed, given);
    if (!found) return found.error();
    return ChosenDevice{given, *found == nullptr ? "" : (*found)->backend};
  }
  std::string problems, wanted;
  for (const std::string& backend : backends) {
    wanted += (wanted.empty() ? "" : " or ") + backend;
  }
  for (const std::string_view backend : {"cuda", "host"}) {
    if (std::find(backends.begin(), backends.end(), backend) == backends.end()) continue;
    for (const ListedDevice& device : *listed) {
      if (!device.problem.empty()) {
        if (backend == "cuda") problems += "; " + device.name + ": " + device.problem;
      } else if (device.backend == backend && device.kind != "emulated") {  // which never times
        return ChosenDevice{device.name, device.backend};
      }
    }
  }
  return Error{"no device of this machine runs backend " + (wanted.empty() ? "(none)" : wanted) +
               problems + "; see `pawl devices`, or name one with --device"};
}

}  // namespace pawl
