// pawl pause, resume and cancel JOB: what a coordinator that runs does with a job from now on.

#include "coordinator/commands/ask.h"
#include "coordinator/commands/command.h"
#include "coordinator/search/job_keys.h"

namespace pawl {
namespace {

struct MoveOptions {
  AskOptions ask;
  std::string job;
};

void AddMove(CLI::App& app, int& code, AskVerb verb, const char* what) {
  auto options = std::make_shared<MoveOptions>();
  CLI::App* command = app.add_subcommand(std::string(Name(verb)), what);
  command->add_option("JOB", options->job, "its name, as pawl status shows it")
      ->required()
      ->check(NotEmpty());
  AddAskOptions(*command, options->ask);
  command->callback([options, verb, &code] {
    Ask ask;
    ask.verb = verb;
    ask.job = options->job;
    if (!IsFileStem(ask.job)) {
      code = Fail("'" + ask.job + "' is no job's name", kExitUsage);
      return;
    }
    code = AskAndPrint(options->ask, std::move(ask));
  });
}

}  // namespace

void AddPause(CLI::App& app, int& code) {
  AddMove(app, code, AskVerb::kPause, "begin nothing new of a job; what is measured is finished");
}

void AddResume(CLI::App& app, int& code) {
  AddMove(app, code, AskVerb::kResume, "go on with a job that was paused or cancelled");
}

void AddCancel(CLI::App& app, int& code) {
  AddMove(app, code, AskVerb::kCancel, "stop a job and take back what is measured");
}

}  // namespace pawl
