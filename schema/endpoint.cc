#include "schema/endpoint.h"

#include <cstddef>
#include <string_view>

namespace pawl {
namespace {

constexpr std::size_t kMostPathBytes = 107;  // sockaddr_un's sun_path, less its terminating zero
constexpr int kMostPort = 65'535;

Error Refused(const std::string& endpoint, const std::string& why, EndpointKeys keys) {
  return Error{"endpoint \"" + endpoint + "\": " + why +
               (keys == EndpointKeys::kNone ? "; give ipc:///absolute/path or tcp://127.0.0.1:PORT"
                                            : "; give tcp://ADDRESS:PORT")};
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  // 127.0.0.0/8, each part a decimal number below 256.
  int parts = 0;
  std::string_view rest = host;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    if (part.empty() || part.size() > 3) return false;
    int number = 0;
    for (const char c : part) {
      if (c < '0' || c > '9') return false;
      number = number * 10 + (c - '0');
    }
    if (number > 255 || (parts == 0 && number != 127)) return false;
    ++parts;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return parts == 4;
}

}  // namespace

Status CheckEndpoint(const std::string& endpoint, EndpointUse use, EndpointKeys keys) {
  const std::string_view text = endpoint;
  const bool keyed = keys == EndpointKeys::kBothSides;
  const auto refused = [&](const std::string& why) { return Refused(endpoint, why, keys); };
  if (keyed && text.substr(0, 6) != "tcp://") return refused("keys are for tcp:// only");
  if (text.substr(0, 6) == "ipc://") {
    const std::string_view path = text.substr(6);
    if (path.empty()) return refused("no path");
    // An abstract socket has no permissions: every user of the machine could answer on it.
    if (path[0] == '@') return refused("abstract sockets are open to every user");
    if (path.size() > kMostPathBytes) {
      return refused("the path is " + std::to_string(path.size()) +
                                   " bytes long, at most " + std::to_string(kMostPathBytes) +
                                   " fit");
    }
    return {};
  }
  if (text.substr(0, 6) != "tcp://") return refused("neither ipc:// nor tcp://");
  const std::string_view address = text.substr(6);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return refused("no port");
  const std::string_view host = address.substr(0, colon);
  if (!keyed && !IsLoopback(host)) {
    return refused("not a loopback address, and there are no keys to go further with");
  }
  if (host.empty() || host.find_first_of(" \t\n;/") != std::string_view::npos) {
    return refused("no address before the port");
  }
  const std::string_view digits = address.substr(colon + 1);
  const bool listens = use == EndpointUse::kListen;
  if (listens && digits == "*") return {};
  int port = digits.empty() ? -1 : 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return refused("the port is not a number");
    port = port * 10 + (c - '0');
    if (port > kMostPort) break;
  }
  if (port < (listens ? 0 : 1) || port > kMostPort) {
    return refused("the port is not between " + std::string(listens ? "0" : "1") +
                                 " and " + std::to_string(kMostPort));
  }
  return {};
}

}  // namespace pawl
