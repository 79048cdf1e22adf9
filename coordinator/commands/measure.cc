// pawl measure MANIFEST: one kernel, built, checked and timed.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/device_choice.h"
#include "coordinator/report/generation.h"
#include "coordinator/report/measured.h"
#include "coordinator/search/manifest.h"
#include "coordinator/search/measurement.h"
#include "coordinator/search/timed_arms.h"
#include "coordinator/service/errand_session.h"

namespace pawl {
namespace {

// A profiler runs each kernel many times over: what would be a hang without one is none.
constexpr std::uint32_t kProfiledRunMs = 3'600'000;

struct MeasureOptions {
  std::string manifest;
  std::string device;
  std::string kernels;
  std::string state;
  ClockOptions clocks;
  bool bracket = false;
  bool json = false;
};

// What to measure and on what. `code`: of the error, where there is one.
struct Asked {
  Measurement measurement;
  std::string device;
};

Result<Asked> AskForTrack(const Manifest& manifest, const std::string& device, int& code) {
  code = kExitCannotRun;
  auto opened = ReadLedger(manifest.ledger);
  if (!opened) return opened.error();
  const auto id = FindTrack(opened->tracks, manifest.track);
  if (!id) {
    code = kExitUsage;
    return Error{manifest.PlaceOf("track") + ": " + id.error().message};
  }
  const TrackState& state = opened->tracks.at(*id).state;
  Configuration configuration = state.incumbent;
  std::string label = "incumbent of track " + std::to_string(id->value);
  if (manifest.generation) {
    auto record = LoadCandidate(*opened->ledger, *id, *manifest.generation);
    if (!record) {
      code = kExitUsage;
      return Error{manifest.PlaceOf("generation") + ": " + record.error().message};
    }
    configuration = *std::move(record);
    label = "generation " + std::to_string(manifest.generation->value) + " of track " +
            std::to_string(id->value);
  }
  auto operation = PackageOf(*opened->ledger, state.spec);
  if (!operation) return operation.error();
  auto picked = DeviceOfTrack(state.spec, device);
  if (!picked) return picked.error();
  auto measurement = MeasurementOf(manifest, state.spec, *operation, configuration, label);
  if (!measurement) return measurement.error();
  return Asked{*std::move(measurement), *picked};
}

Result<Asked> AskForPackage(const Manifest& manifest, const std::string& kernels,
                            const std::string& device, int& code) {
  code = kExitCannotRun;
  const auto root = FindKernels(kernels);
  if (!root) return root.error();
  code = kExitUsage;
  auto loaded = LoadPackage(*root, manifest.operation);
  if (!loaded) return Error{manifest.PlaceOf("operation") + ": " + loaded.error().message};
  const auto operation = std::make_shared<Operation>(*std::move(loaded));
  std::vector<std::string> backends = {manifest.backend};
  if (manifest.backend == "best") {
    backends.clear();
    for (const Backend& backend : operation->backends) backends.push_back(backend.name);
  }
  // A manifest that no device could make right is said to be wrong before one is looked for.
  if (manifest.backend != "best") {
    const auto measurement = MeasurementOf(manifest, operation, manifest.backend);
    if (!measurement) return measurement.error();
  }
  code = kExitCannotRun;
  const auto chosen = ChooseDevice(device, backends);
  if (!chosen) return Error{manifest.file + ": " + chosen.error().message};
  code = kExitUsage;
  const std::string backend = manifest.backend == "best" ? chosen->backend : manifest.backend;
  if (backend.empty()) {
    return Error{manifest.file + ": device '" + chosen->name +
                 "' does not say which backend it runs; say backend = \"cuda\" or \"host\""};
  }
  auto measurement = MeasurementOf(manifest, operation, backend);
  if (!measurement) return measurement.error();
  return Asked{*std::move(measurement), chosen->name};
}

int Measure(const MeasureOptions& options) {
  const auto manifest = ReadManifest(options.manifest);
  if (!manifest) return Fail(manifest.error().message, kExitUsage);
  const std::string device = options.device.empty() ? manifest->device : options.device;
  int code = kExitDone;
  auto asked = manifest->track.empty() ? AskForPackage(*manifest, options.kernels, device, code)
                                       : AskForTrack(*manifest, device, code);
  if (!asked) return Fail(asked.error().message, code);
  std::vector<std::string> worker_options = options.clocks.ForWorker();
  if (options.bracket) {
    if (asked->device.rfind("cuda", 0) != 0) {
      return Fail("--bracket: device '" + asked->device + "' has no profiler; a GPU is wanted",
                  kExitUsage);
    }
    worker_options.push_back("--bracket");
    asked->measurement.deadlines.run_ms =
        std::max(asked->measurement.deadlines.run_ms, kProfiledRunMs);
  }
  auto session = ErrandSession::Open({asked->device, 1, options.state, worker_options});
  if (!session) return Fail(session.error().message);
  Errands errands(MeasurementErrands(asked->measurement), ErrandSession::NewId());
  std::optional<ErrandResult> result;
  const auto end = (*session)->Run(
      errands, [&](const ErrandResult& answer) { result = answer; }, [] {});
  if (!end) return Fail(end.error().message);
  if (*end == SessionEnd::kInterrupted || !result) return kExitInterrupted;
  if (!result->answered()) {
    return Fail(options.manifest + ": device '" + asked->device + "': " + result->why);
  }
  if (options.json) {
    std::printf("%s\n", MeasuredJson(asked->measurement, *result).dump().c_str());
  } else {
    const bool colour = ColourWanted(STDOUT_FILENO);
    std::printf("%s", MeasuredText(asked->measurement, *result, colour).c_str());
  }
  return WhyNotTimed(*result->order, *result->report) ? kExitWrong : kExitDone;
}

}  // namespace

void AddMeasure(CLI::App& app, int& code) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand("measure", "build, check and time one kernel");
  command->add_option("MANIFEST", options->manifest, "TOML file that names it")
      ->required()
      ->check(NotEmpty());
  AddDeviceOption(*command, options->device);
  AddKernelsOption(*command, options->kernels);
  AddStateOption(*command, options->state);
  AddClockOptions(*command, options->clocks);
  command->add_flag(
      "--bracket", options->bracket,
      "the timed calls between the profiler's start and stop calls, for nsys and ncu");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Measure(*options); });
}

}  // namespace pawl
