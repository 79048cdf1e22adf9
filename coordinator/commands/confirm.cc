// pawl confirm TRACK: the track's incumbent against the committed kernel, measured anew.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/device_choice.h"
#include "coordinator/commands/follow.h"
#include "coordinator/service/session.h"

namespace pawl {
namespace {

struct ConfirmOptions {
  std::string ledger;
  std::string track;
  std::string device;
  std::string kernels;
  std::uint32_t workers = 1;
  ClockOptions clocks;
  bool json = false;
};

int Confirm(const ConfirmOptions& options) {
  auto folder = FindLedger(options.ledger);
  if (!folder) return Fail(folder.error().message);
  TrackId id;
  std::string device;
  {
    auto opened = ReadLedger(*folder);
    if (!opened) return Fail(opened.error().message);
    auto found = FindTrack(opened->tracks, options.track);
    if (!found) return Fail(found.error().message, kExitUsage);
    id = *found;
    auto picked = DeviceOfTrack(opened->tracks.at(id).state.spec, options.device);
    if (!picked) return Fail(picked.error().message);
    device = *picked;
  }
  SessionOptions session_options;
  session_options.service.ledger_folder = *folder;
  session_options.service.search = false;
  session_options.devices = {device};
  session_options.workers = options.workers;
  session_options.worker_options = options.clocks.ForWorker();
  auto session = Session::Open(session_options);
  if (!session) return Fail(session.error().message);
  Service& service = (*session)->service();
  Confirmed confirmed;
  Follow follow(service, options.json, &confirmed);
  if (Status adopted = service.Adopt(id); !adopted) return Fail(adopted.error().message);
  if (Status asked = service.Confirm(id); !asked) return Fail(asked.error().message);
  if (options.workers == 0 && !options.json) {
    std::printf("waiting for workers: pawl-worker --connect %s --device NAME\n",
                service.endpoint().c_str());
    std::fflush(stdout);
  }
  auto end = (*session)->Run([&] { follow.Progress(); });
  follow.Finish();
  if (!end) return Fail(end.error().message);
  for (const std::string& problem : (*session)->Problems()) Warn(problem);
  if (*end == SessionEnd::kInterrupted) return kExitInterrupted;
  if (!options.json) {
    std::printf("confirmation %u of track %u: %s\n", confirmed.number, id.value,
                ConfirmationText(confirmed).c_str());
  }
  return confirmed.valid ? kExitDone : kExitWrong;
}

}  // namespace

void AddConfirm(CLI::App& app, int& code) {
  auto options = std::make_shared<ConfirmOptions>();
  CLI::App* command = app.add_subcommand(
      "confirm", "measure a track's incumbent against the committed kernel anew");
  command->add_option("TRACK", options->track, "number, or start of the label")
      ->required()
      ->check(NotEmpty());
  AddLedgerOption(*command, options->ledger);
  AddDeviceOption(*command, options->device);
  command->add_option("--workers", options->workers, "0 waits for a worker started by hand")
      ->check(CLI::Range(0, 1));
  AddClockOptions(*command, options->clocks);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Confirm(*options); });
}

}  // namespace pawl
