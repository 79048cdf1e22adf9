// pawl keys: this host's key pair, and whose workers a coordinator lets in.

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "coordinator/commands/command.h"
#include "coordinator/service/hub_gate.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

struct KeysOptions {
  std::string folder = DefaultKeyFolder();
  std::string host;
  std::string key;
  bool operates = false;
  bool json = false;
};

void PrintJson(const nlohmann::ordered_json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Result<PublicKey> OwnKey(const std::string& folder) {
  auto secret = ReadSecretKey(folder);
  if (!secret) return secret.error();
  return PublicKeyOf(*secret);
}

int New(const KeysOptions& options) {
  auto pair = NewKeyPair();
  if (!pair) return Fail(pair.error().message);
  if (Status written = WriteKeyPair(options.folder, *pair); !written) {
    return Fail(written.error().message);
  }
  const std::string key = pair->public_key.Hex();
  if (options.json) {
    PrintJson({{"folder", options.folder}, {"public_key", key}});
    return kExitDone;
  }
  std::printf("public key %s\n", key.c_str());
  std::printf("in %s; secret.key there stays on this host\n", options.folder.c_str());
  return kExitDone;
}

int Allow(const KeysOptions& options) {
  if (Status named = CheckHostName(options.host); !named) {
    return Fail(named.error().message, kExitUsage);
  }
  auto key = PublicKeyOrFile(options.key);
  if (!key) return Fail(key.error().message, kExitUsage);
  const Status changed = ChangeAllowList(options.folder, [&](std::string_view text) {
    return WithAllowedKey(text, AllowFileIn(options.folder),
                          {options.host, *key, options.operates});
  });
  if (!changed) return Fail(changed.error().message);
  if (options.json) {
    PrintJson({{"host", options.host},
               {"public_key", key->Hex()},
               {"allowed", true},
               {"operator", options.operates}});
  } else {
    std::printf("%s may come with key %s%s\n", options.host.c_str(), key->Hex().c_str(),
                options.operates ? ", and give jobs" : "");
  }
  return kExitDone;
}

int Revoke(const KeysOptions& options) {
  const Status changed = ChangeAllowList(options.folder, [&](std::string_view text) {
    return WithoutHost(text, AllowFileIn(options.folder), options.host);
  });
  if (!changed) return Fail(changed.error().message);
  if (options.json) {
    PrintJson({{"host", options.host}, {"allowed", false}});
  } else {
    std::printf("%s is not let in any more; a connection it has now lasts until it ends\n",
                options.host.c_str());
  }
  return kExitDone;
}

int List(const KeysOptions& options) {
  if (::access(options.folder.c_str(), F_OK) != 0) {
    return Fail("no folder " + options.folder + " of keys; pawl keys new makes it");
  }
  const auto own = OwnKey(options.folder);
  const bool no_key = ::access((options.folder + "/secret.key").c_str(), F_OK) != 0;
  if (!own && !no_key) return Fail(own.error().message);
  auto list = ReadAllowList(options.folder);
  if (!list) return Fail(list.error().message);
  const std::string key = own ? own->Hex() : "";
  if (options.json) {
    PrintJson({{"folder", options.folder}, {"public_key", key}});
  } else {
    std::printf("this host  %s\n", own ? key.c_str() : "no key yet; pawl keys new makes one");
  }
  for (const AllowedKey& allowed : list->keys) {
    if (options.json) {
      PrintJson({{"host", allowed.host},
                 {"public_key", allowed.key.Hex()},
                 {"allowed", true},
                 {"operator", allowed.operates}});
    } else {
      std::printf("allowed    %s  %s%s\n", allowed.key.Hex().c_str(), allowed.host.c_str(),
                  allowed.operates ? "  operator" : "");
    }
  }
  return kExitDone;
}

}  // namespace

void AddKeys(CLI::App& app, int& code) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* command =
      app.add_subcommand("keys", "this host's key, and whose workers may come over the network");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const KeysOptions&)) {
    CLI::App* one = command->add_subcommand(name, what);
    one->add_option("--folder", options->folder, "folder of the keys")
        ->capture_default_str()
        ->check(NotEmpty());
    one->add_flag("--json", options->json, "one JSON object a line");
    one->callback([options, run, &code] { code = run(*options); });
    return one;
  };
  const auto add_host = [&](CLI::App* one) {
    one->add_option("NAME", options->host, "the host")->required()->check(NotEmpty());
  };
  add("new", "makes this host's key pair", New);
  CLI::App* allow = add("allow", "lets a host's workers in, under its name", Allow);
  add_host(allow);
  allow->add_option("PUBLIC_KEY", options->key, "its key, or its public.key")
      ->required()
      ->check(NotEmpty());
  allow->add_flag("--operator", options->operates, "its people may also give jobs and move them");
  add_host(add("revoke", "takes all keys of a host off the list", Revoke));
  add("list", "this host's key, and those that are allowed", List);
}

}  // namespace pawl
