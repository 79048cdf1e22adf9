#include "coordinator/service/hub.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <climits>
#include <filesystem>
#include <zmq.hpp>

#include "coordinator/service/admission.h"
#include "coordinator/service/hub_gate.h"
#include "coordinator/service/hub_selftest.h"
#include "schema/codec.h"
#include "schema/endpoint.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

constexpr int kSendQueue = 64;       // messages a peer may lag behind before it loses one
constexpr int kHandshakeMs = 2'000;  // silent or foreign connections are dropped after this
constexpr int kPingMs = 10'000;      // ZMTP pings reap half-open TCP connections
// ZMQ_ZAP_ENFORCE_DOMAIN, which Debian's header hides as a draft; the library has it. Without it a
// socket whose gate has gone lets everybody in.
constexpr int kZapEnforceDomain = 93;
constexpr rlim_t kWantedFiles = 16'384;  // a connection each
constexpr rlim_t kLeastFiles = 1'024;

// A peer is told by the host of its key and by its routing id, so that no host can speak for a
// connection of another. No host's name has a '/'; over the open address it is empty.
PeerId PeerOf(const std::string& host, const std::string& routing_id) {
  return host + '/' + routing_id;
}

// The host whose key a message came under; nullopt: under none.
std::optional<std::string> HostOf(zmq::message_t& frame) {
  const char* const user = zmq_msg_gets(frame.handle(), "User-Id");
  if (user == nullptr || *user == '\0') return std::nullopt;
  return std::string(user);
}

// A coordinator of many hosts must not run out of descriptors: libzmq then spins and lets nobody
// in.
Status RaiseFileLimit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  if (files.rlim_cur < kWantedFiles && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = std::min<rlim_t>(kWantedFiles, files.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &files);
    (void)::getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= kLeastFiles) return {};
  return Error{"at most " + std::to_string(files.rlim_cur) + " open files are allowed, " +
               std::to_string(kLeastFiles) +
               " are wanted for workers of other hosts; raise it: ulimit -n"};
}

void SetOptions(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::router_mandatory, true);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, kSendQueue);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  socket.set(zmq::sockopt::heartbeat_ivl, kPingMs);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxMessageBytes));
}

void BindTo(zmq::socket_t& socket, const std::string& endpoint) {
  if (endpoint.find('[') != std::string::npos) socket.set(zmq::sockopt::ipv6, true);
  const mode_t old_mask = ::umask(0077);  // the socket file: its user only
  try {
    socket.bind(endpoint);
  } catch (...) {
    ::umask(old_mask);
    throw;
  }
  ::umask(old_mask);
}

// Only a socket that is asked to answers nobody while there is no gate.
void Guard(zmq::socket_t& socket, const SecretKey& secret) {
  const int enforce = 1;
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(secret.bytes));
  socket.set(zmq::sockopt::zap_domain, std::string(kZapDomain));
  if (zmq_setsockopt(socket.handle(), kZapEnforceDomain, &enforce, sizeof enforce) != 0) {
    throw zmq::error_t();
  }
}

}  // namespace

struct Hub::State {
  zmq::context_t context{1};
  std::unique_ptr<Gate> gate;
  std::optional<zmq::socket_t> open;
  std::optional<zmq::socket_t> guarded;
  std::string endpoint;
  std::string guarded_endpoint;
  std::optional<PublicKey> key;
  std::uint64_t nameless = 0;  // messages without a key, since the last note

  zmq::socket_t* SocketOf(const std::string& host) {
    std::optional<zmq::socket_t>& socket = host.empty() ? open : guarded;
    return socket ? &*socket : nullptr;
  }
  void TakeFrom(zmq::socket_t& socket, std::size_t most, std::vector<Received>& received);
  Status BindGuarded(const GuardedAddress& address);
};

std::string EndpointIn(const std::string& ledger_folder) {
  return "ipc://" + (std::filesystem::absolute(ledger_folder) / "socket").string();
}

Hub::Hub(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hub::~Hub() = default;

const std::string& Hub::endpoint() const { return state_->endpoint; }
const std::string& Hub::guarded_endpoint() const { return state_->guarded_endpoint; }
const std::optional<PublicKey>& Hub::key() const { return state_->key; }

void Hub::CloseGate() { state_->gate.reset(); }

std::vector<std::string> Hub::TakeNotes() {
  std::vector<std::string> notes;
  if (state_->gate) notes = state_->gate->TakeNotes();
  if (const std::uint64_t dropped = std::exchange(state_->nameless, 0); dropped > 0) {
    notes.push_back(std::to_string(dropped) + " messages came without an authenticated key to " +
                    state_->guarded_endpoint + " and were dropped");
  }
  return notes;
}

Status Hub::State::BindGuarded(const GuardedAddress& address) {
  auto secret = ReadSecretKey(address.keys);
  if (!secret) return secret.error();
  if (Status list = PrepareAllowList(address.keys); !list) return list.error();
  auto own = PublicKeyOf(*secret);
  if (!own) return own.error();
  key = *own;
  if (Status raised = RaiseFileLimit(); !raised) return raised;
  auto opened = Gate::Open(context, address.keys);
  if (!opened) return opened.error();
  gate = *std::move(opened);
  guarded.emplace(context, zmq::socket_type::router);
  SetOptions(*guarded);
  Guard(*guarded, *secret);

  guarded->bind("tcp://127.0.0.1:*");
  const std::string trial = guarded->get(zmq::sockopt::last_endpoint);
  if (Status refused = TryToGetIn(trial, *key); !refused) return refused;
  std::vector<Received> received;
  TakeFrom(*guarded, 1, received);
  if (!received.empty() || nameless > 0) {
    return Error{
        "the check of keys does not hold: a stranger's message came through; nothing is "
        "bound",
        Advice::kHalt};
  }
  gate->TakeNotes();  // of our own stranger
  guarded->unbind(trial);

  BindTo(*guarded, address.endpoint);
  guarded_endpoint = guarded->get(zmq::sockopt::last_endpoint);
  return {};
}

Result<std::unique_ptr<Hub>> Hub::Bind(const std::string& endpoint,
                                       const std::optional<GuardedAddress>& guarded) {
  if (!endpoint.empty() || !guarded) {
    if (Status checked = CheckEndpoint(endpoint, EndpointUse::kListen); !checked) {
      return Error{"cannot listen: " + checked.error().message};
    }
  }
  if (guarded) {
    const Status checked =
        CheckEndpoint(guarded->endpoint, EndpointUse::kListen, EndpointKeys::kBothSides);
    if (!checked) return Error{"cannot listen: " + checked.error().message};
  }
  auto state = std::make_unique<State>();
  std::string binding = endpoint;
  try {
    if (!endpoint.empty()) {
      state->open.emplace(state->context, zmq::socket_type::router);
      SetOptions(*state->open);
      BindTo(*state->open, endpoint);
      state->endpoint = state->open->get(zmq::sockopt::last_endpoint);
    }
    if (guarded) {
      binding = guarded->endpoint;
      if (Status bound = state->BindGuarded(*guarded); !bound) {
        return Error{"cannot listen on '" + binding + "': " + bound.error().message,
                     bound.error().advice};
      }
    }
  } catch (const zmq::error_t& error) {
    return Error{"cannot listen on '" + binding + "': " + error.what()};
  }
  return std::unique_ptr<Hub>(new Hub(std::move(state)));
}

void Hub::State::TakeFrom(zmq::socket_t& socket, std::size_t most,
                          std::vector<Received>& received) {
  const bool is_guarded = guarded && &socket == &*guarded;
  for (std::size_t taken = 0; taken < most; ++taken) {
    zmq::message_t peer;
    if (!socket.recv(peer, zmq::recv_flags::dontwait)) break;
    std::vector<zmq::message_t> frames;
    bool more = peer.more();
    while (more) {
      zmq::message_t frame;
      if (!socket.recv(frame, zmq::recv_flags::dontwait)) break;
      more = frame.more();
      if (frames.size() < 2) frames.push_back(std::move(frame));
    }
    std::string host;
    if (is_guarded) {
      const std::optional<std::string> named = frames.empty() ? std::nullopt : HostOf(frames[0]);
      if (!named) {
        ++nameless;
        continue;
      }
      host = *named;
    }
    Received entry{PeerOf(host, peer.to_string()), Error{"no single frame"}, false, host};
    if (frames.size() == 1) {
      const std::string_view bytes = frames[0].to_string_view();
      entry.message = DecodeMessage(bytes);
      const auto version = PeekVersion(bytes);
      entry.other_version = version.has_value() && version->major != kProtocolMajor;
    }
    received.push_back(std::move(entry));
  }
}

std::vector<Received> Hub::Receive(std::int64_t timeout_ms, std::size_t most, int wake_fd) {
  std::vector<Received> received;
  try {
    std::vector<zmq_pollitem_t> items;
    for (auto* socket : {&state_->open, &state_->guarded}) {
      if (*socket) items.push_back({(*socket)->handle(), 0, ZMQ_POLLIN, 0});
    }
    if (wake_fd >= 0) items.push_back({nullptr, wake_fd, ZMQ_POLLIN, 0});
    const std::int64_t bounded = std::min<std::int64_t>(timeout_ms, INT_MAX);
    zmq::poll(items, std::chrono::milliseconds(std::max<std::int64_t>(bounded, 0)));
    for (auto* socket : {&state_->open, &state_->guarded}) {
      if (*socket) state_->TakeFrom(**socket, most, received);
    }
  } catch (const zmq::error_t& error) {
    CHECK(error.num() == EINTR, "zmq receive:", error.what());
  }
  return received;
}

void Hub::Send(const Outgoing& outgoing) {
  const std::size_t slash = outgoing.peer.find('/');
  if (slash == PeerId::npos) return;  // nobody's
  zmq::socket_t* const socket = state_->SocketOf(outgoing.peer.substr(0, slash));
  if (socket == nullptr) return;
  const std::string routing_id = outgoing.peer.substr(slash + 1);
  try {
    const std::string frame = EncodeMessage(outgoing.message);
    const auto sent =
        socket->send(zmq::buffer(routing_id), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
    if (sent) {
      (void)socket->send(zmq::buffer(frame), zmq::send_flags::dontwait);
    }
  } catch (const zmq::error_t& error) {
    // The peer is gone: its lease decides what becomes of what it held.
    CHECK(error.num() == EHOSTUNREACH || error.num() == EAGAIN || error.num() == EINTR,
          "zmq send:", error.what());
  }
}

}  // namespace pawl
