// pawl serve: a coordinator that stays, for any number of jobs and workers that come and go.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "coordinator/commands/command.h"
#include "coordinator/commands/device_choice.h"
#include "coordinator/commands/follow.h"
#include "coordinator/commands/reachable.h"
#include "coordinator/commands/standing.h"
#include "coordinator/commands/watchers.h"
#include "coordinator/service/session.h"
#include "schema/endpoint.h"

namespace pawl {
namespace {

struct ServeOptions {
  std::string ledger;
  std::vector<std::string> devices;
  std::uint32_t workers = 1;
  std::string endpoint;
  std::string keys;
  std::string kernels;
  std::string state;
  ClockOptions clocks;
  bool json = false;
};

std::string LedgerOf(const ServeOptions& options) {
  if (!options.ledger.empty()) return options.ledger;
  const char* const from_environment = std::getenv("PAWL_LEDGER");
  const bool given = from_environment != nullptr && *from_environment != '\0';
  return given ? from_environment : "ledgers/pawl";
}

int CheckAddress(const ServeOptions& options) {
  if (options.endpoint.empty() && options.keys.empty()) return kExitDone;
  if (options.endpoint.empty() || options.keys.empty()) {
    return Fail(
        "workers of other hosts need both --listen tcp://ADDRESS:PORT and --keys FOLDER; those of "
        "this host come to the ledger's socket",
        kExitUsage);
  }
  const Status checked =
      CheckEndpoint(options.endpoint, EndpointUse::kListen, EndpointKeys::kBothSides);
  return checked ? kExitDone : Fail("--listen: " + checked.error().message, kExitUsage);
}

void Greet(const ServeOptions& options, const Service& service) {
  std::printf("serving ledger %s, %zu jobs\n", service.ledger().folder().c_str(),
              service.core().board().jobs().size());
  for (const std::string& note : service.ledger().notes()) std::printf("%s\n", note.c_str());
  std::printf("jobs: pawl submit JOB --ledger %s\n", service.ledger().folder().c_str());
  std::printf("workers of this host: pawl-worker --connect %s --device NAME\n",
              service.endpoint().c_str());
  if (service.hub().key()) {
    std::printf("workers of other hosts: pawl-worker --connect %s --server-key %s --device NAME\n",
                Reachable(service.hub().guarded_endpoint()).c_str(),
                service.hub().key()->Hex().c_str());
  }
  if (!options.devices.empty() && !options.clocks.pins()) {
    std::printf("GPU clocks are observed, not pinned; --clocks pin holds them while it runs\n");
  }
  std::fflush(stdout);
}

int Serve(const ServeOptions& options) {
  if (const int wrong = CheckAddress(options); wrong != kExitDone) return wrong;
  auto kernels = FindKernels(options.kernels);
  if (!kernels) return Fail(kernels.error().message);
  SessionOptions session_options;
  session_options.service.ledger_folder = LedgerOf(options);
  if (!options.keys.empty()) {
    session_options.service.guarded = GuardedAddress{options.endpoint, options.keys};
  }
  session_options.service.kernels_root = *kernels;
  session_options.service.stay = true;
  session_options.devices = options.devices;
  session_options.workers = options.devices.empty() ? 0 : options.workers;
  session_options.state = options.state;
  session_options.worker_options = options.clocks.ForWorker();
  auto session = Session::Open(session_options);
  if (!session) return Fail(session.error().message);
  Service& service = (*session)->service();
  Follow follow(service, options.json);
  Watchers watchers(service);
  follow.on_generation = [&](const GenerationRecord& record) { watchers.OnGeneration(record); };
  follow.on_confirmed = [&](TrackId track, const Confirmed& confirmed) {
    watchers.OnConfirmed(track, confirmed);
  };
  service.on_ask = [&](const PeerId& peer, const Ask& ask) {
    if (ask.verb == AskVerb::kWatch) return watchers.OnAsk(peer, ask);
    SayStanding(service, peer, ask);
  };
  if (!options.json) Greet(options, service);
  auto end = (*session)->Run([&] { follow.Progress(); });
  follow.Finish();
  if (!end) return Fail(end.error().message);
  for (const std::string& problem : (*session)->Problems()) Warn(problem);
  return kExitDone;
}

}  // namespace

void AddServe(CLI::App& app, int& code) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand(
      "serve", "stay, take jobs (pawl submit) and let workers come and go, until it is stopped");
  command
      ->add_option("--ledger", options->ledger,
                   "folder of the ledger (default: $PAWL_LEDGER, else ledgers/pawl)")
      ->check(NotEmpty());
  command
      ->add_option("--device", options->devices,
                   "device of this host to start workers for; may be repeated (default: none)")
      ->check(NotEmpty());
  command->add_option("--workers", options->workers, "workers for each --device")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--listen,--bind", options->endpoint,
                   "tcp://ADDRESS:PORT for workers and people of other hosts; wants --keys")
      ->check(NotEmpty());
  AddKeysOption(*command, options->keys);
  AddKernelsOption(*command, options->kernels);
  command->add_option("--state", options->state, "folder of the workers' spool, evidence and cache")
      ->check(NotEmpty());
  AddClockOptions(*command, options->clocks);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Serve(*options); });
}

}  // namespace pawl
