// pawl bench OPERATION: the committed kernel, a track's incumbent or a manifest's configuration,
// and rivals, side by side.

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "coordinator/bench/bench_run.h"
#include "coordinator/bench/bench_text.h"
#include "coordinator/commands/command.h"
#include "coordinator/commands/device_choice.h"
#include "coordinator/commands/shape_text.h"
#include "coordinator/report/text.h"
#include "coordinator/search/manifest.h"
#include "coordinator/service/own_folder.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  std::string operation;
  std::vector<std::string> shape;  // "m=512", "n=512,k=512"
  std::string manifest;
  std::string track;
  std::string ledger;
  std::string device;
  std::string kernels;
  std::vector<std::string> rivals;  // paths
  std::vector<std::string> only;    // names
  std::string instrument;
  std::optional<std::uint32_t> rounds, warmup, iterations;
  double deadline_s = 300;
  std::string state;
  ClockOptions clocks;
  bool json = false;
};

struct Asked {
  Bench bench;
  std::string device;
};

void SetTerms(const BenchOptions& options, Measurement& measurement) {
  if (const auto instrument = ParseInstrument(options.instrument)) {
    measurement.instrument = instrument;
  }
  measurement.rounds = options.rounds.value_or(measurement.rounds);
  measurement.warmup = options.warmup.value_or(measurement.warmup);
  measurement.iterations = options.iterations.value_or(measurement.iterations);
}

Result<Asked> AskForTrack(const BenchOptions& options, int& code) {
  code = kExitCannotRun;
  auto opened = ReadLedger(options.ledger);
  if (!opened) return opened.error();
  const auto id = FindTrack(opened->tracks, options.track);
  code = kExitUsage;
  if (!id) return id.error();
  const TrackState& state = opened->tracks.at(*id).state;
  if (state.spec.operation != options.operation) {
    return Error{"track " + std::to_string(id->value) + " is of operation " + state.spec.operation +
                 ", not " + options.operation};
  }
  code = kExitCannotRun;
  auto operation = PackageOf(*opened->ledger, state.spec);
  if (!operation) return operation.error();
  auto picked = DeviceOfTrack(state.spec, options.device);
  if (!picked) return picked.error();
  auto measurement =
      MeasurementOf(Manifest{}, state.spec, *operation, state.incumbent, "incumbent");
  if (!measurement) return measurement.error();
  return Asked{{*std::move(measurement), true, {}}, *picked};
}

Result<Manifest> ManifestOf(const BenchOptions& options) {
  Manifest manifest;
  if (!options.manifest.empty()) {
    auto read = ReadManifest(options.manifest);
    if (!read) return read.error();
    manifest = *std::move(read);
    if (!manifest.track.empty()) {
      return Error{manifest.PlaceOf("track") +
                   ": name a track with --track in place of a manifest"};
    }
    if (manifest.operation != options.operation) {
      return Error{manifest.PlaceOf("operation") + ": operation " + manifest.operation + ", not " +
                   options.operation};
    }
  } else {
    manifest.file = "--shape";
    manifest.operation = options.operation;
  }
  if (!options.shape.empty()) {
    manifest.shape.clear();
    for (const std::string& text : options.shape) {
      auto shape = ParseShape("--shape", text);
      if (!shape) return shape.error();
      manifest.shape.insert(manifest.shape.end(), shape->begin(), shape->end());
    }
  }
  return manifest;
}

Result<Asked> AskForPackage(const BenchOptions& options, int& code) {
  code = kExitUsage;
  const auto manifest = ManifestOf(options);
  if (!manifest) return manifest.error();
  code = kExitCannotRun;
  const auto root = FindKernels(options.kernels);
  if (!root) return root.error();
  code = kExitUsage;
  auto loaded = LoadPackage(*root, manifest->operation);
  if (!loaded) return loaded.error();
  const auto operation = std::make_shared<Operation>(*std::move(loaded));
  if (manifest->shape.empty()) {
    std::string letters;
    for (const std::string& letter : operation->letters) {
      letters += (letters.empty() ? "" : ",") + letter + "=...";
    }
    return Error{"no shape; give --shape " + letters + ", a manifest, or a track (--track)"};
  }
  std::vector<std::string> backends = {manifest->backend};
  if (manifest->backend == "best") {
    backends.clear();
    for (const Backend& backend : operation->backends) backends.push_back(backend.name);
  } else if (auto known = MeasurementOf(*manifest, operation, manifest->backend); !known) {
    return known.error();
  }
  code = kExitCannotRun;
  const auto chosen =
      ChooseDevice(options.device.empty() ? manifest->device : options.device, backends);
  if (!chosen) return chosen.error();
  code = kExitUsage;
  const std::string backend = manifest->backend == "best" ? chosen->backend : manifest->backend;
  if (backend.empty()) {
    return Error{"device '" + chosen->name + "' does not say which backend it runs"};
  }
  auto measurement = MeasurementOf(*manifest, operation, backend);
  if (!measurement) return measurement.error();
  return Asked{{*std::move(measurement), false, {}}, chosen->name};
}

Result<std::vector<RivalProgram>> RivalsOf(const BenchOptions& options, const std::string& root) {
  std::vector<RivalProgram> rivals = RivalsIn(root + "/" + options.operation + "/rivals");
  for (const std::string& path : options.rivals) {
    auto rival = RivalAt(path);
    if (!rival) return rival.error();
    rivals.push_back(*std::move(rival));
  }
  std::string have;
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    have += (have.empty() ? "" : ", ") + rivals[i].name;
    for (std::size_t j = 0; j < i; ++j) {
      if (rivals[i].name != rivals[j].name) continue;
      return Error{"two rivals are called " + rivals[i].name + ": " + rivals[j].path + " and " +
                   rivals[i].path};
    }
  }
  if (options.only.empty()) return rivals;
  for (const std::string& name : options.only) {
    const bool known = std::any_of(rivals.begin(), rivals.end(),
                                   [&](const RivalProgram& rival) { return rival.name == name; });
    if (!known) return Error{"--only: no rival '" + name + "' (have: " + have + ")"};
  }
  std::erase_if(rivals, [&](const RivalProgram& rival) {
    return std::find(options.only.begin(), options.only.end(), rival.name) == options.only.end();
  });
  return rivals;
}

int RunBench(const BenchOptions& options) {
  int code = kExitDone;
  auto asked = options.track.empty() ? AskForPackage(options, code) : AskForTrack(options, code);
  if (!asked) return Fail(asked.error().message, code);
  Bench& bench = asked->bench;
  SetTerms(options, bench.measurement);
  bench.rival_deadline_ms = static_cast<std::int64_t>(options.deadline_s * 1e3);
  const auto root = FindKernels(options.kernels);
  if (!root) return Fail(root.error().message);
  auto rivals = RivalsOf(options, *root);
  if (!rivals) return Fail(rivals.error().message, kExitUsage);
  bench.rivals = *std::move(rivals);
  const auto folder = OwnFolder::Make("bench");
  if (!folder) return Fail(folder.error().message);
  const std::string state = options.state.empty() ? (*folder)->path() + "/state" : options.state;
  auto session = ErrandSession::Open({asked->device, 1, state, options.clocks.ForWorker()});
  if (!session) return Fail(session.error().message);
  const BenchPlaces places{fs::absolute(*root).lexically_normal().string(), (*folder)->path(),
                           state};
  BenchRun run(bench, places, **session);
  const auto result = run.Run();
  if (!result) return Fail("device '" + asked->device + "': " + result.error().message);
  if (!*result) return kExitInterrupted;
  if (options.json) {
    for (const nlohmann::json& line : BenchJson(**result)) {
      std::printf("%s\n",
                  line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    }
  } else {
    std::printf("%s", BenchText(**result, ColourWanted(STDOUT_FILENO)).c_str());
  }
  return AnyFailed(**result) ? kExitWrong : kExitDone;
}

CLI::Validator KnownInstrument() {
  const auto check = [](std::string& text) {
    return ParseInstrument(text) ? std::string() : "'" + text + "' is no instrument";
  };
  return CLI::Validator(check, "INSTRUMENT", "instrument");
}

}  // namespace

void AddBench(CLI::App& app, int& code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "measure kernels beside rivals: cuBLAS, PyTorch, Triton, OpenBLAS, your own");
  command->add_option("OPERATION", options->operation, "package")->required()->check(NotEmpty());
  auto* shape =
      command->add_option("--shape", options->shape, "letter=value, comma between")->delimiter(',');
  auto* manifest =
      command->add_option("--manifest", options->manifest,
                          "TOML file with shape, and a configuration to measure beside committed");
  auto* track = command->add_option("--track", options->track,
                                    "whose incumbent is measured beside committed: number, or "
                                    "start of the label");
  track->excludes(shape)->excludes(manifest)->check(NotEmpty());
  manifest->check(NotEmpty());
  AddLedgerOption(*command, options->ledger);
  AddDeviceOption(*command, options->device);
  AddKernelsOption(*command, options->kernels);
  command
      ->add_option("--rival", options->rivals,
                   "a rival of your own: a .py file or a program; may be repeated")
      ->allow_extra_args(false)
      ->check(NotEmpty());
  command
      ->add_option("--only", options->only,
                   "of the rivals that are programs, only this one; may be repeated")
      ->allow_extra_args(false)
      ->check(NotEmpty());
  command->add_option("--instrument", options->instrument, "how time is read")
      ->check(KnownInstrument());
  command->add_option("--rounds", options->rounds, "visits of each arm")
      ->check(CLI::Range(1, 1000));
  command->add_option("--warmup", options->warmup, "untimed calls of a visit")
      ->check(CLI::Range(0, 100'000));
  command->add_option("--iterations", options->iterations, "timed calls of a visit")
      ->check(CLI::Range(1, 20'000));
  command
      ->add_option("--deadline", options->deadline_s,
                   "seconds that a rival may take for an answer (default: 300)")
      ->check(CLI::Range(0.1, 86'400.0));
  AddStateOption(*command, options->state);
  AddClockOptions(*command, options->clocks);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = RunBench(*options); });
}

}  // namespace pawl
