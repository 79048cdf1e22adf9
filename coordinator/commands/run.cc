// pawl run JOB: searches every track of a job to its budget, then confirms what it found.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/follow.h"
#include "coordinator/service/session.h"

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

// What to start workers for: --device, else what the job names, else what this machine has.
Result<std::vector<std::string>> PickDevices(const RunOptions& options, Job& job) {
  if (!options.devices.empty()) {
    // The job's tracks are measured on these, whatever devices the file names.
    for (Job::Entry& entry : job.tracks) {
      entry.base.devices = options.devices;
      for (auto& [backend, request] : entry.by_backend) request.devices = options.devices;
    }
    return options.devices;
  }
  std::vector<std::string> devices;
  bool any = false;
  for (const Job::Entry& entry : job.tracks) {
    for (const std::string& device : entry.base.devices) {
      if (device.starts_with("replay:")) {
        if (std::find(devices.begin(), devices.end(), device) == devices.end())
          devices.push_back(device);
      } else {
        any = true;
      }
    }
  }
  if (!any || options.workers == 0) return devices;
  auto listed = ListWorkerDevices(WorkerProgram());
  if (!listed) return listed.error();
  std::vector<std::string> problems;
  // The best backend that is there: a GPU before the host.
  for (const std::string_view backend : {"cuda", "host"}) {
    const std::size_t before = devices.size();
    for (const ListedDevice& device : *listed) {
      DeviceFacts facts;
      facts.kind = device.kind;
      facts.model = device.model;
      facts.backend = device.backend;
      if (!device.problem.empty()) {
        if (backend == "cuda") problems.push_back(device.name + ": " + device.problem);
        continue;
      }
      if (device.backend != backend) continue;
      const bool wanted =
          std::any_of(job.tracks.begin(), job.tracks.end(), [&](const Job::Entry& entry) {
            const TrackRequest& track = entry.base;
            return (track.backend == "best" || track.backend == backend) &&
                   std::any_of(track.devices.begin(), track.devices.end(),
                               [&](const std::string& name) { return MatchesDevice(name, facts); });
          });
      if (wanted) devices.push_back(device.name);
    }
    if (devices.size() > before) {
      const bool fixed_host =
          std::any_of(job.tracks.begin(), job.tracks.end(),
                      [](const Job::Entry& entry) { return entry.base.backend == "host"; });
      if (!fixed_host) break;
    }
  }
  if (devices.empty()) {
    std::string message = options.job + ": no device of this machine can run the job";
    for (const std::string& problem : problems) message += "; " + problem;
    return Error{message + "; see `pawl devices`, or name one with --device"};
  }
  return devices;
}

int Run(const RunOptions& options) {
  auto job = ReadJob(options.job);
  if (!job) return Fail(job.error().message, kExitUsage);
  auto kernels = FindKernels(options.kernels);
  if (!kernels) return Fail(kernels.error().message);
  auto devices = PickDevices(options, *job);
  if (!devices) return Fail(devices.error().message);

  SessionOptions session_options;
  session_options.service.ledger_folder =
      options.ledger.empty() ? "ledgers/" + job->name : options.ledger;
  session_options.service.endpoint = options.endpoint;
  session_options.service.kernels_root = *kernels;
  session_options.service.job = *job;
  session_options.service.fork = options.fork;
  session_options.devices = *devices;
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
  const int code = follow.Summary();
  return *end == SessionEnd::kInterrupted ? kExitInterrupted : code;
}

}  // namespace

void AddRun(CLI::App& app, int& code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "search every track of a job to its budget, and confirm");
  command->add_option("JOB", options->job, "job file")->required()->check(CLI::ExistingFile);
  command->add_option("--ledger", options->ledger, "folder of the ledger (default: ledgers/<job>)");
  command->add_option(
      "--device", options->devices,
      "device to measure on, as `pawl devices` names it, or replay:FILE; may be repeated");
  command
      ->add_option("--workers", options->workers,
                   "workers for each device; 0 waits for workers started by hand")
      ->check(CLI::Range(0, 256));
  command->add_option("--listen", options->endpoint,
                      "ipc://PATH or tcp://127.0.0.1:PORT for workers");
  command->add_option("--kernels", options->kernels, "folder of operation packages");
  command->add_option("--state", options->state,
                      "folder of the workers' spool, evidence and cache");
  command->add_flag("--fork", options->fork,
                    "where a track may not be resumed, open a new one from its incumbent");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Run(*options); });
}

}  // namespace pawl
