#include "worker/link.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <zmq.hpp>

#include "schema/codec.h"
#include "schema/endpoint.h"

namespace pawl {
namespace {

constexpr int kSendQueue = 16;     // messages: far more than one order and its beats ever need
constexpr int kReconnectMs = 500;  // ZeroMQ doubles it up to the next and adds jitter
constexpr int kReconnectMaxMs = 5'000;
constexpr int kHeartbeatMs =
    10'000;  // of ZMTP: reaps half-open TCP. Whether the peer works, BEAT tells
constexpr int kHeartbeatTimeoutMs = 30'000;
constexpr int kByeLingerMs = 500;
constexpr std::size_t kZ85Bytes = 41;  // of a key, with its terminating zero
// One may be a coordinator that was stopped just then: the third in a row, after some seconds, is
// told, and then one in twenty, which come about 5 s apart.
constexpr int kFirstBrokenOff = 3;
constexpr int kBrokenOffPerLine = 20;

class ZmqLink final : public Link {
 public:
  ZmqLink(std::string endpoint, const std::optional<LinkKeys>& keys)
      : endpoint_(std::move(endpoint)), keys_(keys) {}
  ~ZmqLink() override { Close(); }

  Status Open() {
    try {
      zmq::socket_t socket(context_, zmq::socket_type::dealer);
      socket.set(zmq::sockopt::immediate, true);  // nothing is queued for a peer that is not there
      socket.set(zmq::sockopt::sndhwm, kSendQueue);
      socket.set(zmq::sockopt::linger, 0);
      socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
      socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
      socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxMessageBytes));
      socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
      socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
      if (endpoint_.find('[') != std::string::npos) socket.set(zmq::sockopt::ipv6, true);
      if (keys_) SetKeys(socket);

      const std::string watch = "inproc://watch-" + std::to_string(++opened_);
      const int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
      if (zmq_socket_monitor(socket.handle(), watch.c_str(), events) != 0) throw zmq::error_t();
      zmq::socket_t monitor(context_, zmq::socket_type::pair);
      monitor.set(zmq::sockopt::linger, 0);
      monitor.connect(watch);

      const int epoll = epoll_create1(EPOLL_CLOEXEC);
      if (epoll < 0)
        return Error{std::string("epoll_create1: ") + std::strerror(errno), Advice::kRetry};
      for (const int fd : {socket.get(zmq::sockopt::fd), monitor.get(zmq::sockopt::fd)}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
          const Error error{std::string("epoll_ctl: ") + std::strerror(errno), Advice::kRetry};
          close(epoll);
          return error;
        }
      }
      socket.connect(endpoint_);
      Close();
      epoll_ = epoll;
      socket_ = std::move(socket);
      monitor_ = std::move(monitor);
      return {};
    } catch (const zmq::error_t& error) {
      return Error{"endpoint \"" + endpoint_ + "\": " + error.what()};
    }
  }

  bool Send(const Message& message) override {
    const std::string frame = EncodeMessage(message);
    try {
      // The last word gets a moment to leave; everything else is worth less than a quick exit.
      if (std::holds_alternative<Bye>(message)) socket_.set(zmq::sockopt::linger, kByeLingerMs);
      return socket_.send(zmq::buffer(frame), zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t&) {
      return false;
    }
  }

  std::vector<Result<Message>> Receive() override {
    std::vector<Result<Message>> messages;
    try {
      zmq::message_t frame;
      while (socket_.recv(frame, zmq::recv_flags::dontwait)) messages.push_back(Decode(frame));
    } catch (const zmq::error_t& error) {
      messages.push_back(Error{std::string("receiving: ") + error.what(), Advice::kRetry});
    }
    return messages;
  }

  std::uint64_t Connections() override {
    try {
      zmq::message_t part;
      while (monitor_.recv(part, zmq::recv_flags::dontwait)) {
        if (!part.more()) continue;  // the address, which follows each event
        std::uint16_t event = 0;
        std::uint32_t value = 0;
        if (part.size() < sizeof event + sizeof value) continue;
        std::memcpy(&event, part.data(), sizeof event);
        std::memcpy(&value, static_cast<const char*>(part.data()) + sizeof event, sizeof value);
        if (event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
          OnBrokenHandshake(event, value);
          continue;
        }
        ++connections_;
        broken_off_ = 0;
        // The io thread hands the connection to the socket as a command, then tells of it. A send
        // looks for commands at most once in about a millisecond: one that follows another too
        // closely would find no connection and drop its message. Asking for events always looks.
        (void)socket_.get(zmq::sockopt::events);
      }
    } catch (const zmq::error_t&) {
      // The context ends only with this object.
    }
    return connections_;
  }

  std::optional<Error> Trouble() override { return std::exchange(trouble_, std::nullopt); }

  int fd() const override { return epoll_; }

  bool Ready() override {
    try {
      return (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0 ||
             (monitor_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
    } catch (const zmq::error_t&) {
      return false;
    }
  }

  void Reconnect() override {
    // When the machine has no descriptor left for it the old socket stays, and the agent asks
    // again.
    if (const Status opened = Open(); !opened) return;
  }

 private:
  void SetKeys(zmq::socket_t& socket) const {
    char text[kZ85Bytes], open[kZ85Bytes];
    PublicKey own;
    if (zmq_z85_encode(text, keys_->own.bytes.data(), keys_->own.bytes.size()) == nullptr ||
        zmq_curve_public(open, text) != 0 || zmq_z85_decode(own.bytes.data(), open) == nullptr) {
      throw zmq::error_t();
    }
    socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(keys_->server.bytes));
    socket.set(zmq::sockopt::curve_publickey, zmq::buffer(own.bytes));
    socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(keys_->own.bytes));
  }

  // Once a worker was let in, who refuses it may be somebody else at a port that was left: it comes
  // again.
  Advice AdviceOfRefusal() const { return connections_ == 0 ? Advice::kHalt : Advice::kRetry; }

  // libzmq goes on in silence, or has given up in silence.
  void OnBrokenHandshake(std::uint16_t event, std::uint32_t value) {
    const std::string who = "the coordinator at " + endpoint_;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      trouble_ = Error{who +
                           " does not allow this host's key; its log says how to (pawl keys "
                           "allow), pawl keys list here says which it is",
                       AdviceOfRefusal()};
    } else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
               value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
      trouble_ = Error{who + (keys_ ? " takes no keys; leave --server-key out, or give it --keys"
                                    : " wants a key; give --server-key and --keys"),
                       AdviceOfRefusal()};
    } else if (keys_ && ++broken_off_ % kBrokenOffPerLine == kFirstBrokenOff) {
      trouble_ = Error{who + " does not answer with key " + keys_->server.Hex() + ": " +
                           std::to_string(broken_off_) +
                           " handshakes were broken off; compare --server-key with what pawl keys "
                           "list says there, and see its log",
                       Advice::kRetry};
    }
  }

  static Result<Message> Decode(const zmq::message_t& frame) {
    if (frame.more()) return Error{"a message of several frames; pawl's have one"};
    const std::string_view bytes(static_cast<const char*>(frame.data()), frame.size());
    Result<Message> message = DecodeMessage(bytes);
    if (message) return message;
    const std::optional<FrameVersion> version = PeekVersion(bytes);
    Error error = message.error();
    if (version && version->major != kProtocolMajor) error.advice = Advice::kHalt;
    return error;
  }

  void Close() {
    monitor_.close();
    socket_.close();
    if (epoll_ >= 0) close(epoll_);
    epoll_ = -1;
  }

  const std::string endpoint_;
  const std::optional<LinkKeys> keys_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  int epoll_ = -1;
  std::uint64_t opened_ = 0;
  std::uint64_t connections_ = 0;
  int broken_off_ = 0;  // handshakes, since the last good one
  std::optional<Error> trouble_;
};

}  // namespace

Result<std::unique_ptr<Link>> ConnectLink(const std::string& endpoint,
                                          const std::optional<LinkKeys>& keys) {
  const Status checked = CheckEndpoint(endpoint, EndpointUse::kConnect,
                                       keys ? EndpointKeys::kBothSides : EndpointKeys::kNone);
  if (!checked) return checked.error();
  if (keys && zmq_has("curve") != 1) {
    return Error{"this libzmq was built without CURVE: no keys, and nothing but this machine"};
  }
  auto link = std::make_unique<ZmqLink>(endpoint, keys);
  if (const Status opened = link->Open(); !opened) return opened.error();
  return std::unique_ptr<Link>(std::move(link));
}

}  // namespace pawl
