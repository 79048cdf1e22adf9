#pragma once
// The DEALER socket. The worker's only code that sees ZeroMQ; a seam, so that the agent is tested
// without.
//
// It promises no delivery: a message may be lost with its connection. What must arrive is in the
// spool and is sent again after the next WELCOME.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/keys.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

class Link {
 public:
  virtual ~Link() = default;

  // Queued for the peer; false: dropped, because there is no connection or its queue is full. Never
  // blocks.
  virtual bool Send(const Message& message) = 0;

  // Everything that has come. Frames that do not decode are errors, with Advice::kHalt when they
  // are of another protocol version: the peer will never be understood.
  virtual std::vector<Result<Message>> Receive() = 0;

  // Connections made so far. A new one means that whoever listens now has heard nothing of this
  // worker yet (it may be a coordinator that was started again): say HELLO. What is sent after a
  // connection was counted is queued for it, unless it is gone again.
  virtual std::uint64_t Connections() = 0;

  // Becomes readable when Receive or Connections may have something new. Edge-triggered underneath:
  // wait on it only when Ready() is false.
  virtual int fd() const = 0;
  virtual bool Ready() = 0;

  virtual void Reconnect() = 0;  // drops the socket and what it holds, and makes it anew

  // Why no connection comes about, where more is known than that nobody is there; each once.
  // Advice::kHalt: it will not by itself, not even to who comes again.
  virtual std::optional<Error> Trouble() { return std::nullopt; }
};

// What a worker comes to a guarded address with.
struct LinkKeys {
  PublicKey server;  // who must answer
  SecretKey own;
};

// Reconnects by itself, after 0.5 to 5 s with jitter. Errors: without keys an address that is
// neither ipc:// with a path nor loopback TCP; with keys one that is not tcp://.
Result<std::unique_ptr<Link>> ConnectLink(const std::string& endpoint,
                                          const std::optional<LinkKeys>& keys = std::nullopt);

}  // namespace pawl
