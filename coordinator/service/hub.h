#pragma once
// The ROUTER socket: frames in and out. The coordinator's only code that sees ZeroMQ.
//
// Binds ipc:// and loopback TCP only: without keys any other address is refused. Sends never block:
// a peer that is gone or slow loses the message, and its lease decides.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

struct Received {
  PeerId peer;
  Result<Message> message;
  bool other_version = false;  // the frame is pawl's, of another protocol version
};

// Where a coordinator listens that was given no address: in its ledger's folder.
std::string EndpointIn(const std::string& ledger_folder);

class Hub {
 public:
  // "ipc:///run/user/0/pawl.sock", "tcp://127.0.0.1:5577", "tcp://127.0.0.1:*".
  static Result<std::unique_ptr<Hub>> Bind(const std::string& endpoint);
  ~Hub();

  const std::string& endpoint() const;  // with the port filled in

  // Waits up to `timeout_ms` for the first, then takes what is there, at most `most`. Also wakes
  // when `wake_fd` (if >= 0) becomes readable; it is not read.
  std::vector<Received> Receive(std::int64_t timeout_ms, std::size_t most, int wake_fd = -1);
  void Send(const Outgoing& outgoing);

 private:
  struct State;
  explicit Hub(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
