#include "coordinator/service/hub_selftest.h"

#include <chrono>
#include <cstring>
#include <optional>
#include <zmq.hpp>

#include "coordinator/service/hub_gate.h"

namespace pawl {
namespace {

constexpr int kTrialMs = 30'000;   // for one answer, on a machine that has much else to do
constexpr int kComeAgainMs = 100;  // where a handshake was broken off

enum class Met { kLetIn, kNotAllowed, kBrokenOff, kNothing };

// How the handshake of one client ends. Broken off counts where no more can be heard.
Met Come(const std::string& endpoint, const std::optional<PublicKey>& server, const KeyPair& own) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::reconnect_ivl, kComeAgainMs);
  if (server) {
    socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(server->bytes));
    socket.set(zmq::sockopt::curve_publickey, zmq::buffer(own.public_key.bytes));
    socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(own.secret_key.bytes));
  }
  const int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (zmq_socket_monitor(socket.handle(), "inproc://watch", events) != 0) throw zmq::error_t();
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.connect("inproc://watch");
  socket.connect(endpoint);
  socket.send(zmq::str_buffer("let me in"), zmq::send_flags::dontwait);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTrialMs);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Met::kNothing;
    monitor.set(zmq::sockopt::rcvtimeo, static_cast<int>(left.count()));
    zmq::message_t part, address;
    if (!monitor.recv(part) || !part.more() || !monitor.recv(address)) continue;
    std::uint16_t event = 0;
    if (part.size() >= sizeof event) std::memcpy(&event, part.data(), sizeof event);
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) return Met::kLetIn;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return Met::kNotAllowed;
    // A stranger with a key comes again: a busy machine may have let its first handshake run out.
    if (!server || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return Met::kBrokenOff;
  }
}

}  // namespace

Status TryToGetIn(const std::string& endpoint, const PublicKey& server) {
  const auto fault = [](const std::string& what) {
    return Error{"the check of keys does not hold: " + what + "; nothing is bound", Advice::kHalt};
  };
  // No answer is no proof: a machine that is too busy for a handshake does not listen either.
  const auto untried = [](const std::string& who) {
    return Error{"the check of keys could not be tried: no handshake of " + who +
                     " came to an end in 30 s; nothing is bound, try again",
                 Advice::kHalt};
  };
  auto stranger = NewKeyPair();
  if (!stranger) return stranger.error();
  try {
    switch (Come(endpoint, server, *stranger)) {
      case Met::kNotAllowed:
        break;
      case Met::kLetIn:
        return fault("a key that is not allowed got in");
      case Met::kNothing:
        return untried("a key that is not allowed");
      default:
        return fault("a key that is not allowed was not told so");
    }
    switch (Come(endpoint, std::nullopt, KeyPair{})) {
      case Met::kBrokenOff:
      case Met::kNotAllowed:
        return {};
      case Met::kLetIn:
        return fault("who has no key got in");
      case Met::kNothing:
        return untried("who has no key");
    }
    return fault("who has no key was not refused");
  } catch (const zmq::error_t& error) {
    return Error{std::string("cannot try the check of keys: ") + error.what()};
  }
}

}  // namespace pawl
