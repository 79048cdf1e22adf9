// pawl status: where each track of a ledger stands.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/report/generation.h"
#include "coordinator/report/track_status.h"
#include "coordinator/search/binding.h"

namespace pawl {
namespace {

struct StatusOptions {
  std::string ledger;
  bool json = false;
};

int ShowStatus(const StatusOptions& options) {
  auto opened = ReadLedger(options.ledger);
  if (!opened) return Fail(opened.error().message);
  if (!options.json) {
    std::printf("ledger %s: %llu events, head %s\n", opened->ledger->folder().c_str(),
                static_cast<unsigned long long>(opened->ledger->head().seq.value),
                opened->ledger->head().digest.Short().c_str());
  }
  TextTable table({{"track", Align::kRight, 0},
                   {"what", Align::kLeft, 0},
                   {"status", Align::kLeft, 0},
                   {"gens", Align::kRight, 0},
                   {"kept", Align::kRight, 0},
                   {"rejected", Align::kRight, 0},
                   {"void", Align::kRight, 0},
                   {"start/now", Align::kRight, 0},
                   {"worker time", Align::kRight, 0},
                   {"incumbent", Align::kLeft, 0}});
  std::vector<const TrackState*> states;
  for (const auto& [id, track] : opened->tracks) states.push_back(&track.state);
  const auto confirmations = LastConfirmations(*opened->ledger, states);
  if (!confirmations) return Fail(confirmations.error().message);
  std::string confirmed_text;
  for (const auto& [id, track] : opened->tracks) {
    const TrackState& state = track.state;
    const auto found = confirmations->find(id);
    const Confirmed* const confirmed = found != confirmations->end() ? &found->second : nullptr;
    if (confirmed != nullptr) {
      confirmed_text += "track " + std::to_string(id.value) +
                        " confirmed: " + ConfirmationText(*confirmed, state) + "\n";
    }
    if (options.json) {
      const nlohmann::json json =
          TrackJson(state, track.generation.has_value(), confirmed, opened->ledger->head().seq);
      std::printf("%s\n", json.dump().c_str());
      continue;
    }
    std::string status(Name(state.status));
    if (!state.why.empty()) status += ": " + state.why;
    table.Add({{std::to_string(id.value)},
               {TrackTitle(state.spec)},
               {status, state.status == TrackStatus::kPaused ? Tone::kBad : Tone::kPlain},
               {std::to_string(state.last.value)},
               {std::to_string(state.kept)},
               {std::to_string(state.rejected)},
               {std::to_string(state.voided)},
               {FormatRatio(1 / state.gain)},
               {FormatDuration(state.worker_seconds)},
               {state.incumbent.Text()}});
  }
  if (!options.json) {
    std::printf("%s%s", table.Render(ColourWanted(STDOUT_FILENO)).c_str(), confirmed_text.c_str());
  }
  return kExitDone;
}

}  // namespace

void AddStatus(CLI::App& app, int& code) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command = app.add_subcommand("status", "where each track of a ledger stands");
  AddLedgerOption(*command, options->ledger);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = ShowStatus(*options); });
}

}  // namespace pawl
