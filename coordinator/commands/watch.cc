// pawl watch [JOB]: what a coordinator that runs decides, as it happens.

#include "coordinator/commands/ask.h"
#include "coordinator/commands/command.h"
#include "coordinator/search/job_keys.h"
#include "coordinator/service/service.h"
#include "coordinator/service/stop_signals.h"

namespace pawl {
namespace {

constexpr std::int64_t kAskAgainMs = 5'000;  // so that the coordinator knows that one still watches
constexpr std::int64_t kSilentMs = 20'000;   // it answers each of them

struct WatchOptions {
  AskOptions ask;
  std::string job;
};

int Watch(const WatchOptions& options) {
  if (!options.job.empty() && !IsFileStem(options.job)) {
    return Fail("'" + options.job + "' is no job's name", kExitUsage);
  }
  auto stop = StopSignals::Block();
  if (!stop) return Fail(stop.error().message);
  auto client = Reach(options.ask);
  if (!client) return Fail(client.error().message);
  Ask ask;
  ask.verb = AskVerb::kWatch;
  ask.job = options.job;
  ask.by = Asker();
  ask.json = options.ask.json;
  std::int64_t ask_at = 0;
  std::int64_t heard = Service::NowMs();
  while ((*stop)->Count() == 0) {
    const std::int64_t now = Service::NowMs();
    if (now >= ask_at) {
      (void)(*client)->Send(ask);  // one that is lost is asked again
      ask_at = now + kAskAgainMs;
    }
    if (now - heard > kSilentMs) return Fail("the coordinator says nothing any more");
    auto answer = (*client)->Receive(ask_at - now, (*stop)->fd());
    if (!answer) return Fail(answer.error().message);
    if (!*answer) continue;
    heard = Service::NowMs();
    const int code = PrintReply(**answer);
    if ((*answer)->done) return code;
  }
  return kExitDone;
}

}  // namespace

void AddWatch(CLI::App& app, int& code) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command =
      app.add_subcommand("watch", "what a coordinator that runs decides, as it happens");
  command->add_option("JOB", options->job, "of this job only (its name)")->check(NotEmpty());
  AddAskOptions(*command, options->ask);
  command->callback([options, &code] { code = Watch(*options); });
}

}  // namespace pawl
