#pragma once
// Proof, at each start, that the guard is up: libzmq lets everybody in where it has not been told
// quite right how to ask.

#include <string>

#include "schema/keys.h"
#include "schema/result.h"

namespace pawl {

// Comes to `endpoint` (this machine's own, for the test) with a key that nobody has seen before,
// and with none, and sends something each time. Good only when the first is told that it is not
// allowed (so the gate was asked), and the second does not get through the handshake. What either
// has sent must not arrive: that is for the caller to see.
Status TryToGetIn(const std::string& endpoint, const PublicKey& server);

}  // namespace pawl
