// Who gets in by a guarded address, over real sockets. What must not arrive is followed by
// something that does, on another connection, so that nothing is waited for in vain.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <zmq.hpp>

#include "coordinator/service/hub.h"
#include "coordinator/service/hub_gate.h"
#include "coordinator/service/hub_selftest.h"
#include "schema/codec.h"
#include "schema/key_files.h"
#include "tests/support/process.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kPatienceMs = 60'000;

KeyPair NewPair() {
  auto pair = NewKeyPair();
  CHECK(pair, pair.error().message);
  return *pair;
}

// A worker's side, raw: how its handshake ended, and what it says.
class Peer {
 public:
  // `server` none: without CURVE.
  Peer(const std::string& endpoint, const std::optional<PublicKey>& server, const KeyPair& own,
       const std::string& routing_id = "")
      : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, 20);
    if (!routing_id.empty()) socket_.set(zmq::sockopt::routing_id, routing_id);
    if (server) {
      socket_.set(zmq::sockopt::curve_serverkey, zmq::buffer(server->bytes));
      socket_.set(zmq::sockopt::curve_publickey, zmq::buffer(own.public_key.bytes));
      socket_.set(zmq::sockopt::curve_secretkey, zmq::buffer(own.secret_key.bytes));
    }
    CHECK(zmq_socket_monitor(socket_.handle(), "inproc://watch", ZMQ_EVENT_ALL) == 0);
    monitor_ = zmq::socket_t(context_, zmq::socket_type::pair);
    monitor_.set(zmq::sockopt::rcvtimeo, kPatienceMs);
    monitor_.connect("inproc://watch");
    socket_.connect(endpoint);
  }
  void Send(const Message& message) {
    socket_.send(zmq::buffer(EncodeMessage(message)), zmq::send_flags::none);
  }
  std::optional<Message> Receive() {
    socket_.set(zmq::sockopt::rcvtimeo, kPatienceMs);
    zmq::message_t frame;
    if (!socket_.recv(frame)) return std::nullopt;
    return *DecodeMessage(frame.to_string_view());
  }
  // The next end of a handshake; 0: none came.
  int NextHandshake() {
    zmq::message_t part, address;
    while (monitor_.recv(part) && monitor_.recv(address)) {
      std::uint16_t event = 0;
      std::memcpy(&event, part.data(), sizeof event);
      if (event & (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                   ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)) {
        return event;
      }
    }
    return 0;
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
};

class GuardedHub : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteKeyPair(folder_, server_));
    Allow("gpu1", gpu1_.public_key);
  }
  void Allow(const std::string& host, const PublicKey& key) {
    const Status changed = ChangeAllowList(folder_, [&](std::string_view text) {
      return WithAllowedKey(text, AllowFileIn(folder_), {host, key});
    });
    ASSERT_TRUE(changed) << changed.error().message;
  }
  void Revoke(const std::string& host) {
    const Status changed = ChangeAllowList(folder_, [&](std::string_view text) {
      return WithoutHost(text, AllowFileIn(folder_), host);
    });
    ASSERT_TRUE(changed) << changed.error().message;
  }
  void Bind(const std::string& open = "") {
    auto hub = Hub::Bind(open, GuardedAddress{"tcp://127.0.0.1:*", folder_});
    ASSERT_TRUE(hub) << hub.error().message;
    hub_ = *std::move(hub);
    EXPECT_EQ(hub_->key(), server_.public_key);
  }
  std::string WhyNotBound(const std::string& endpoint = "tcp://127.0.0.1:*") {
    auto hub = Hub::Bind("", GuardedAddress{endpoint, folder_});
    return hub ? "bound" : hub.error().message;
  }
  Peer Come(const KeyPair& own) { return {hub_->guarded_endpoint(), server_.public_key, own}; }
  std::vector<Received> Collect(std::size_t count) {
    std::vector<Received> all;
    test::WaitFor(
        [&] {
          for (Received& one : hub_->Receive(100, 16)) all.push_back(std::move(one));
          return all.size() >= count;
        },
        kPatienceMs);
    return all;
  }
  // What the hub has to say, once it has something.
  std::string Notes() {
    std::string text;
    test::WaitFor(
        [&] {
          for (const std::string& note : hub_->TakeNotes()) text += note + "\n";
          return !text.empty();
        },
        kPatienceMs);
    return text;
  }

  const test::TempFolder parent_;
  const std::string folder_ = parent_ / "keys";
  const KeyPair server_ = NewPair();
  const KeyPair gpu1_ = NewPair();
  std::unique_ptr<Hub> hub_;
};

TEST_F(GuardedHub, CarriesMessagesBothWaysUnderTheNameOfTheKey) {
  Bind();
  Peer peer = Come(gpu1_);
  peer.Send(Ready{3});
  const std::vector<Received> received = Collect(1);
  ASSERT_EQ(received.size(), 1U);
  ASSERT_TRUE(received[0].message);
  EXPECT_EQ(*received[0].message, Message(Ready{3}));
  EXPECT_EQ(received[0].host, "gpu1");
  hub_->Send({received[0].peer, Drain{}});
  EXPECT_EQ(peer.Receive(), Message(Drain{}));
  EXPECT_THAT(hub_->TakeNotes(), IsEmpty());
}

TEST_F(GuardedHub, AKeyThatIsNotAllowedIsToldSoAndNothingOfItArrives) {
  Bind();
  const KeyPair stranger = NewPair();
  Peer peer = Come(stranger);
  peer.Send(Ready{1});
  EXPECT_EQ(peer.NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  EXPECT_THAT(Notes(), AllOf(HasSubstr("key " + stranger.public_key.Hex() + " from 127.0.0.1"),
                             HasSubstr("pawl keys allow NAME " + stranger.public_key.Hex()),
                             HasSubstr("--folder " + folder_)));
  Peer honest = Come(gpu1_);
  honest.Send(Ready{2});
  const std::vector<Received> received = Collect(1);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(*received[0].message, Message(Ready{2}));
}

// Of the protocol, or without a word: libzmq's to choose.
TEST_F(GuardedHub, WithoutTheServersKeyNoHandshakeEndsWellAndNothingArrives) {
  Bind();
  const struct {
    const char* who;
    std::optional<PublicKey> server;
    KeyPair own;
  } cases[] = {{"no key at all", std::nullopt, {}},
               {"an allowed key, another server's", NewPair().public_key, gpu1_}};
  std::uint32_t sent = 0;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.who);
    Peer peer(hub_->guarded_endpoint(), one.server, one.own);
    peer.Send(Ready{++sent});
    const int handshake = peer.NextHandshake();
    EXPECT_TRUE(handshake &
                (ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL))
        << handshake;
    Peer honest = Come(gpu1_);
    honest.Send(Ready{++sent});
    const std::vector<Received> received = Collect(1);
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(*received[0].message, Message(Ready{sent}));
  }
}

TEST_F(GuardedHub, AChangeOfTheListHoldsFromTheNextHandshakeOn) {
  Bind();
  const KeyPair gpu2 = NewPair();
  EXPECT_EQ(Come(gpu2).NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  Allow("gpu2", gpu2.public_key);
  EXPECT_EQ(Come(gpu2).NextHandshake(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  Revoke("gpu2");
  EXPECT_EQ(Come(gpu2).NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  EXPECT_EQ(Come(gpu1_).NextHandshake(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST_F(GuardedHub, NobodyGetsInWhileTheListCannotBeReadAndComesAgainByItself) {
  Bind();
  const std::string list = test::ReadFile(AllowFileIn(folder_));
  const struct {
    const char* what;
    std::optional<std::string> text;
    const char* note;
  } cases[] = {{"a bad line", list + "nonsense\n", "allowed:2:"},
               {"half a line", list.substr(0, list.size() / 2), "allowed:1:"},
               {"emptied, to be written", "", "empty or ends in the middle of a line"},
               {"no file", std::nullopt, ""}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    std::filesystem::remove(AllowFileIn(folder_));
    if (one.text) test::WriteFile(AllowFileIn(folder_), *one.text);
    Peer peer = Come(gpu1_);
    peer.Send(Ready{1});
    EXPECT_EQ(peer.NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    if (*one.note != '\0') {  // else said already, a minute ago at most
      EXPECT_THAT(Notes(), AllOf(HasSubstr("nobody new gets in"), HasSubstr(one.note)));
    }
    ASSERT_TRUE(
        ChangeAllowList(folder_, [&](std::string_view) -> Result<std::string> { return list; }));
    ASSERT_EQ(Collect(1).size(), 1U) << "it has not been told to stay away";
  }
}

TEST_F(GuardedHub, WithoutAListAStrangerIsToldThatHeIsNotAllowed) {
  std::filesystem::remove(AllowFileIn(folder_));
  Bind();
  EXPECT_EQ(Come(gpu1_).NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
  EXPECT_THAT(Notes(), HasSubstr("pawl keys allow NAME " + gpu1_.public_key.Hex()));
}

TEST_F(GuardedHub, NobodyNewGetsInOnceTheGateHasGone) {
  Bind();
  Peer before = Come(gpu1_);
  before.Send(Ready{1});
  ASSERT_EQ(Collect(1).size(), 1U);
  hub_->CloseGate();
  Peer after = Come(gpu1_);
  after.Send(Ready{2});
  EXPECT_EQ(after.NextHandshake(), ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  before.Send(Ready{3});
  const std::vector<Received> received = Collect(1);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(*received[0].message, Message(Ready{3}));
}

TEST_F(GuardedHub, NoHostSpeaksForAConnectionOfAnother) {
  Bind("ipc://" + (parent_ / "socket"));
  const KeyPair gpu2 = NewPair();
  Allow("gpu2", gpu2.public_key);
  std::vector<std::string> peers;
  for (const KeyPair& own : {gpu1_, gpu2}) {
    // The router takes a name again once it has noticed that its holder has gone; until then it is
    // deaf to who comes with it.
    std::vector<Received> received;
    ASSERT_TRUE(test::WaitFor(
        [&] {
          Peer peer(hub_->guarded_endpoint(), server_.public_key, own, "the same");
          peer.Send(Ready{1});
          EXPECT_EQ(peer.NextHandshake(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
          received = hub_->Receive(1'000, 16);
          return !received.empty();
        },
        kPatienceMs));
    peers.push_back(received[0].peer);
  }
  Peer local(hub_->endpoint(), std::nullopt, KeyPair{}, "gpu1/the same");
  local.Send(Ready{1});
  std::vector<Received> received;
  ASSERT_TRUE(test::WaitFor(
      [&] {
        received = hub_->Receive(100, 16);
        return !received.empty() && received.back().host.empty();
      },
      kPatienceMs));
  peers.push_back(received.back().peer);
  EXPECT_NE(peers[0], peers[1]);
  EXPECT_NE(peers[0], peers[2]);
}

TEST_F(GuardedHub, ItsOwnWorkersNeedNoKeys) {
  Bind("ipc://" + (parent_ / "socket"));
  Peer local(hub_->endpoint(), std::nullopt, KeyPair{});
  local.Send(Ready{1});
  Peer remote = Come(gpu1_);
  remote.Send(Ready{1});
  std::vector<std::string> hosts;
  for (const Received& one : Collect(2)) {
    hosts.push_back(one.host);
    hub_->Send({one.peer, Drain{}});
  }
  EXPECT_THAT(hosts, testing::UnorderedElementsAre("", "gpu1"));
  EXPECT_EQ(local.Receive(), Message(Drain{}));
  EXPECT_EQ(remote.Receive(), Message(Drain{}));
}

TEST_F(GuardedHub, BindsAnyAddressOfTcpAndNothingElse) {
  EXPECT_EQ(WhyNotBound("tcp://0.0.0.0:0"), "bound");
  EXPECT_THAT(WhyNotBound("ipc://" + (parent_ / "socket")), HasSubstr("tcp:// only"));
  EXPECT_THAT(WhyNotBound("tcp://0.0.0.0:99999"), HasSubstr("65535"));
}

TEST_F(GuardedHub, IsNotBoundWithKeysThatWillNotDo) {
  const std::string secret = folder_ + "/secret.key";
  ASSERT_EQ(::chmod(secret.c_str(), 0644), 0);
  EXPECT_THAT(WhyNotBound(), AllOf(HasSubstr(secret), HasSubstr("chmod 600")));
  ASSERT_EQ(::chmod(secret.c_str(), 0600), 0);
  test::WriteFile(secret, "secret 12\n");
  EXPECT_THAT(WhyNotBound(), HasSubstr("secret.key:1:"));
  ASSERT_EQ(::unlink(secret.c_str()), 0);
  EXPECT_THAT(WhyNotBound(), HasSubstr("pawl keys new"));
  ASSERT_TRUE(WriteKeyPair(folder_, server_));
  test::WriteFile(AllowFileIn(folder_), "gpu1\n");
  EXPECT_THAT(WhyNotBound(), HasSubstr("allowed:1:"));
}

// What the self-test is for: each way to have the guard down is found out.
TEST_F(GuardedHub, TheSelfTestFindsAGuardThatIsDown) {
  const auto why = [](const Status& status) { return status ? "good" : status.error().message; };
  zmq::context_t context;
  const auto serve = [&](bool curve) {
    zmq::socket_t socket(context, zmq::socket_type::router);
    socket.set(zmq::sockopt::linger, 0);
    if (curve) {
      socket.set(zmq::sockopt::curve_server, true);
      socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(server_.secret_key.bytes));
      socket.set(zmq::sockopt::zap_domain, std::string("pawl"));
    }
    socket.bind("tcp://127.0.0.1:*");
    return socket;
  };
  zmq::socket_t no_gate = serve(true);
  EXPECT_THAT(why(TryToGetIn(no_gate.get(zmq::sockopt::last_endpoint), server_.public_key)),
              HasSubstr("a key that is not allowed got in"));
  auto gate = Gate::Open(context, folder_);
  ASSERT_TRUE(gate);
  EXPECT_EQ(why(TryToGetIn(no_gate.get(zmq::sockopt::last_endpoint), server_.public_key)), "good");
  zmq::socket_t no_curve = serve(false);
  EXPECT_THAT(why(TryToGetIn(no_curve.get(zmq::sockopt::last_endpoint), server_.public_key)),
              HasSubstr("was not told so"));
}

}  // namespace
}  // namespace pawl
