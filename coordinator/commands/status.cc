// pawl status: where each track of a ledger stands; of a daemon, its jobs and workers too.

#include <unistd.h>

#include <cstdio>

#include "coordinator/commands/ask.h"
#include "coordinator/commands/command.h"
#include "coordinator/commands/standing.h"
#include "coordinator/report/text.h"
#include "coordinator/service/hub.h"

namespace pawl {
namespace {

constexpr std::int64_t kLiveMs = 5'000;

struct StatusOptions {
  AskOptions ask;
};

// A coordinator at the ledger knows more than its ledger: who is there.
bool Runs(const std::string& ledger) {
  auto client = HubClient::Connect(EndpointIn(ledger), std::nullopt);
  return client.has_value();
}

int ShowStatus(const StatusOptions& options) {
  if (!options.ask.connect.empty()) return AskAndPrint(options.ask, Ask{});
  auto opened = ReadLedger(options.ask.ledger);
  if (!opened) return Fail(opened.error().message);
  if (!options.ask.json) {
    std::printf("ledger %s: %llu events, head %s\n", opened->ledger->folder().c_str(),
                static_cast<unsigned long long>(opened->ledger->head().seq.value),
                opened->ledger->head().digest.Short().c_str());
  }
  if (Runs(opened->ledger->folder())) {
    AskOptions here = options.ask;
    here.ledger = opened->ledger->folder();
    if (auto live = AskForText(here, Ask{}, kLiveMs)) {
      std::fwrite(live->data(), 1, live->size(), stdout);
      return kExitDone;
    } else if (!opened->board.jobs().empty()) {
      Warn("of the ledger alone: " + live.error().message);
    }
  }
  std::map<TrackId, const Track*> tracks;
  for (const auto& [id, track] : opened->tracks) tracks.emplace(id, &track);
  const bool colour = ColourWanted(STDOUT_FILENO);
  auto text = TracksStanding(*opened->ledger, tracks, options.ask.json, colour);
  if (!text) return Fail(text.error().message);
  *text += JobsStanding(opened->board, tracks, {}, options.ask.json, colour);
  std::fwrite(text->data(), 1, text->size(), stdout);
  return kExitDone;
}

}  // namespace

void AddStatus(CLI::App& app, int& code) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command = app.add_subcommand("status", "where each track of a ledger stands");
  AddAskOptions(*command, options->ask);
  command->callback([options, &code] { code = ShowStatus(*options); });
}

}  // namespace pawl
