#pragma once
// How other hosts call an address that this one listens on.

#include <string>

namespace pawl {

// Who listens on every address is called by name.
std::string Reachable(const std::string& endpoint);

}  // namespace pawl
