// pawl run JOB: searches every track of a job to its budget, then confirms what it found.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/follow.h"
#include "coordinator/search/job_check.h"
#include "coordinator/service/session.h"
#include "schema/endpoint.h"

namespace pawl {
namespace {

struct RunOptions {
  std::string job;
  std::string ledger;
  std::vector<std::string> devices;
  std::uint32_t workers = 1;
  std::string endpoint;
  std::string kernels;
  std::string state;
  bool fork = false;
  bool json = false;
};

// What workers are started for, and what is known of it before they are.
struct Picked {
  std::vector<std::string> names;
  std::vector<ProspectiveDevice> devices;  // empty: not known before a worker says it
};

std::uint64_t MachineMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::uint64_t>(pages) * bytes : 0;
}

ProspectiveDevice Prospective(const ListedDevice& listed) {
  return {listed.facts, listed.kind == "host" ? MachineMemory() : 0};
}

constexpr std::string_view kReplay = "replay:";

// Takes a replay whose recording is there.
Status TakeReplay(const std::string& name, Picked& picked) {
  const std::string file = name.substr(kReplay.size());
  const std::string path = file.substr(0, file.find('?'));
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  std::string problem;
  if (!std::filesystem::exists(status)) {
    problem = "no such file";
  } else if (!std::filesystem::is_regular_file(status)) {
    problem = "not a file";
  } else if (std::filesystem::file_size(path, error) == 0) {
    problem = "is empty";
  }
  if (!problem.empty()) return Error{"device '" + name + "': " + path + ": " + problem};
  picked.names.push_back(name);
  picked.devices.push_back(ProspectiveReplay(file));
  return {};
}

// The devices that were named with --device: the job's tracks are measured on these, whatever the
// file names.
Result<Picked> TakeNamed(const std::vector<std::string>& names, Job& job) {
  for (Job::Entry& entry : job.tracks) {
    entry.base.devices = names;
    for (auto& [backend, request] : entry.by_backend) request.devices = names;
  }
  Picked picked;
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
    const auto found =
        std::find_if(listed->begin(), listed->end(),
                     [&](const ListedDevice& device) { return device.name == name; });
    picked.names.push_back(name);
    if (found != listed->end() && !found->problem.empty()) {
      return Error{"device '" + name + "': " + found->problem + "; see `pawl devices`"};
    }
    if (found != listed->end()) {
      picked.devices.push_back(Prospective(*found));
    } else if (name.find(':') != std::string::npos) {
      all_known = false;  // the worker knows kinds with parameters of their own
    } else {
      std::string have;
      for (const ListedDevice& device : *listed) have += device.name + ", ";
      return Error{"no device '" + name + "' (have: " + have + "replay:FILE); see `pawl devices`"};
    }
  }
  if (!all_known) picked.devices.clear();
  return picked;
}

// What to start workers for: --device, else what the job names, else what this machine has.
Result<Picked> PickDevices(const RunOptions& options, Job& job) {
  if (!options.devices.empty()) return TakeNamed(options.devices, job);
  Picked picked;
  bool any = false;
  for (const Job::Entry& entry : job.tracks) {
    for (const std::string& device : entry.base.devices) {
      any = any || !device.starts_with(kReplay);
      const bool known =
          std::find(picked.names.begin(), picked.names.end(), device) != picked.names.end();
      if (!device.starts_with(kReplay) || known || options.workers == 0) continue;
      if (Status taken = TakeReplay(device, picked); !taken) return taken.error();
    }
  }
  if (!any || options.workers == 0) return picked;
  auto listed = ListWorkerDevices(WorkerProgram());
  if (!listed) return listed.error();
  std::vector<std::string> problems;
  // The best backend that is there: a GPU before the host.
  for (const std::string_view backend : {"cuda", "host"}) {
    const std::size_t before = picked.names.size();
    for (const ListedDevice& device : *listed) {
      if (!device.problem.empty()) {
        if (backend == "cuda") problems.push_back(device.name + ": " + device.problem);
        continue;
      }
      if (device.backend != backend) continue;
      const bool wanted =
          std::any_of(job.tracks.begin(), job.tracks.end(), [&](const Job::Entry& entry) {
            const TrackRequest& track = entry.base;
            return (track.backend == "best" || track.backend == backend) &&
                   std::any_of(
                       track.devices.begin(), track.devices.end(),
                       [&](const std::string& name) { return MatchesDevice(name, device.facts); });
          });
      if (!wanted) continue;
      picked.names.push_back(device.name);
      picked.devices.push_back(Prospective(device));
    }
    if (picked.names.size() > before) {
      const bool fixed_host =
          std::any_of(job.tracks.begin(), job.tracks.end(),
                      [](const Job::Entry& entry) { return entry.base.backend == "host"; });
      if (!fixed_host) break;
    }
  }
  if (picked.names.empty()) {
    std::string message = options.job + ": no device of this machine can run the job";
    for (const std::string& problem : problems) message += "; " + problem;
    return Error{message + "; see `pawl devices`, or name one with --device"};
  }
  return picked;
}

// Everything about the job that needs no worker; 0: go on.
int CheckBeforehand(const RunOptions& options, const Job& job, const std::string& kernels,
                    const Picked& picked) {
  if (!options.endpoint.empty()) {
    if (Status checked = CheckEndpoint(options.endpoint, EndpointUse::kListen); !checked) {
      return Fail("--listen: " + checked.error().message, kExitUsage);
    }
  }
  std::map<std::string, std::shared_ptr<const Operation>> loaded;
  const OperationLookup lookup =
      [&](const std::string& name) -> Result<std::shared_ptr<const Operation>> {
    auto& known = loaded[name];
    if (known == nullptr) {
      auto operation = LoadOperation(kernels + "/" + name);
      if (!operation) return operation.error();
      known = std::make_shared<Operation>(*std::move(operation));
    }
    return known;
  };
  auto reasons = CheckJob(job, picked.devices, lookup);
  if (!reasons) return Fail(reasons.error().message, kExitUsage);
  if (reasons->empty()) return kExitDone;
  std::string message = job.file + ": no device can run the job";
  for (const std::string& reason : *reasons) message += "; " + reason;
  return Fail(message);
}

// Tracks that no device which came could be bound to. Gives how many.
int WarnOfUnsearched(const Job& job, const Core& core) {
  int unsearched = 0;
  for (const Job::Entry& entry : job.tracks) {
    const bool searched =
        std::any_of(core.tracks().begin(), core.tracks().end(), [&](const auto& track) {
          const TrackSpec& spec = track.second.track.state.spec;
          const auto merged = entry.by_backend.find(spec.backend);
          const TrackRequest& request =
              merged == entry.by_backend.end() ? entry.base : merged->second;
          return spec.label == request.label;
        });
    if (searched) continue;
    ++unsearched;
    Warn(entry.base.place + ": track '" + entry.base.label +
         "' was not searched: no device that it could use was there");
  }
  return unsearched;
}

int Run(const RunOptions& options) {
  auto job = ReadJob(options.job);
  if (!job) return Fail(job.error().message, kExitUsage);
  auto kernels = FindKernels(options.kernels);
  if (!kernels) return Fail(kernels.error().message);
  auto picked = PickDevices(options, *job);
  if (!picked) return Fail(picked.error().message);
  if (const int wrong = CheckBeforehand(options, *job, *kernels, *picked); wrong != kExitDone) {
    return wrong;
  }

  SessionOptions session_options;
  session_options.service.ledger_folder =
      options.ledger.empty() ? "ledgers/" + job->name : options.ledger;
  session_options.service.endpoint = options.endpoint;
  session_options.service.kernels_root = *kernels;
  session_options.service.job = *job;
  session_options.service.fork = options.fork;
  session_options.devices = picked->names;
  session_options.workers = options.workers;
  session_options.state = options.state;
  auto session = Session::Open(session_options);
  if (!session) return Fail(session.error().message);
  Service& service = (*session)->service();

  Follow follow(service, options.json);
  if (!options.json) {
    std::printf("job %s, ledger %s\n", job->name.c_str(), service.ledger().folder().c_str());
    for (const std::string& note : service.ledger().notes()) std::printf("%s\n", note.c_str());
    if (options.workers == 0) {
      std::printf("waiting for workers: pawl-worker --connect %s --device NAME\n",
                  service.endpoint().c_str());
    }
    std::fflush(stdout);
  }
  auto end = (*session)->Run([&] { follow.Progress(); });
  follow.Finish();
  if (!end) return Fail(end.error().message);
  int code = follow.Summary();
  for (const std::string& problem : (*session)->Problems()) Warn(problem);
  if (*end == SessionEnd::kInterrupted) return kExitInterrupted;
  if (WarnOfUnsearched(*job, service.core()) > 0) code = kExitWrong;
  return code;
}

}  // namespace

void AddRun(CLI::App& app, int& code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "search every track of a job to its budget, and confirm");
  command->add_option("JOB", options->job, "job file")->required()->check(NotEmpty());
  command->add_option("--ledger", options->ledger, "folder of the ledger (default: ledgers/<job>)")
      ->check(NotEmpty());
  command
      ->add_option(
          "--device", options->devices,
          "device to measure on, as `pawl devices` names it, or replay:FILE; may be repeated")
      ->check(NotEmpty());
  command
      ->add_option("--workers", options->workers,
                   "workers for each device; 0 waits for workers started by hand")
      ->check(CLI::Range(0, 256));
  command
      ->add_option("--listen", options->endpoint, "ipc://PATH or tcp://127.0.0.1:PORT for workers")
      ->check(NotEmpty());
  command->add_option("--kernels", options->kernels, "folder of operation packages")
      ->check(NotEmpty());
  command->add_option("--state", options->state, "folder of the workers' spool, evidence and cache")
      ->check(NotEmpty());
  command->add_flag("--fork", options->fork,
                    "where a track may not be resumed, open a new one from its incumbent");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Run(*options); });
}

}  // namespace pawl
