#include "coordinator/service/hub_gate.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <zmq.hpp>

#include "coordinator/service/admission.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

constexpr std::size_t kZ85Bytes = 41;    // of a key, with its terminating zero
constexpr std::size_t kMostNotes = 100;  // that nobody takes

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

Error NoCurve() {
  return Error{"this libzmq was built without CURVE: no keys, and nothing but this machine"};
}

}  // namespace

struct Gate::State {
  std::string folder;
  zmq::socket_t socket;
  int stop = -1;
  std::thread thread;
  std::atomic<std::uint64_t> answered = 0;
  std::mutex mutex;  // notes
  std::vector<std::string> notes;

  void Note(std::string line) {
    const std::lock_guard lock(mutex);
    if (notes.size() < kMostNotes) notes.push_back(std::move(line));
  }

  // Owns the socket, so that it goes with the thread, however that ends.
  void Serve(zmq::socket_t own) {
    RefusalNotes refusals(folder);
    while (true) {
      zmq_pollitem_t items[2] = {{own.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, stop, ZMQ_POLLIN, 0}};
      if (zmq_poll(items, 2, -1) < 0) {
        if (zmq_errno() == EINTR) continue;
        throw zmq::error_t();
      }
      if (items[1].revents != 0) return;
      ZapRequest request;
      zmq::message_t peer, empty, frame;
      if (!own.recv(peer, zmq::recv_flags::dontwait)) continue;
      bool more = peer.more() && own.recv(empty) && empty.more();
      while (more) {
        if (!own.recv(frame)) break;
        request.push_back(frame.to_string());
        more = frame.more();
      }
      const Admission admission = Admit(request, ReadAllowList(folder));
      if (admission.status != 200) {
        if (auto line = refusals.Of(admission, NowMs())) Note(*std::move(line));
      }
      const std::vector<std::string> reply = ZapReply(request, admission);
      if (reply.empty()) continue;
      own.send(peer, zmq::send_flags::sndmore);
      own.send(zmq::message_t(), zmq::send_flags::sndmore);
      for (std::size_t i = 0; i < reply.size(); ++i) {
        own.send(zmq::buffer(reply[i]),
                 i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
      }
      ++answered;
    }
  }
};

Gate::Gate(std::unique_ptr<State> state) : state_(std::move(state)) {}

Gate::~Gate() {
  const std::uint64_t one = 1;
  if (state_->thread.joinable()) {
    const bool told = ::write(state_->stop, &one, sizeof one) == static_cast<ssize_t>(sizeof one);
    CHECK(told, "the gate cannot be told to stop");
    state_->thread.join();
  }
  ::close(state_->stop);
}

Result<std::unique_ptr<Gate>> Gate::Open(zmq::context_t& context, const std::string& folder) {
  if (zmq_has("curve") != 1) return NoCurve();
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state->stop < 0) return Error{std::string("eventfd: ") + std::strerror(errno)};
  State* const shared = state.get();
  std::unique_ptr<Gate> gate(new Gate(std::move(state)));
  try {
    zmq::socket_t socket(context, zmq::socket_type::router);
    socket.set(zmq::sockopt::linger, 0);
    socket.bind("inproc://zeromq.zap.01");
    shared->thread = std::thread([shared, own = std::move(socket)]() mutable {
      try {
        shared->Serve(std::move(own));
      } catch (const std::exception& error) {
        shared->Note(std::string("nobody new gets in until this is started again: the check of "
                                 "keys has failed: ") +
                     error.what());
      }
    });
  } catch (const std::exception& error) {
    return Error{std::string("cannot check keys: ") + error.what()};
  }
  return gate;
}

std::vector<std::string> Gate::TakeNotes() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->notes, {});
}

std::uint64_t Gate::answered() const { return state_->answered; }

Result<KeyPair> NewKeyPair() {
  if (zmq_has("curve") != 1) return NoCurve();
  char open[kZ85Bytes], secret[kZ85Bytes];
  KeyPair pair;
  if (zmq_curve_keypair(open, secret) != 0 ||
      zmq_z85_decode(pair.public_key.bytes.data(), open) == nullptr ||
      zmq_z85_decode(pair.secret_key.bytes.data(), secret) == nullptr) {
    return Error{std::string("cannot make a key: ") + zmq_strerror(zmq_errno())};
  }
  return pair;
}

Result<PublicKey> PublicKeyOf(const SecretKey& secret) {
  if (zmq_has("curve") != 1) return NoCurve();
  char open[kZ85Bytes], text[kZ85Bytes];
  PublicKey key;
  if (zmq_z85_encode(text, secret.bytes.data(), secret.bytes.size()) == nullptr ||
      zmq_curve_public(open, text) != 0 || zmq_z85_decode(key.bytes.data(), open) == nullptr) {
    return Error{std::string("not a secret key: ") + zmq_strerror(zmq_errno())};
  }
  return key;
}

}  // namespace pawl
