#include "coordinator/service/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <zmq.hpp>

#include "schema/codec.h"
#include "tests/support/process.h"

namespace pawl {
namespace {

// A worker's side of the socket, raw: what a stranger could send.
class Peer {
 public:
  explicit Peer(const std::string& endpoint) : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect(endpoint);
  }
  void Send(const std::string& frame) { socket_.send(zmq::buffer(frame), zmq::send_flags::none); }
  std::string Receive() {
    socket_.set(zmq::sockopt::rcvtimeo, 10'000);
    zmq::message_t frame;
    return socket_.recv(frame) ? frame.to_string() : std::string();
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

// The first `count` messages that arrive.
std::vector<Received> Collect(Hub& hub, std::size_t count) {
  std::vector<Received> all;
  for (int i = 0; i < 100 && all.size() < count; ++i) {
    for (Received& one : hub.Receive(100, 16)) all.push_back(std::move(one));
  }
  return all;
}

TEST(Hub, CarriesMessagesBothWays) {
  test::TempFolder folder;
  auto hub = Hub::Bind("ipc://" + (folder / "socket"));
  ASSERT_TRUE(hub) << hub.error().message;
  Peer peer((*hub)->endpoint());
  peer.Send(EncodeMessage(Ready{3}));
  const std::vector<Received> received = Collect(**hub, 1);
  ASSERT_EQ(received.size(), 1U);
  ASSERT_TRUE(received[0].message) << received[0].message.error().message;
  EXPECT_EQ(*received[0].message, Message(Ready{3}));
  (*hub)->Send({received[0].peer, Drain{}});
  EXPECT_EQ(*DecodeMessage(peer.Receive()), Message(Drain{}));
}

TEST(Hub, ASocketFileIsItsUsersOnly) {
  test::TempFolder folder;
  auto hub = Hub::Bind("ipc://" + (folder / "socket"));
  ASSERT_TRUE(hub) << hub.error().message;
  struct stat status;
  ASSERT_EQ(::stat((folder / "socket").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0077, 0U);
}

TEST(Hub, GarbageIsAnErrorOfItsPeerAndOthersAreServed) {
  auto hub = Hub::Bind("tcp://127.0.0.1:*");
  ASSERT_TRUE(hub) << hub.error().message;
  Peer stranger((*hub)->endpoint());
  stranger.Send("GET / HTTP/1.0\r\n\r\n");
  stranger.Send("");
  std::string other = EncodeMessage(Ready{1});
  other[4] = static_cast<char>(kProtocolMajor + 1);
  stranger.Send(other);
  Peer honest((*hub)->endpoint());
  honest.Send(EncodeMessage(Ready{1}));
  int bad = 0, other_version = 0, good = 0;
  for (const Received& one : Collect(**hub, 4)) {
    if (one.message) {
      ++good;
    } else {
      ++bad;
      other_version += one.other_version ? 1 : 0;
    }
  }
  EXPECT_EQ(good, 1);
  EXPECT_EQ(bad, 3);
  EXPECT_EQ(other_version, 1);
}

TEST(Hub, SendingToAPeerThatIsGoneLosesTheMessageAndNothingElse) {
  auto hub = Hub::Bind("tcp://127.0.0.1:*");
  ASSERT_TRUE(hub) << hub.error().message;
  (*hub)->Send({"nobody", Drain{}});
  Peer peer((*hub)->endpoint());
  peer.Send(EncodeMessage(Ready{1}));
  EXPECT_EQ(Collect(**hub, 1).size(), 1U);
}

TEST(Hub, BindsNothingButThisMachineWithoutKeys) {
  for (const char* endpoint :
       {"tcp://0.0.0.0:5577", "tcp://*:5577", "tcp://10.0.0.1:5577", "tcp://eth0:5577",
        "udp://127.0.0.1:5577", "tcp://127.evil.example:5577", "tcp://127.0.0.1:99999",
        "ipc://@name"}) {
    auto hub = Hub::Bind(endpoint);
    ASSERT_FALSE(hub) << endpoint;
    EXPECT_THAT(hub.error().message, testing::HasSubstr(endpoint));
  }
}

TEST(Hub, APathThatIsTooLongIsRefusedWithItsLength) {
  auto hub = Hub::Bind("ipc:///tmp/" + std::string(200, 'x'));
  ASSERT_FALSE(hub);
  EXPECT_THAT(hub.error().message, testing::HasSubstr("205 bytes long"));
}

}  // namespace
}  // namespace pawl
