#include "coordinator/commands/pick_devices.h"

#include <algorithm>
#include <optional>

#include "coordinator/commands/device_choice.h"
#include "coordinator/search/binding.h"

namespace pawl {
namespace {

ProspectiveDevice Prospective(const ListedDevice& listed) {
  return {listed.facts, listed.memory_bytes};
}

constexpr std::string_view kReplay = "replay:";

// Takes a replay whose recording is there.
Status TakeReplay(const std::string& name, PickedDevices& picked) {
  if (Status there = CheckReplay(name); !there) return there;
  picked.names.push_back(name);
  picked.devices.push_back(ProspectiveReplay(name.substr(kReplay.size())));
  return {};
}

// The devices that were named with --device: the job's tracks are measured on these, whatever the
// file names.
Result<PickedDevices> TakeNamed(const std::vector<std::string>& names, Job& job) {
  for (Job::Entry& entry : job.tracks) {
    entry.base.devices = names;
    for (auto& [backend, request] : entry.by_backend) request.devices = names;
  }
  PickedDevices picked;
  std::optional<std::vector<ListedDevice>> listed;
  bool all_known = true;
  for (const std::string& name : names) {
    if (name.starts_with(kReplay)) {
      if (Status taken = TakeReplay(name, picked); !taken) return taken.error();
      continue;
    }
    if (!listed) {
      auto devices = ListWorkerDevices(WorkerProgram());
      if (!devices) return devices.error();
      listed = *std::move(devices);
    }
    auto found = FindListed(*listed, name);
    if (!found) return found.error();
    picked.names.push_back(name);
    if (*found != nullptr) {
      picked.devices.push_back(Prospective(**found));
    } else {
      all_known = false;  // the worker knows kinds with parameters of their own
    }
  }
  if (!all_known) picked.devices.clear();
  return picked;
}

bool IsNumbered(const std::string& name) {
  return name.starts_with("cuda:") && name.size() > 5 &&
         name.find_first_not_of("0123456789", 5) == std::string::npos;
}

// "cuda:1" in a job file means the GPU of that number on this machine, whoever its worker is: its
// UUID in place of it. One that is not there is left out, unless it is all that the track names.
Status ResolveNumbers(const std::vector<ListedDevice>& listed, Job& job) {
  const auto resolve = [&](TrackRequest& track) -> Status {
    std::vector<std::string> resolved;
    for (const std::string& name : track.devices) {
      const auto found =
          std::find_if(listed.begin(), listed.end(), [&](const ListedDevice& device) {
            return device.name == name && device.problem.empty();
          });
      if (!IsNumbered(name)) {
        resolved.push_back(name);
      } else if (found != listed.end()) {
        resolved.push_back("cuda:" + found->facts.uuid);
      }
    }
    if (resolved.empty()) {
      std::string have;
      for (const ListedDevice& device : listed) {
        if (device.problem.empty()) have += (have.empty() ? "" : ", ") + device.name;
      }
      return Error{track.place + ": track '" + track.label + "' is for device '" +
                   track.devices.front() + "', which this machine does not have (have: " + have +
                   "); see `pawl devices`"};
    }
    track.devices = std::move(resolved);
    return {};
  };
  for (Job::Entry& entry : job.tracks) {
    if (Status done = resolve(entry.base); !done) return done;
    for (auto& [backend, request] : entry.by_backend) {
      if (Status done = resolve(request); !done) return done;
    }
  }
  return {};
}

// Whether a track's operation has something to build for a backend. A package that is not there is
// said to be missing later, with the place.
bool CanBuildFor(const Job::Entry& entry, const std::string& backend,
                 const OperationLookup& lookup) {
  const auto merged = entry.by_backend.find(backend);
  const TrackRequest& request = merged == entry.by_backend.end() ? entry.base : merged->second;
  const auto operation = lookup(request.operation);
  if (!operation) return true;
  const Backend* found = (*operation)->FindBackend(backend);
  return found != nullptr &&
         std::any_of(found->structures.begin(), found->structures.end(),
                     [](const Structure& structure) { return !structure.source.empty(); });
}

// "best" of an operation that has kernels for one backend alone is that one, whatever else the
// machine has. Gives where that was so.
std::vector<std::string> ResolveBest(const OperationLookup& lookup, Job& job) {
  std::vector<std::string> alone;
  for (Job::Entry& entry : job.tracks) {
    if (entry.base.backend != "best") continue;
    const bool cuda = CanBuildFor(entry, "cuda", lookup);
    const bool host = CanBuildFor(entry, "host", lookup);
    if (cuda == host) continue;
    entry.base.backend = cuda ? "cuda" : "host";
    alone.push_back("operation " + entry.base.operation + " of track '" + entry.base.label +
                    "' has kernels for " + entry.base.backend + " alone");
  }
  return alone;
}

}  // namespace

Status TakeListed(const std::vector<ListedDevice>& listed, const OperationLookup& lookup, Job& job,
                  PickedDevices& picked) {
  if (Status resolved = ResolveNumbers(listed, job); !resolved) return resolved;
  std::vector<std::string> problems = ResolveBest(lookup, job);
  // The best backend that is there: a GPU before the host.
  for (const std::string backend : {"cuda", "host"}) {
    const auto matches = [&](const TrackRequest& track, const DeviceFacts& facts) {
      return (track.backend == "best" || track.backend == backend) &&
             std::any_of(track.devices.begin(), track.devices.end(),
                         [&](const std::string& name) { return MatchesDevice(name, facts); });
    };
    const std::size_t before = picked.devices.size();
    for (const ListedDevice& device : listed) {
      if (!device.problem.empty()) {
        if (backend == "cuda") problems.push_back(device.name + ": " + device.problem);
        continue;
      }
      if (device.backend != backend) continue;
      const bool wanted =
          std::any_of(job.tracks.begin(), job.tracks.end(),
                      [&](const Job::Entry& entry) { return matches(entry.base, device.facts); });
      if (!wanted) continue;
      picked.names.push_back(device.name);
      picked.devices.push_back(Prospective(device));
    }
    // A track that has its best is not for what another track brings beside it.
    for (Job::Entry& entry : job.tracks) {
      const bool has = std::any_of(
          picked.devices.begin() + static_cast<std::ptrdiff_t>(before), picked.devices.end(),
          [&](const ProspectiveDevice& device) { return matches(entry.base, device.facts); });
      if (has) entry.base.backend = backend;
    }
  }
  if (picked.names.empty()) {
    std::string message = job.file + ": no device of this machine can run the job";
    for (const std::string& problem : problems) message += "; " + problem;
    return Error{message + "; see `pawl devices`, or name one with --device"};
  }
  return {};
}

Result<PickedDevices> PickDevices(const std::vector<std::string>& named, std::uint32_t workers,
                                  const OperationLookup& lookup, Job& job) {
  if (!named.empty()) return TakeNamed(named, job);
  PickedDevices picked;
  bool any = false;
  for (const Job::Entry& entry : job.tracks) {
    for (const std::string& device : entry.base.devices) {
      any = any || !device.starts_with(kReplay);
      const bool known =
          std::find(picked.names.begin(), picked.names.end(), device) != picked.names.end();
      if (!device.starts_with(kReplay) || known || workers == 0) continue;
      if (Status taken = TakeReplay(device, picked); !taken) return taken.error();
    }
  }
  if (!any || workers == 0) return picked;
  auto listed = ListWorkerDevices(WorkerProgram());
  if (!listed) return listed.error();
  if (Status taken = TakeListed(*listed, lookup, job, picked); !taken) return taken.error();
  return picked;
}

}  // namespace pawl
