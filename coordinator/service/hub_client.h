#pragma once
// The other end of a coordinator's socket, for a person's commands: asks, and hears the answers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schema/keys.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

// What a host comes to a guarded address with.
struct ClientKeys {
  PublicKey server;  // who must answer
  SecretKey own;
};

class HubClient {
 public:
  // `endpoint` as Hub::Bind takes it; one of TCP that is not this machine's wants keys. Errors: no
  // coordinator listens at that file.
  static Result<std::unique_ptr<HubClient>> Connect(const std::string& endpoint,
                                                    const std::optional<ClientKeys>& keys);
  ~HubClient();

  Status Send(const Ask& ask);
  // The next answer; nullopt: none in that time, or `wake_fd` (if >= 0) became readable. Errors: an
  // answer that is none.
  Result<std::optional<Reply>> Receive(std::int64_t timeout_ms, int wake_fd = -1);

 private:
  struct State;
  explicit HubClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
