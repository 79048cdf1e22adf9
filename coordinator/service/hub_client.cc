#include "coordinator/service/hub_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <zmq.hpp>

#include "coordinator/service/hub_gate.h"
#include "schema/codec.h"
#include "schema/endpoint.h"

namespace pawl {
namespace {

constexpr std::string_view kFileScheme = "ipc://";

// Whether somebody listens at a socket's file: libzmq would try for ever.
bool IsListenedAt(const std::string& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (file.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, file.data(), file.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return false;
  const bool there =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN;  // there, and busy
  ::close(socket);
  return there;
}

}  // namespace

struct HubClient::State {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
  std::string endpoint;
};

HubClient::HubClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HubClient::~HubClient() = default;

Result<std::unique_ptr<HubClient>> HubClient::Connect(const std::string& endpoint,
                                                      const std::optional<ClientKeys>& keys) {
  const Status checked = CheckEndpoint(endpoint, EndpointUse::kConnect,
                                       keys ? EndpointKeys::kBothSides : EndpointKeys::kNone);
  if (!checked) return checked.error();
  if (endpoint.starts_with(kFileScheme) && !IsListenedAt(endpoint.substr(kFileScheme.size()))) {
    return Error{"no coordinator listens at " + endpoint.substr(kFileScheme.size())};
  }
  auto state = std::make_unique<State>();
  state->endpoint = endpoint;
  try {
    zmq::socket_t& socket = state->socket;
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxMessageBytes));
    if (endpoint.find('[') != std::string::npos) socket.set(zmq::sockopt::ipv6, true);
    if (keys) {
      auto own = PublicKeyOf(keys->own);
      if (!own) return own.error();
      socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(keys->server.bytes));
      socket.set(zmq::sockopt::curve_publickey, zmq::buffer(own->bytes));
      socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(keys->own.bytes));
    }
    socket.connect(endpoint);
  } catch (const zmq::error_t& error) {
    return Error{"cannot connect to '" + endpoint + "': " + error.what()};
  }
  return std::unique_ptr<HubClient>(new HubClient(std::move(state)));
}

Status HubClient::Send(const Ask& ask) {
  try {
    const std::string frame = EncodeMessage(ask);
    if (state_->socket.send(zmq::buffer(frame), zmq::send_flags::dontwait)) return {};
  } catch (const zmq::error_t& error) {
    if (error.num() != EAGAIN) {
      return Error{"cannot ask the coordinator at " + state_->endpoint + ": " + error.what()};
    }
  }
  return Error{"cannot ask the coordinator at " + state_->endpoint + ": it does not take any more"};
}

Result<std::optional<Reply>> HubClient::Receive(std::int64_t timeout_ms, int wake_fd) {
  try {
    std::vector<zmq_pollitem_t> items = {{state_->socket.handle(), 0, ZMQ_POLLIN, 0}};
    if (wake_fd >= 0) items.push_back({nullptr, wake_fd, ZMQ_POLLIN, 0});
    const std::int64_t bounded = std::min<std::int64_t>(timeout_ms, INT_MAX);
    zmq::poll(items, std::chrono::milliseconds(std::max<std::int64_t>(bounded, 0)));
    zmq::message_t frame;
    if (!state_->socket.recv(frame, zmq::recv_flags::dontwait)) return std::optional<Reply>();
    if (frame.more()) return Error{"the coordinator at " + state_->endpoint + " sent two frames"};
    auto message = DecodeMessage(frame.to_string_view());
    if (!message) return message.error();
    if (auto* answer = std::get_if<Reply>(&*message)) return std::optional(std::move(*answer));
    return Error{"the coordinator at " + state_->endpoint + " answered with " +
                 std::string(Name(*message)) + "; is it of another release?"};
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return std::optional<Reply>();
    return Error{"cannot hear the coordinator at " + state_->endpoint + ": " + error.what()};
  }
}

}  // namespace pawl
