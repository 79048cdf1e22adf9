#pragma once
// The DEALER socket. The worker's only code that sees ZeroMQ; a seam, so that the agent is tested without.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

class Link {
 public:
  virtual ~Link() = default;

  virtual void Send(const Message& message) = 0;  // queued, or dropped when there is no peer
  // Everything that has come; undecodable frames are errors.
  virtual std::vector<Result<Message>> Receive() = 0;
  virtual int fd() const = 0;  // becomes readable when Receive may have something (edge-triggered: drain)
  virtual void Reconnect() = 0;  // drops the socket and makes it anew
};

// Reconnects by itself, 0.5 to 5 s with jitter. Errors: an address that is neither ipc:// nor loopback TCP.
Result<std::unique_ptr<Link>> ConnectLink(const std::string& endpoint);

}  // namespace pawl
