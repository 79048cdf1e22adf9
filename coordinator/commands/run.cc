// pawl run JOB: searches every track of a job to its budget, then confirms what it found.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/follow.h"
#include "coordinator/commands/pick_devices.h"
#include "coordinator/commands/reachable.h"
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
  std::string keys;
  std::string kernels;
  std::string state;
  ClockOptions clocks;
  bool fork = false;
  bool json = false;
};

// Loads each package of a folder once.
OperationLookup LookupIn(const std::string& kernels) {
  using Loaded = std::map<std::string, std::shared_ptr<const Operation>>;
  return [kernels, loaded = std::make_shared<Loaded>()](
             const std::string& name) -> Result<std::shared_ptr<const Operation>> {
    auto& known = (*loaded)[name];
    if (known == nullptr) {
      auto operation = LoadPackage(kernels, name);
      if (!operation) return operation.error();
      known = std::make_shared<Operation>(*std::move(operation));
    }
    return known;
  };
}

// Everything about the job that needs no worker; 0: go on.
int CheckBeforehand(const RunOptions& options, const Job& job, const OperationLookup& lookup,
                    const PickedDevices& picked) {
  const bool keyed = !options.keys.empty();
  if (keyed && options.endpoint.empty()) {
    return Fail("--keys is for workers of other hosts: give --listen tcp://ADDRESS:PORT with it",
                kExitUsage);
  }
  if (!options.endpoint.empty()) {
    const Status checked = CheckEndpoint(options.endpoint, EndpointUse::kListen,
                                         keyed ? EndpointKeys::kBothSides : EndpointKeys::kNone);
    if (!checked) {
      return Fail("--listen: " + checked.error().message +
                      (keyed ? "" : ", or any tcp:// address with --keys FOLDER"),
                  kExitUsage);
    }
  }
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
  const OperationLookup lookup = LookupIn(*kernels);
  auto picked = PickDevices(options.devices, options.workers, lookup, *job);
  if (!picked) return Fail(picked.error().message);
  for (ProspectiveDevice& device : picked->devices) {
    // At how many MHz, and whether they can be, its worker knows once they are.
    if (options.clocks.pins() && device.facts.kind == "cuda") device.facts.pinned_mhz = 1;
  }
  if (const int wrong = CheckBeforehand(options, *job, lookup, *picked); wrong != kExitDone) {
    return wrong;
  }

  SessionOptions session_options;
  session_options.service.ledger_folder =
      options.ledger.empty() ? "ledgers/" + job->name : options.ledger;
  if (options.keys.empty()) {
    session_options.service.endpoint = options.endpoint;
  } else {
    session_options.service.guarded = GuardedAddress{options.endpoint, options.keys};
  }
  session_options.service.kernels_root = *kernels;
  session_options.service.job = *job;
  session_options.service.fork = options.fork;
  session_options.devices = picked->names;
  session_options.workers = options.workers;
  session_options.state = options.state;
  session_options.worker_options = options.clocks.ForWorker();
  auto session = Session::Open(session_options);
  if (!session) return Fail(session.error().message);
  Service& service = (*session)->service();

  Follow follow(service, options.json);
  if (!options.json) {
    std::printf("job %s, ledger %s\n", job->name.c_str(), service.ledger().folder().c_str());
    for (const std::string& note : service.ledger().notes()) std::printf("%s\n", note.c_str());
    const bool gpu =
        std::any_of(picked->devices.begin(), picked->devices.end(),
                    [](const ProspectiveDevice& device) { return device.facts.kind == "cuda"; });
    if (gpu && !options.clocks.pins()) {
      std::printf("GPU clocks are observed, not pinned; --clocks pin holds them while it runs\n");
    }
    if (service.hub().key()) {
      std::printf(
          "workers of other hosts: pawl-worker --connect %s --server-key %s --device NAME\n",
          Reachable(service.hub().guarded_endpoint()).c_str(), service.hub().key()->Hex().c_str());
    } else if (options.workers == 0) {
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
      ->add_option("--listen,--bind", options->endpoint,
                   "ipc://PATH or tcp://127.0.0.1:PORT for workers; with --keys any "
                   "tcp://ADDRESS:PORT")
      ->check(NotEmpty());
  AddKeysOption(*command, options->keys);
  AddKernelsOption(*command, options->kernels);
  command->add_option("--state", options->state, "folder of the workers' spool, evidence and cache")
      ->check(NotEmpty());
  AddClockOptions(*command, options->clocks);
  command->add_flag("--fork", options->fork,
                    "where a track may not be resumed, open a new one from its incumbent");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Run(*options); });
}

}  // namespace pawl
