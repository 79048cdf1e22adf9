#include "coordinator/commands/reachable.h"

#include <unistd.h>

#include <climits>

namespace pawl {

std::string Reachable(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  const std::string host = endpoint.substr(0, colon);
  char name[HOST_NAME_MAX + 1] = "";
  if (host != "tcp://0.0.0.0" && host != "tcp://[::]") return endpoint;
  if (::gethostname(name, sizeof name - 1) != 0) return endpoint;
  return "tcp://" + std::string(name) + endpoint.substr(colon);
}

}  // namespace pawl
