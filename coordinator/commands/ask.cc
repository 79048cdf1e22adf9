#include "coordinator/commands/ask.h"

#include <pwd.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "coordinator/commands/command.h"
#include "coordinator/service/hub.h"
#include "coordinator/service/service.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

constexpr std::int64_t kAnswerMs = 15'000;

}  // namespace

void AddAskOptions(CLI::App& command, AskOptions& options) {
  AddLedgerOption(command, options.ledger);
  command
      .add_option("--connect", options.connect,
                  "tcp://HOST:PORT of a coordinator on another host, instead of --ledger")
      ->check(NotEmpty());
  command
      .add_option("--server-key", options.server_key,
                  "the public key that the coordinator at --connect answers with, or its file")
      ->check(NotEmpty());
  command.add_option("--keys", options.keys, "folder of this host's key (pawl keys)")
      ->check(NotEmpty());
  command.add_flag("--json", options.json, "one JSON object a line");
}

Result<std::unique_ptr<HubClient>> Reach(const AskOptions& options) {
  if (options.connect.empty()) {
    if (!options.server_key.empty() || !options.keys.empty()) {
      return Error{"--server-key and --keys are for a coordinator on another host: give --connect"};
    }
    auto folder = FindLedger(options.ledger);
    if (!folder) return folder.error();
    auto client = HubClient::Connect(EndpointIn(*folder), std::nullopt);
    if (client) return client;
    return Error{client.error().message + "; pawl serve --ledger " + *folder + " starts one"};
  }
  if (!options.ledger.empty()) return Error{"give --ledger or --connect, not both"};
  if (options.server_key.empty()) {
    return HubClient::Connect(options.connect, std::nullopt);
  }
  auto server = PublicKeyOrFile(options.server_key);
  if (!server) return server.error();
  auto own = ReadSecretKey(options.keys.empty() ? DefaultKeyFolder() : options.keys);
  if (!own) return own.error();
  return HubClient::Connect(options.connect, ClientKeys{*server, *own});
}

int PrintReply(const Reply& answer) {
  if (answer.code == ReplyCode::kOk) {
    std::fwrite(answer.text.data(), 1, answer.text.size(), stdout);
    std::fflush(stdout);
    return kExitDone;
  }
  std::string text = answer.text;
  while (text.ends_with('\n')) text.pop_back();
  return Fail(text, answer.code == ReplyCode::kRefused ? kExitUsage : kExitCannotRun);
}

Result<std::string> AskForText(const AskOptions& options, Ask ask, std::int64_t timeout_ms) {
  auto client = Reach(options);
  if (!client) return client.error();
  ask.by = Asker();
  ask.json = options.json;
  if (Status sent = (*client)->Send(ask); !sent) return sent.error();
  const std::int64_t until = Service::NowMs() + timeout_ms;
  std::string text;
  while (true) {
    const std::int64_t left = until - Service::NowMs();
    if (left <= 0) {
      return Error{"no reply of the coordinator in " + std::to_string(timeout_ms / 1'000) + " s"};
    }
    auto reply = (*client)->Receive(left);
    if (!reply) return reply.error();
    if (!*reply) continue;
    if ((*reply)->code != ReplyCode::kOk) {
      return Error{(*reply)->text.substr(0, (*reply)->text.find('\n'))};
    }
    text += (*reply)->text;
    if ((*reply)->done) return text;
  }
}

int AskAndPrint(const AskOptions& options, Ask ask) {
  auto client = Reach(options);
  if (!client) return Fail(client.error().message);
  ask.by = Asker();
  ask.json = options.json;
  if (Status sent = (*client)->Send(ask); !sent) return Fail(sent.error().message);
  const std::int64_t until = Service::NowMs() + kAnswerMs;
  while (true) {
    const std::int64_t left = until - Service::NowMs();
    if (left <= 0) {
      return Fail("no reply of the coordinator in " + std::to_string(kAnswerMs / 1'000) + " s" +
                  (options.connect.empty() ? "; is it stopped?"
                                           : "; is it there, and does it allow this host's key?"));
    }
    auto answer = (*client)->Receive(left);
    if (!answer) return Fail(answer.error().message);
    if (!*answer) continue;
    const int code = PrintReply(**answer);
    if ((*answer)->done) return code;
  }
}

std::string Asker() {
  char host[HOST_NAME_MAX + 1] = "";
  (void)::gethostname(host, sizeof host - 1);
  const passwd* const user = ::getpwuid(::geteuid());
  return (user != nullptr ? std::string(user->pw_name) : std::to_string(::geteuid())) + "@" + host;
}

}  // namespace pawl
