// pawl capture TRACK: a track's arms by the second instrument, for the record.

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/device_choice.h"
#include "coordinator/report/generation.h"
#include "coordinator/report/sitting_file.h"
#include "coordinator/search/capture.h"
#include "coordinator/search/timed_arms.h"
#include "coordinator/service/errand_session.h"
#include "coordinator/service/kept_files.h"
#include "kernels/space.h"

namespace pawl {
namespace {

struct CaptureOptions {
  std::string track;
  std::vector<std::string> arms;
  std::string ledger;
  std::string device;
  std::string out;
  ClockOptions clocks;
  bool json = false;
};

// What the ledger says of it, read before anything is measured.
struct Captured {
  std::string folder;
  LedgerId ledger;
  TrackId track;
  TrackState state;
  Workshop workshop;
  std::vector<CaptureArm> arms;
};

// "staging=exact k_step=32" over the track's start.
Result<CaptureArm> ArmFromText(const std::string& text, const Workshop& workshop,
                               const Configuration& start) {
  auto configuration = ParseConfiguration(text, *workshop.structure, start);
  if (!configuration) return Error{"--arm: " + configuration.error().message};
  std::string violated;
  for (const Violation& violation : workshop.space->Validate(*configuration)) {
    violated += (violated.empty() ? "" : "; ") + violation.text;
  }
  if (!violated.empty()) return Error{"--arm '" + text + "' is no kernel: " + violated};
  return CaptureArm{ArmRole::kRival, text, *std::move(configuration)};
}

Result<CaptureArm> ArmNamed(const std::string& name, const Ledger& ledger, const TrackState& state,
                            const Workshop& workshop) {
  if (name == "committed") return CaptureArm{ArmRole::kCommitted, name, {}};
  if (name == "incumbent") return CaptureArm{ArmRole::kIncumbent, name, state.incumbent};
  if (name == "start") return CaptureArm{ArmRole::kStart, name, state.spec.start};
  if (name.find('=') != std::string::npos) return ArmFromText(name, workshop, state.spec.start);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) {
    return Error{"--arm: '" + name +
                 "' is no arm; committed, incumbent, start, the number of a generation or "
                 "'knob=value ...' is wanted"};
  }
  auto candidate = LoadCandidate(ledger, state.id, Generation(number));
  if (!candidate) return Error{"--arm: " + candidate.error().message};
  return CaptureArm{ArmRole::kRival, "generation " + std::to_string(number), *std::move(candidate)};
}

Result<std::vector<CaptureArm>> ArmsOf(std::vector<std::string> names, const Ledger& ledger,
                                       const TrackState& state, const Workshop& workshop) {
  if (names.empty()) {
    names = {"committed", "incumbent"};
    if (state.incumbent != state.spec.start) names.push_back("start");
  }
  if (names.size() > kMostCaptureArms) {
    return Error{"--arm: " + std::to_string(names.size()) + " arms; at most " +
                 std::to_string(kMostCaptureArms) + " are taken"};
  }
  std::vector<CaptureArm> arms;
  for (const std::string& name : names) {
    auto arm = ArmNamed(name, ledger, state, workshop);
    if (!arm) return arm.error();
    for (const CaptureArm& other : arms) {
      if (other.label == arm->label) return Error{"--arm: '" + name + "' is named twice"};
    }
    arms.push_back(*std::move(arm));
  }
  return arms;
}

Result<Captured> ReadCaptured(const CaptureOptions& options, int& code) {
  code = kExitCannotRun;
  auto folder = FindLedger(options.ledger);
  if (!folder) return folder.error();
  auto opened = ReadLedger(*folder);
  if (!opened) return opened.error();
  const auto id = FindTrack(opened->tracks, options.track);
  code = kExitUsage;
  if (!id) return id.error();
  Captured captured;
  captured.folder = *folder;
  captured.ledger = opened->ledger->id();
  captured.track = *id;
  captured.state = opened->tracks.at(*id).state;
  code = kExitCannotRun;
  auto operation = PackageOf(*opened->ledger, captured.state.spec);
  if (!operation) return operation.error();
  auto workshop = MakeWorkshop(captured.state.spec, *operation);
  if (!workshop) return workshop.error();
  captured.workshop = *std::move(workshop);
  code = kExitUsage;
  auto arms = ArmsOf(options.arms, *opened->ledger, captured.state, captured.workshop);
  if (!arms) return arms.error();
  captured.arms = *std::move(arms);
  return captured;
}

std::int64_t UnixMs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

std::string KeptIn(const CaptureOptions& options, const Captured& captured) {
  return options.out.empty() ? captured.folder + "/captures" : options.out;
}

// The sittings that are there. One that cannot be read is no peer, and no reason to lose another.
std::vector<Sitting> EarlierSittings(const std::string& folder, const std::string& stem) {
  std::vector<Sitting> earlier;
  const auto kept = ReadKept(folder, stem, ".json");
  if (!kept) {
    Warn(kept.error().message + "; this sitting is compared with none");
    return earlier;
  }
  for (const KeptFile& file : *kept) {
    if (!file.problem.empty()) {
      Warn(file.problem + "; this sitting is not compared with it");
    } else if (auto sitting = ReadSitting(file.name, file.text)) {
      earlier.push_back(*std::move(sitting));
    } else {
      Warn(folder + "/" + file.name + " is no sitting; this one is not compared with it");
    }
  }
  return earlier;
}

// Judges the sitting among its peers, keeps and prints it; where it cannot be kept it is printed
// all the same. Gives the exit code.
int Record(const CaptureOptions& options, const Captured& captured, const ErrandResult& result) {
  const SittingRecord record{captured.ledger, captured.track, captured.state.spec, UnixMs(),
                             result};
  const std::string folder = KeptIn(options, captured);
  const std::string stem = "track-" + std::to_string(captured.track.value) + "-sitting-";
  const std::vector<Sitting> earlier = EarlierSittings(folder, stem);
  const Sitting sitting = SittingOf(record);
  const SittingVerdict verdict = JudgeSitting(sitting, earlier);
  const std::vector<std::string> slow_earlier = SlowEarlier(sitting, earlier);
  nlohmann::json json = SittingJson(record, verdict, slow_earlier);
  const auto name = Keep(folder, stem, ".json", json.dump(1) + "\n");
  const std::string file = name ? folder + "/" + *name : "";
  if (options.json) {
    json["file"] = name ? nlohmann::json(file) : nlohmann::json(nullptr);
    std::printf("%s\n", json.dump().c_str());
  } else {
    const bool colour = ColourWanted(STDOUT_FILENO);
    std::printf("%sfile        %s\n", SittingText(record, verdict, slow_earlier, colour).c_str(),
                name ? file.c_str() : "none");
  }
  if (!name) return Fail(name.error().message);
  if (!result.answered()) return Fail("track " + options.track + ": " + result.why);
  return WhyNotTimed(*result.order, *result.report) ? kExitWrong : kExitDone;
}

int RunCapture(const CaptureOptions& options) {
  int code = kExitDone;
  const auto captured = ReadCaptured(options, code);
  if (!captured) return Fail(captured.error().message, code);
  const TrackSpec& spec = captured->state.spec;
  const auto device = DeviceOfTrack(spec, options.device);
  if (!device) return Fail(device.error().message);
  if (Status keepable = MakeKeepable(KeptIn(options, *captured)); !keepable) {
    return Fail(keepable.error().message);
  }
  auto session =
      ErrandSession::Open({*device, 1, captured->folder + "/worker", options.clocks.ForWorker()});
  if (!session) return Fail(session.error().message);
  Errands errands(CaptureErrands(captured->workshop, spec, captured->arms), ErrandSession::NewId());
  std::optional<ErrandResult> result;
  const auto end = (*session)->Run(
      errands, [&](const ErrandResult& answer) { result = answer; }, [] {});
  if (!end) return Fail(end.error().message);
  if (*end == SessionEnd::kInterrupted || !result) return kExitInterrupted;
  // Only what says something of the arms is kept; a throttled device does.
  const bool telling = result->answered() ||
                       (result->report && result->report->outcome.kind == OutcomeKind::kThrottled);
  if (!telling) {
    return Fail("track " + options.track + ", device '" + *device + "': " + result->why);
  }
  return Record(options, *captured, *result);
}

}  // namespace

void AddCapture(CLI::App& app, int& code) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App* command = app.add_subcommand(
      "capture", "measure a track's arms by the second instrument, and keep what it says");
  command->add_option("TRACK", options->track, "number, or start of the label")
      ->required()
      ->check(NotEmpty());
  command
      ->add_option("--arm", options->arms,
                   "committed, incumbent, start, the number of a generation, or 'knob=value ...' "
                   "over the start; may be repeated (default: committed, incumbent, and start "
                   "where it is another)")
      ->allow_extra_args(false)
      ->check(NotEmpty());
  AddLedgerOption(*command, options->ledger);
  AddDeviceOption(*command, options->device);
  command
      ->add_option("--out", options->out,
                   "folder of the sittings' files (default: captures in the ledger's folder)")
      ->check(NotEmpty());
  AddClockOptions(*command, options->clocks);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = RunCapture(*options); });
}

}  // namespace pawl
