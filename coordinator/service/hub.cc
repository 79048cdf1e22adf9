#include "coordinator/service/hub.h"

#include <sys/stat.h>

#include <climits>
#include <filesystem>
#include <zmq.hpp>

#include "schema/codec.h"
#include "schema/endpoint.h"

namespace pawl {
namespace {

constexpr int kSendQueue = 64;       // messages a peer may lag behind before it loses one
constexpr int kHandshakeMs = 2'000;  // silent or foreign connections are dropped after this
constexpr int kPingMs = 10'000;      // ZMTP pings reap half-open TCP connections

}  // namespace

struct Hub::State {
  zmq::context_t context{1};
  zmq::socket_t socket;
  std::string endpoint;
};

std::string EndpointIn(const std::string& ledger_folder) {
  return "ipc://" + (std::filesystem::absolute(ledger_folder) / "socket").string();
}

Hub::Hub(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hub::~Hub() = default;

const std::string& Hub::endpoint() const { return state_->endpoint; }

Result<std::unique_ptr<Hub>> Hub::Bind(const std::string& endpoint) {
  if (Status checked = CheckEndpoint(endpoint, EndpointUse::kListen); !checked) {
    return Error{"cannot listen: " + checked.error().message};
  }
  auto state = std::make_unique<State>();
  try {
    state->socket = zmq::socket_t(state->context, zmq::socket_type::router);
    state->socket.set(zmq::sockopt::router_mandatory, true);
    state->socket.set(zmq::sockopt::linger, 0);
    state->socket.set(zmq::sockopt::sndhwm, kSendQueue);
    state->socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
    state->socket.set(zmq::sockopt::heartbeat_ivl, kPingMs);
    if (endpoint.find("[::1]") != std::string::npos) {
      state->socket.set(zmq::sockopt::ipv6, true);
    }
    state->socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxMessageBytes));
    const mode_t old_mask = ::umask(0077);  // the socket file: its user only
    try {
      state->socket.bind(endpoint);
    } catch (...) {
      ::umask(old_mask);
      throw;
    }
    ::umask(old_mask);
    state->endpoint = state->socket.get(zmq::sockopt::last_endpoint);
  } catch (const zmq::error_t& error) {
    return Error{"cannot listen on '" + endpoint + "': " + error.what()};
  }
  return std::unique_ptr<Hub>(new Hub(std::move(state)));
}

std::vector<Received> Hub::Receive(std::int64_t timeout_ms, std::size_t most, int wake_fd) {
  std::vector<Received> received;
  try {
    zmq_pollitem_t items[2] = {{state_->socket.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, wake_fd, ZMQ_POLLIN, 0}};
    const std::int64_t bounded = std::min<std::int64_t>(timeout_ms, INT_MAX);
    zmq::poll(items, wake_fd >= 0 ? 2 : 1,
              std::chrono::milliseconds(std::max<std::int64_t>(bounded, 0)));
    while (received.size() < most) {
      zmq::message_t peer;
      if (!state_->socket.recv(peer, zmq::recv_flags::dontwait)) break;
      std::vector<zmq::message_t> frames;
      bool more = peer.more();
      while (more) {
        zmq::message_t frame;
        if (!state_->socket.recv(frame, zmq::recv_flags::dontwait)) break;
        more = frame.more();
        if (frames.size() < 2) frames.push_back(std::move(frame));
      }
      Received entry{peer.to_string(), Error{"no single frame"}, false};
      if (frames.size() == 1) {
        const std::string_view bytes = frames[0].to_string_view();
        entry.message = DecodeMessage(bytes);
        const auto version = PeekVersion(bytes);
        entry.other_version = version.has_value() && version->major != kProtocolMajor;
      }
      received.push_back(std::move(entry));
    }
  } catch (const zmq::error_t& error) {
    CHECK(error.num() == EINTR, "zmq receive:", error.what());
  }
  return received;
}

void Hub::Send(const Outgoing& outgoing) {
  try {
    const std::string frame = EncodeMessage(outgoing.message);
    const auto sent = state_->socket.send(zmq::buffer(outgoing.peer),
                                          zmq::send_flags::sndmore | zmq::send_flags::dontwait);
    if (sent) {
      (void)state_->socket.send(zmq::buffer(frame), zmq::send_flags::dontwait);
    }
  } catch (const zmq::error_t& error) {
    // The peer is gone: its lease decides what becomes of what it held.
    CHECK(error.num() == EHOSTUNREACH || error.num() == EAGAIN || error.num() == EINTR,
          "zmq send:", error.what());
  }
}

}  // namespace pawl
