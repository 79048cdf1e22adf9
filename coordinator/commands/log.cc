// pawl log [TRACK]: what was tried, in order, and what became of it.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/report/generation.h"
#include "coordinator/search/binding.h"

namespace pawl {
namespace {

struct LogOptions {
  std::string ledger;
  std::string track;
  std::uint32_t last = 0;
  bool json = false;
};

Result<std::vector<GenerationIndex>> Select(const Ledger& ledger, TrackId track,
                                            std::uint32_t last) {
  std::vector<GenerationIndex> selected;
  if (last > 0) {
    Status read = ledger.Generations(track, [&](const GenerationIndex& index) {
      selected.push_back(index);
      return selected.size() < last;
    });
    if (!read) return read.error();
    std::reverse(selected.begin(), selected.end());
    return selected;
  }
  Status read = ledger.GenerationsAfter(track, Generation{}, [&](const GenerationIndex& index) {
    selected.push_back(index);
    return true;
  });
  if (!read) return read.error();
  return selected;
}

int Log(const LogOptions& options) {
  auto opened = ReadLedger(options.ledger);
  if (!opened) return Fail(opened.error().message);
  std::vector<TrackId> wanted;
  if (options.track.empty()) {
    for (const auto& [id, track] : opened->tracks) wanted.push_back(id);
  } else {
    auto id = FindTrack(opened->tracks, options.track);
    if (!id) return Fail(id.error().message, kExitUsage);
    wanted.push_back(*id);
  }
  const bool colour = ColourWanted(STDOUT_FILENO);
  for (const TrackId id : wanted) {
    const TrackState& state = opened->tracks.at(id).state;
    auto selected = Select(*opened->ledger, id, options.last);
    if (!selected) return Fail(selected.error().message);
    TextTable table = GenerationTable();
    for (const GenerationIndex& index : *selected) {
      auto record = LoadGeneration(*opened->ledger, index);
      if (!record) return Fail(record.error().message);
      if (options.json) {
        std::printf("%s\n", GenerationJson(*record, state.spec).dump().c_str());
      } else {
        table.Add(GenerationRow(*record, state.spec.instrument));
      }
    }
    if (!options.json) {
      std::printf("track %u: %s, %s%s%s\n%s\n", id.value, TrackTitle(state.spec).c_str(),
                  std::string(Name(state.status)).c_str(), state.why.empty() ? "" : ": ",
                  state.why.c_str(), table.Render(colour).c_str());
    }
  }
  return kExitDone;
}

}  // namespace

void AddLog(CLI::App& app, int& code) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* command = app.add_subcommand("log", "what was tried, in order, and what became of it");
  command->add_option("TRACK", options->track, "number, or start of the label (default: all)")
      ->check(NotEmpty());
  AddLedgerOption(*command, options->ledger);
  command->add_option("--last", options->last, "only the last N generations")->check(AtLeastOne());
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Log(*options); });
}

}  // namespace pawl
