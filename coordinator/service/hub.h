#pragma once
// The ROUTER sockets: frames in and out. With hub_*.cc the coordinator's only code that sees
// ZeroMQ.
//
// An open address is this machine's own: ipc:// and loopback TCP, any other is refused. A guarded
// one is any of TCP: CURVE, and only keys of the allow list come in (hub_gate.h), which is tried
// out before it is bound; a message without an authenticated key is dropped. Sends never block: a
// peer that is gone or slow loses the message, and its lease decides.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "schema/keys.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

struct Received {
  PeerId peer;
  Result<Message> message;
  bool other_version = false;  // the frame is pawl's, of another protocol version
  std::string host{};          // whose key it came under; empty: over the open address
};

// An address for the workers of other hosts.
struct GuardedAddress {
  std::string endpoint;
  std::string keys;  // folder: the coordinator's own, and the list of the allowed
};

// Where a coordinator listens that was given no address: in its ledger's folder.
std::string EndpointIn(const std::string& ledger_folder);

class Hub {
 public:
  // "ipc:///run/user/0/pawl.sock", "tcp://127.0.0.1:5577", "tcp://127.0.0.1:*". `endpoint` empty:
  // the guarded one only.
  static Result<std::unique_ptr<Hub>> Bind(
      const std::string& endpoint, const std::optional<GuardedAddress>& guarded = std::nullopt);
  ~Hub();

  const std::string& endpoint() const;  // with the port filled in
  const std::string& guarded_endpoint() const;
  const std::optional<PublicKey>& key() const;  // that the guarded one answers with

  // Lines for a person since the last call: who was refused, and why nobody gets in.
  std::vector<std::string> TakeNotes();
  // From here on nobody new gets in by the guarded address; who is in stays.
  void CloseGate();

  // Waits up to `timeout_ms` for the first, then takes what is there, at most `most` of each
  // address. Also wakes when `wake_fd` (if >= 0) becomes readable; it is not read.
  std::vector<Received> Receive(std::int64_t timeout_ms, std::size_t most, int wake_fd = -1);
  void Send(const Outgoing& outgoing);

 private:
  struct State;
  explicit Hub(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
