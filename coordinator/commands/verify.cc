// pawl verify: whether everything in a ledger follows from what went before.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/service/verify.h"

namespace pawl {
namespace {

struct VerifyOptions {
  std::string ledger;
  bool json = false;
};

int Verify(const VerifyOptions& options) {
  auto folder = FindLedger(options.ledger);
  if (!folder) return Fail(folder.error().message);
  auto ledger = Ledger::Open(*folder, Ledger::Mode::kRead);
  // A folder that is no ledger was not looked into; a damaged one was.
  if (!ledger) {
    return Fail(ledger.error().message,
                ledger.error().advice == Advice::kHalt ? kExitWrong : kExitCannotRun);
  }
  const bool terminal = !options.json && ::isatty(STDERR_FILENO) == 1;
  auto found = VerifyLedger(**ledger, [&](Seq done, Seq total) {
    if (terminal && total.value > 0) {
      std::fprintf(stderr, "\r\033[K%llu of %llu events",
                   static_cast<unsigned long long>(done.value),
                   static_cast<unsigned long long>(total.value));
    }
  });
  if (terminal) std::fputs("\r\033[K", stderr);
  if (!found) return Fail(found.error().message, kExitWrong);
  // A tail that was never acknowledged is no fault; a HEAD that is gone is.
  const std::string& unwitnessed = (*ledger)->unwitnessed();
  if (!unwitnessed.empty()) found->problems.push_back(unwitnessed);
  for (const std::string& note : (*ledger)->notes()) {
    if (note != unwitnessed) Warn(note);
  }
  if (options.json) {
    const nlohmann::json json = {{"ledger", *folder},
                                 {"ok", found->ok()},
                                 {"events", found->events},
                                 {"proposals", found->proposals},
                                 {"decisions", found->decisions},
                                 {"sources", found->sources},
                                 {"problems", found->problems}};
    std::printf("%s\n", json.dump().c_str());
  } else if (found->ok()) {
    std::printf(
        "ledger %s holds: %llu events, chain complete to %s; %llu proposals, %llu decisions and "
        "%llu "
        "sources follow\n",
        folder->c_str(), static_cast<unsigned long long>(found->events),
        (*ledger)->head().digest.Short().c_str(), static_cast<unsigned long long>(found->proposals),
        static_cast<unsigned long long>(found->decisions),
        static_cast<unsigned long long>(found->sources));
  } else {
    for (const std::string& problem : found->problems) std::printf("%s\n", problem.c_str());
  }
  return found->ok() ? kExitDone : kExitWrong;
}

}  // namespace

void AddVerify(CLI::App& app, int& code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "whether everything in a ledger follows");
  AddLedgerOption(*command, options->ledger);
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &code] { code = Verify(*options); });
}

}  // namespace pawl
