#pragma once
// Which addresses a coordinator and a worker meet at. Without keys: this machine's only, and only
// where another user of it cannot answer in the coordinator's place. With keys: TCP, wherever to.

#include <string>

#include "schema/result.h"

namespace pawl {

enum class EndpointUse {
  kConnect,
  kListen,  // port 0 or "*" too: a free one
};

enum class EndpointKeys { kNone, kBothSides };

// Without keys: ipc:///absolute/path (at most 107 bytes of path), or tcp:// on a loopback address
// with a port. With keys: tcp:// on any address, or name, with a port. Errors: one line that names
// the endpoint, what is wrong with it and what is wanted.
Status CheckEndpoint(const std::string& endpoint, EndpointUse use,
                     EndpointKeys keys = EndpointKeys::kNone);

}  // namespace pawl
