#pragma once
// What the commands share that speak to a coordinator that runs (pawl serve).

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "coordinator/service/hub_client.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

// Where the coordinator is: at a ledger of this host, or at an address.
struct AskOptions {
  std::string ledger;
  std::string connect;
  std::string server_key;  // of `connect`
  std::string keys;        // folder of this host's own
  bool json = false;
};
void AddAskOptions(CLI::App& command, AskOptions& options);

// Errors: no ledger, no coordinator at it, keys that do not fit.
Result<std::unique_ptr<HubClient>> Reach(const AskOptions& options);

// Asks, and gives all that is replied within `timeout_ms`; an error too where it is refused.
Result<std::string> AskForText(const AskOptions& options, Ask ask, std::int64_t timeout_ms);
// Asks, prints each answer as it comes until the last, and gives the exit code.
int AskAndPrint(const AskOptions& options, Ask ask);
// Prints an answer, the last one of a refusal as a failure; gives the exit code.
int PrintReply(const Reply& answer);

std::string Asker();  // "user@host"

}  // namespace pawl
