// pawl audit OPERATION: builds, runs and checks every configuration of a package's audit list.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/commands/shape_text.h"
#include "coordinator/report/text.h"
#include "coordinator/search/audit.h"
#include "coordinator/service/errand_session.h"
#include "coordinator/service/service.h"

namespace pawl {
namespace {

constexpr std::int64_t kRedrawMs = 500;

struct AuditOptions {
  std::string operation;
  std::string backend;
  std::string device;
  std::vector<std::string> shapes;
  bool all = false;
  std::uint64_t sample = 0;
  std::uint64_t seed = 1;
  std::uint32_t deadline_s = 60;
  std::uint32_t workers = 0;
  std::string kernels;
  std::string state;
  bool json = false;
};

// Null where there is none: nobody could try it, or nobody has reported.
nlohmann::json OutcomeName(const AuditResult& result) {
  if (result.given_up || !result.outcome) return nullptr;
  return Name(result.outcome->kind);
}

// What an audit prints: failures as they come, progress between them, the summary.
class Printer {
 public:
  Printer(const AuditPlan& plan, const Errands& errands, std::string device, bool json)
      : plan_(plan),
        errands_(errands),
        device_(std::move(device)),
        json_(json),
        colour_(ColourWanted(STDOUT_FILENO)),
        terminal_(::isatty(STDOUT_FILENO) == 1),
        started_ms_(Service::NowMs()) {}

  void Print(const AuditResult& result) {
    Begin();
    (result.passed ? passed_ : result.given_up ? given_up_ : failed_) += 1;
    if (result.given_up && why_given_up_.empty()) why_given_up_ = result.why;
    const AuditItem& item = plan_.items[result.item];
    if (json_) {
      nlohmann::json line = {{"structure", item.structure ? item.structure->name : "committed"},
                             {"configuration", item.configuration.Text()},
                             {"exact", item.exact},
                             {"passed", result.passed},
                             {"given_up", result.given_up},
                             {"outcome", OutcomeName(result)},
                             {"why", result.why},
                             {"elements", result.elements},
                             {"shared_bytes", result.build.shared_bytes},
                             {"registers", result.build.registers},
                             {"spill_bytes", result.build.spill_bytes},
                             {"seconds", result.seconds}};
      for (const Scalar& letter : item.shape) line["shape"][letter.name] = letter.value;
      std::printf("%s\n", line.dump().c_str());
      std::fflush(stdout);
    } else if (!result.passed) {
      Clear();
      std::printf("%s  %s\n    %s\n",
                  Paint(result.given_up ? "NOT RUN" : "FAILED", Tone::kBad, colour_).c_str(),
                  (item.Name() + (item.exact ? ", on exact integers to the last bit" : "")).c_str(),
                  result.why.c_str());
      std::fflush(stdout);
    }
  }

  // Not before there is a worker: a device that is none is said alone.
  void Begin() {
    if (json_ || std::exchange(begun_, true)) return;
    std::printf("audit of %s/%s on %s: %zu kernels at their shapes\n",
                plan_.operation->name.c_str(), plan_.backend.c_str(), device_.c_str(),
                plan_.items.size());
    for (const std::string& structure : plan_.skipped) {
      std::printf("structure %s has no source: it can be replayed, not audited\n",
                  structure.c_str());
    }
    std::fflush(stdout);
  }

  void Progress() {
    const std::int64_t now = Service::NowMs();
    if (json_ || !terminal_ || now - drawn_ms_ < kRedrawMs || errands_.workers() == 0) return;
    Begin();
    drawn_ms_ = now;
    const std::size_t done = errands_.done();
    const std::size_t all = errands_.count();
    const double elapsed = static_cast<double>(now - started_ms_) / 1e3;
    const std::string left = done == 0 ? ""
                                       : ", " +
                                             FormatDuration(elapsed / static_cast<double>(done) *
                                                            static_cast<double>(all - done)) +
                                             " left";
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = all == 0 ? kWidth : done * kWidth / all;
    std::printf("\r\033[K[%s%s] %zu of %zu, %zu failed, %zu workers%s",
                std::string(filled, '#').c_str(), std::string(kWidth - filled, '.').c_str(), done,
                all, failed_, errands_.workers(), left.c_str());
    std::fflush(stdout);
    drawn_ = true;
  }

  void Clear() {
    if (drawn_) std::printf("\r\033[K");
    drawn_ = false;
  }

  // The exit code. `whole`: nobody has interrupted it.
  int Summary(bool whole = true) {
    if (whole) Begin();
    Clear();
    const std::size_t listed = plan_.items.size();
    const double seconds = static_cast<double>(Service::NowMs() - started_ms_) / 1e3;
    const std::size_t failed = failed_ + plan_.breaks;
    const bool good = failed == 0 && passed_ == listed && listed > 0 && plan_.gaps.empty();
    // What could not be run is no fault of a kernel, and hides none.
    const bool wrong = failed > 0 || listed == 0 || !plan_.gaps.empty();
    const int code = good ? kExitDone : wrong ? kExitWrong : kExitCannotRun;
    if (json_) {
      nlohmann::json line = {{"listed", listed},          {"passed", passed_},
                             {"failed", failed},          {"given_up", given_up_},
                             {"refused", plan_.refusals}, {"toolchain", errands_.toolchain()},
                             {"seconds", seconds}};
      for (const auto& [about, refusal] : plan_.refused) {
        line["refused_why"][about] = {{"count", refusal.count}, {"example", refusal.example}};
      }
      for (const auto& [about, broken] : plan_.broken) {
        line["broken_why"][about] = {{"count", broken.count}, {"example", broken.example}};
      }
      for (const AuditGap& gap : plan_.gaps) {
        line["unchecked"][gap.structure] = gap.refused.example;
      }
      if (!whole) line["interrupted"] = true;
      std::printf("%s\n", line.dump().c_str());
      SayGivenUp(whole);
      return code;
    }
    if (!whole) {
      std::printf(
          "interrupted after %zu of %zu: %zu passed, %zu failed; nothing is said of the rest\n",
          passed_ + failed_ + given_up_, listed, passed_, failed_);
      return kExitInterrupted;
    }
    for (const auto& [about, refusal] : plan_.refused) {
      std::printf("refused %llu, such as %s\n", static_cast<unsigned long long>(refusal.count),
                  refusal.example.c_str());
    }
    for (const auto& [about, broken] : plan_.broken) {
      std::printf("%s  %llu configurations at which an expression fails, such as %s\n",
                  Paint("FAILED", Tone::kBad, colour_).c_str(),
                  static_cast<unsigned long long>(broken.count), broken.example.c_str());
    }
    for (const AuditGap& gap : plan_.gaps) {
      std::printf(
          "%s  nothing of structure %s was checked: none of its %llu configurations is "
          "valid at the shapes, such as %s\n",
          Paint("FAILED", Tone::kBad, colour_).c_str(), gap.structure.c_str(),
          static_cast<unsigned long long>(gap.refused.count), gap.refused.example.c_str());
    }
    if (!errands_.toolchain().empty()) std::printf("built by %s\n", errands_.toolchain().c_str());
    const std::string not_run = given_up_ == 0 ? "" : ", not run " + std::to_string(given_up_);
    std::printf("%s  listed %zu, passed %zu, failed %zu%s, refused %llu in %s\n",
                Paint(good    ? "PASSED"
                      : wrong ? "FAILED"
                              : "NOT RUN",
                      good ? Tone::kGood : Tone::kBad, colour_)
                    .c_str(),
                listed, passed_, failed, not_run.c_str(),
                static_cast<unsigned long long>(plan_.refusals), FormatDuration(seconds).c_str());
    if (listed == 0) std::printf("nothing was checked, so nothing has passed\n");
    SayGivenUp(whole);
    return code;
  }

 private:
  void SayGivenUp(bool whole) const {
    if (given_up_ == 0 || !whole) return;
    Warn(std::to_string(given_up_) + " of " + std::to_string(plan_.items.size()) +
         " kernels could not be run: " + why_given_up_);
  }

  const AuditPlan& plan_;
  const Errands& errands_;
  const std::string device_;
  const bool json_;
  const bool colour_;
  const bool terminal_;
  const std::int64_t started_ms_;
  std::int64_t drawn_ms_ = 0;
  bool drawn_ = false;
  std::size_t passed_ = 0;
  std::size_t failed_ = 0;
  std::size_t given_up_ = 0;
  std::string why_given_up_;  // of the first
  bool begun_ = false;
};

int RunAudit(const AuditOptions& options) {
  const auto kernels = FindKernels(options.kernels);
  if (!kernels) return Fail(kernels.error().message);
  auto loaded = LoadPackage(*kernels, options.operation);
  if (!loaded) return Fail(loaded.error().message, kExitUsage);
  AuditRequest request;
  request.backend = options.backend;
  request.whole_space = options.all;
  request.sample = options.sample;
  request.seed = options.seed;
  request.deadlines.check_ms = request.deadlines.run_ms = options.deadline_s * 1000;
  for (const std::string& text : options.shapes) {
    auto shape = ParseShape("--shapes", text);
    if (!shape) return Fail(shape.error().message, kExitUsage);
    request.shapes.push_back(*std::move(shape));
  }
  auto plan = PlanAudit(std::make_shared<Operation>(*std::move(loaded)), request);
  if (!plan) return Fail(plan.error().message, kExitUsage);
  std::string device = options.device;
  if (device.empty()) device = options.backend == "cuda" ? "emulated:sm_89" : options.backend;

  Errands errands(AuditErrands(*plan), ErrandSession::NewId());
  Printer printer(*plan, errands, device, options.json);
  if (plan->items.empty()) return printer.Summary();

  std::uint32_t count = options.workers;
  if (count == 0) count = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  count = std::min<std::uint32_t>(count, static_cast<std::uint32_t>(plan->items.size()));
  auto session = ErrandSession::Open({device, count, options.state, {}});
  if (!session) return Fail(session.error().message);
  const auto end = (*session)->Run(
      errands, [&](const ErrandResult& result) { printer.Print(JudgeAudit(result)); },
      [&] { printer.Progress(); });
  printer.Clear();
  if (!end) return Fail(end.error().message);
  const bool whole = *end == SessionEnd::kDone;
  const int code = printer.Summary(whole);
  return whole ? code : kExitInterrupted;
}

}  // namespace

void AddAudit(CLI::App& app, int& code) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App* command = app.add_subcommand(
      "audit", "build, run and check every configuration of a package's audit list");
  command->add_option("OPERATION", options->operation, "operation package")->required();
  command->add_option("--backend", options->backend, "backend (default: cuda)")
      ->default_val("cuda");
  command->add_option("--device", options->device,
                      "device of the workers (default: emulated:sm_89 for cuda, host for host)");
  command->add_option("--shapes", options->shapes,
                      "letter=value,letter=value: shapes in place of the operation's audit shapes");
  command->add_flag("--all", options->all, "the whole space in place of the audit list");
  command
      ->add_option("--sample", options->sample,
                   "at most so many configurations of a structure, chosen to show every pair of "
                   "values where that many can")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--seed", options->seed, "of the sample (default: 1)")->check(WholeNumber());
  command
      ->add_option("--deadline", options->deadline_s,
                   "seconds that a check of a kernel may take before it counts as hung; more for "
                   "large problems (default: 60)")
      ->check(CLI::Range(1, 86'400));
  command->add_option("--workers", options->workers, "workers (default: one a core)")
      ->check(CLI::Range(1, 256));
  AddKernelsOption(*command, options->kernels);
  AddStateOption(*command, options->state);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = RunAudit(*options); });
}

}  // namespace pawl
