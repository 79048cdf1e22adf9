// pawl submit JOB: gives a job to a coordinator that runs.

#include <filesystem>

#include "coordinator/commands/ask.h"
#include "coordinator/commands/command.h"
#include "coordinator/search/job.h"

namespace pawl {
namespace {

struct SubmitOptions {
  AskOptions ask;
  std::string job;
  std::optional<std::int32_t> priority;
};

int Submit(const SubmitOptions& options) {
  auto job = ReadJob(options.job);
  if (!job) return Fail(job.error().message, kExitUsage);
  if (job->text.size() > kMaxJobBytes) {
    return Fail(options.job + ": " + std::to_string(job->text.size()) + " bytes, at most " +
                    std::to_string(kMaxJobBytes) + " can be submitted",
                kExitUsage);
  }
  Ask ask;
  ask.verb = AskVerb::kSubmit;
  ask.file = std::filesystem::absolute(options.job).lexically_normal().string();
  ask.text = job->text;
  ask.priority = options.priority.value_or(job->priority);
  return AskAndPrint(options.ask, std::move(ask));
}

}  // namespace

void AddSubmit(CLI::App& app, int& code) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app.add_subcommand("submit", "give a job to a coordinator that runs");
  command->add_option("JOB", options->job, "job file")->required()->check(NotEmpty());
  command
      ->add_option("--priority", options->priority,
                   "the higher goes first (default: the job's, else 0)")
      ->check(CLI::Range(-kMaxPriority, kMaxPriority));
  AddAskOptions(*command, options->ask);
  command->callback([options, &code] { code = Submit(*options); });
}

}  // namespace pawl
