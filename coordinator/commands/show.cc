// pawl show TRACK GENERATION: everything known of one generation.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/report/diff.h"
#include "coordinator/report/generation.h"
#include "coordinator/search/binding.h"
#include "coordinator/search/orders.h"
#include "kernels/render.h"

namespace pawl {
namespace {

struct ShowOptions {
  std::string ledger;
  std::string track;
  std::uint32_t generation = 0;
  bool json = false;
  bool source = false;
};

struct Rendered {
  std::string name;
  std::string text;
};

// The source of a configuration, from the package as the ledger keeps it; nullopt: the structure
// has none.
Result<std::optional<Rendered>> SourceOf(const Workshop& workshop,
                                         const Configuration& configuration) {
  if (workshop.structure->source.empty()) return std::optional<Rendered>();
  auto rendered = Render(*workshop.operation, *workshop.structure, *workshop.space, configuration);
  if (!rendered) return rendered.error();
  return std::optional<Rendered>(Rendered{rendered->name, rendered->text});
}

void PrintRounds(const GenerationRecord& record, bool colour) {
  const std::vector<const Report*> reports = DecidingReports(record);
  if (reports.empty()) return;
  TextTable table({{"round", Align::kRight, 0},
                   {"order", Align::kLeft, 0},
                   {"committed", Align::kRight, 0},
                   {"incumbent", Align::kRight, 0},
                   {"candidate", Align::kRight, 0},
                   {"candidate/incumbent", Align::kRight, 0},
                   {"clock MHz", Align::kRight, 0}});
  std::size_t number = 0;
  for (const Report* report : reports) {
    for (const RoundMedians& round : report->rounds) {
      std::string order;
      double committed = 0, incumbent = 0, candidate = 0, clock = 0;
      for (const VisitMedian& visit : round.visits) {
        const ArmRole role = report->arms[visit.arm];
        order += (order.empty() ? "" : ", ") + std::string(Name(role));
        (role == ArmRole::kCommitted   ? committed
         : role == ArmRole::kIncumbent ? incumbent
                                       : candidate) = visit.median_us;
        clock = visit.clock_mhz;
      }
      const auto time = [](double us) { return us > 0 ? FormatTime(us) : std::string(); };
      table.Add({{std::to_string(++number)},
                 {order},
                 {time(committed)},
                 {time(incumbent)},
                 {time(candidate)},
                 {incumbent > 0 && candidate > 0 ? FormatRatio(candidate / incumbent) : ""},
                 {clock > 0 ? std::to_string(static_cast<int>(clock)) : ""}});
    }
  }
  if (number > 0) std::printf("\n%s", table.Render(colour).c_str());
}

void PrintFacts(const GenerationRecord& record) {
  for (const Report* report : DecidingReports(record)) {
    if (report->outcome.kind != OutcomeKind::kMeasured) {
      std::printf("\noutcome    %s%s%s: %s\n", std::string(Name(report->outcome.kind)).c_str(),
                  report->outcome.arm ? " of " : "",
                  report->outcome.arm ? std::string(Name(*report->outcome.arm)).c_str() : "",
                  report->outcome.detail.c_str());
    }
    for (const CheckFacts& check : report->checks) {
      std::printf("check      %s: %s, %llu elements, max abs error %g%s%s\n",
                  std::string(Name(check.arm)).c_str(), check.passed ? "passed" : "FAILED",
                  static_cast<unsigned long long>(check.elements), check.max_abs_error,
                  check.detail.empty() ? "" : "; ", check.detail.c_str());
    }
    for (const BuildFacts& build : report->builds) {
      std::printf("build      %s: source %s, object %s, %s%.2f s, %s\n",
                  std::string(Name(build.arm)).c_str(), build.source.Short().c_str(),
                  build.object.Short().c_str(), build.cached ? "cached, " : "", build.seconds,
                  build.compiler.c_str());
      if (!build.log.empty()) std::printf("%s\n", build.log.c_str());
    }
    for (const Capture& capture : report->captures) {
      std::printf("capture    %s: %s by %s\n", std::string(Name(report->arms[capture.arm])).c_str(),
                  FormatTime(capture.median_us).c_str(),
                  std::string(Name(capture.instrument)).c_str());
    }
    if (const DeviceConditions& seen = report->conditions; seen != DeviceConditions{}) {
      std::printf(
          "conditions memory at %u MHz, up to %u C and %.0f W, clock reasons 0x%llx, %u other "
          "processes\n",
          seen.memory_mhz, seen.temperature_c, seen.power_w,
          static_cast<unsigned long long>(seen.clock_reasons), seen.foreign_processes);
    }
    std::printf("worker     %s; build %.2f s, check %.2f s, run %.2f s%s%s\n",
                report->worker.value.c_str(), report->build_seconds, report->check_seconds,
                report->run_seconds, report->evidence.IsZero() ? "" : "; evidence ",
                report->evidence.IsZero() ? "" : report->evidence.Hex().c_str());
    if (report->conditions.pinned_mhz != 0) {
      std::printf("clocks     pinned at %u MHz\n", report->conditions.pinned_mhz);
    }
  }
}

int Show(const ShowOptions& options) {
  auto opened = ReadLedger(options.ledger);
  if (!opened) return Fail(opened.error().message);
  auto id = FindTrack(opened->tracks, options.track);
  if (!id) return Fail(id.error().message, kExitUsage);
  const TrackSpec& spec = opened->tracks.at(*id).state.spec;
  auto index = opened->ledger->FindGeneration(*id, Generation(options.generation));
  if (!index) return Fail(index.error().message);
  if (!*index) {
    return Fail("track " + std::to_string(id->value) + " has no generation " +
                    std::to_string(options.generation) +
                    " (last: " + std::to_string(opened->tracks.at(*id).state.last.value) + ")",
                kExitUsage);
  }
  auto record = LoadGeneration(*opened->ledger, **index);
  if (!record) return Fail(record.error().message);
  auto operation = PackageOf(*opened->ledger, spec);
  if (!operation) return Fail(operation.error().message);
  auto workshop = MakeWorkshop(spec, *operation);
  if (!workshop) return Fail(workshop.error().message);
  auto candidate = SourceOf(*workshop, record->proposed.candidate);
  auto incumbent = SourceOf(*workshop, record->proposed.incumbent);
  // A candidate refused for its geometry has no source.
  std::string diff;
  if (candidate && incumbent && *candidate && *incumbent) {
    auto made = UnifiedDiff((*incumbent)->text, "incumbent/" + (*incumbent)->name,
                            (*candidate)->text, "candidate/" + (*candidate)->name);
    if (!made) return Fail(made.error().message);
    diff = *made;
  }
  if (options.json) {
    nlohmann::json json = GenerationJson(*record, spec);
    json["source_diff"] = diff;
    if (candidate && *candidate) json["source"] = (*candidate)->text;
    std::printf("%s\n", json.dump().c_str());
    return kExitDone;
  }
  const bool colour = ColourWanted(STDOUT_FILENO);
  const Proposed& proposed = record->proposed;
  std::printf("track %u: %s\n", id->value, TrackTitle(spec).c_str());
  std::printf("generation %u%s%s\n\n", proposed.generation.value,
              record->decision ? ", decided " : ", open",
              record->decision ? FormatDate(record->decided_unix_ms).c_str() : "");
  std::printf("change     %s\n", ChangeText(proposed.changes).c_str());
  std::printf("why        %s\n", proposed.hypothesis.c_str());
  std::printf("candidate  %s\n", proposed.candidate.Text().c_str());
  std::printf("incumbent  %s\n", proposed.incumbent.Text().c_str());
  for (const std::string& violation : proposed.violations)
    std::printf("violates   %s\n", violation.c_str());
  if (record->decision) {
    const Decision& decision = *record->decision;
    std::printf("decision   %s, %s: %s\n",
                Paint(std::string(Name(decision.verdict)),
                      decision.verdict == Verdict::kKeep ? Tone::kGood : Tone::kPlain, colour)
                    .c_str(),
                std::string(Name(decision.reason)).c_str(), decision.detail.c_str());
    std::printf("policy     %s", spec.policy.c_str());
    for (const auto& [name, value] : spec.policy_parameters) {
      if (const double* number = std::get_if<double>(&value)) {
        std::printf(", %s %g", name.c_str(), *number);
      } else {
        std::printf(", %s %s", name.c_str(), std::get<std::string>(value).c_str());
      }
    }
    if (decision.control_drift)
      std::printf("; control drift max/min %.5f", *decision.control_drift);
    std::printf("\n");
  }
  PrintRounds(*record, colour);
  PrintFacts(*record);
  if (!diff.empty()) std::printf("\n%s", diff.c_str());
  if (options.source && candidate && *candidate) std::printf("\n%s", (*candidate)->text.c_str());
  return kExitDone;
}

}  // namespace

void AddShow(CLI::App& app, int& code) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "everything known of one generation");
  command->add_option("TRACK", options->track, "number, or start of the label")
      ->required()
      ->check(NotEmpty());
  command->add_option("GENERATION", options->generation, "number")->required()->check(AtLeastOne());
  AddLedgerOption(*command, options->ledger);
  command->add_flag("--source", options->source, "print the candidate's rendered source too");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Show(*options); });
}

}  // namespace pawl
