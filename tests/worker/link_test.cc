#include "worker/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include <zmq.hpp>

#include "schema/codec.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A coordinator's side with nothing behind it.
class Router {
 public:
  explicit Router(const std::string& endpoint) : socket_(context_, zmq::socket_type::router) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.bind(endpoint);
  }
  std::string Endpoint() const { return socket_.get(zmq::sockopt::last_endpoint); }

  // The next message; keeps whom it is from.
  Message Receive() {
    zmq::message_t frame;
    CHECK(socket_.recv(peer_).has_value());
    CHECK(socket_.recv(frame).has_value());
    Result<Message> message = DecodeMessage(frame.to_string_view());
    CHECK(message.has_value(), message.error().message);
    return std::move(*message);
  }
  void Reply(const std::string& bytes) {
    CHECK(socket_.send(zmq::buffer(peer_.to_string_view()), zmq::send_flags::sndmore).has_value());
    CHECK(socket_.send(zmq::buffer(bytes)).has_value());
  }
  void Reply(const Message& message) { Reply(EncodeMessage(message)); }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  zmq::message_t peer_;
};

class LinkTest : public ::testing::Test {
 protected:
  std::unique_ptr<Link> Connect(const std::string& endpoint) {
    Result<std::unique_ptr<Link>> link = ConnectLink(endpoint);
    CHECK(link.has_value(), link.error().message);
    return std::move(*link);
  }

  // Waits on the link's descriptor, as the agent's loop does, until `done`.
  static bool WaitFor(Link& link, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      if (link.Ready()) continue;
      pollfd wait{link.fd(), POLLIN, 0};
      poll(&wait, 1, 1000);
    }
    return true;
  }
  static bool WaitConnected(Link& link, std::uint64_t connections) {
    return WaitFor(link, [&] { return link.Connections() >= connections; });
  }
  static std::vector<Result<Message>> WaitReceive(Link& link) {
    std::vector<Result<Message>> messages;
    WaitFor(link, [&] {
      messages = link.Receive();
      return !messages.empty();
    });
    return messages;
  }

  const test::TempFolder folder_;
  const std::string endpoint_ = "ipc://" + folder_.path() + "/socket";
};

TEST_F(LinkTest, CarriesMessagesBothWays) {
  for (const std::string& bind : {endpoint_, std::string("tcp://127.0.0.1:*")}) {
    Router router(bind);
    const auto link = Connect(router.Endpoint());
    ASSERT_TRUE(WaitConnected(*link, 1));
    const Message ready = Ready{1};
    EXPECT_TRUE(link->Send(ready));
    EXPECT_EQ(router.Receive(), ready);

    Grant grant;
    grant.order.operation = "matmul";
    grant.order.track = TrackId(1);
    grant.order.generation = Generation(1);
    grant.order.attempt = Attempt(1);
    grant.order.timing.iterations = 3;
    router.Reply(BeatAck{});
    const auto messages = WaitReceive(*link);
    ASSERT_EQ(messages.size(), 1u);
    ASSERT_TRUE(messages[0]) << messages[0].error().message;
    EXPECT_EQ(*messages[0], Message(BeatAck{}));
  }
}

TEST_F(LinkTest, DropsWhatIsSentWhileNobodyListens) {
  const auto link = Connect(endpoint_);
  EXPECT_FALSE(link->Send(Ready{1}));
  EXPECT_EQ(link->Connections(), 0u);
  Router router(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  ASSERT_TRUE(link->Send(Bye{"second"}));
  EXPECT_EQ(router.Receive(), Message(Bye{"second"}));  // and not the first
}

// However closely a send follows those that found nobody.
TEST_F(LinkTest, DropsNothingOnceAConnectionWasCounted) {
  for (int run = 0; run < 5; ++run) {
    const auto link = Connect(endpoint_);
    Router router(endpoint_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
    while (link->Connections() == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      (void)link->Send(Ready{1});
    }
    ASSERT_TRUE(link->Send(Bye{"heard"}));
    Message heard = router.Receive();
    while (heard == Message(Ready{1})) heard = router.Receive();
    EXPECT_EQ(heard, Message(Bye{"heard"}));
  }
}

TEST_F(LinkTest, CountsAConnectionToACoordinatorThatWasStartedAgain) {
  auto first = std::make_unique<Router>(endpoint_);
  const auto link = Connect(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  first.reset();
  Router second(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 2));
  ASSERT_TRUE(link->Send(Ready{1}));
  EXPECT_EQ(second.Receive(), Message(Ready{1}));
}

TEST_F(LinkTest, MakesAConnectionAnewWhenAsked) {
  Router router(endpoint_);
  const auto link = Connect(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  link->Reconnect();
  ASSERT_TRUE(WaitConnected(*link, 2));
  ASSERT_TRUE(link->Send(Ready{1}));
  EXPECT_EQ(router.Receive(), Message(Ready{1}));
}

TEST_F(LinkTest, TellsDamageFromAnotherVersion) {
  Router router(endpoint_);
  const auto link = Connect(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  ASSERT_TRUE(link->Send(Ready{1}));
  router.Receive();

  router.Reply(std::string("GET / HTTP/1.1"));
  auto messages = WaitReceive(*link);
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_FALSE(messages[0]);
  EXPECT_EQ(messages[0].error().advice, Advice::kReject);

  // The major number follows the magic.
  std::string frame = EncodeMessage(Drain{});
  ASSERT_EQ(frame.substr(0, 4), "PAWL");
  frame[4] = static_cast<char>(kProtocolMajor + 1);
  ASSERT_EQ(PeekVersion(frame)->major, kProtocolMajor + 1u);
  router.Reply(frame);
  messages = WaitReceive(*link);
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_FALSE(messages[0]);
  EXPECT_EQ(messages[0].error().advice, Advice::kHalt) << messages[0].error().message;
}

TEST_F(LinkTest, DeliversTheLastWordBeforeItGoes) {
  Router router(endpoint_);
  auto link = Connect(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  ASSERT_TRUE(link->Send(Bye{"drained"}));
  link.reset();
  EXPECT_EQ(router.Receive(), Message(Bye{"drained"}));
}

TEST_F(LinkTest, DoesNotBlockOnAPeerThatDoesNotRead) {
  Router router(endpoint_);
  const auto link = Connect(endpoint_);
  ASSERT_TRUE(WaitConnected(*link, 1));
  // Larger than what the two sides' socket buffers and queues hold.
  const Message large = Bye{std::string(1000, 'x')};
  bool refused = false;
  for (int i = 0; i < 100'000 && !refused; ++i) refused = !link->Send(large);
  EXPECT_TRUE(refused);
}

TEST(LinkAddress, IsRefusedUnlessItIsALocalPathOrLoopback) {
  const std::pair<const char*, const char*> cases[] = {
      {"tcp://10.0.0.1:5577", "not a loopback address"},
      {"tcp://*:5577", "not a loopback address"},
      {"tcp://0.0.0.0:5577", "not a loopback address"},
      {"tcp://127.0.0.1.evil.example:5577", "not a loopback address"},
      {"tcp://127.0.0.256:5577", "not a loopback address"},
      {"tcp://localhost", "no port"},
      {"tcp://127.0.0.1:", "not between 1 and 65535"},
      {"tcp://127.0.0.1:0", "not between 1 and 65535"},
      {"tcp://127.0.0.1:65536", "not between 1 and 65535"},
      {"tcp://127.0.0.1:*", "not a number"},
      {"ipc://", "no path"},
      {"ipc://@abstract", "open to every user"},
      {"udp://127.0.0.1:5577", "neither ipc:// nor tcp://"},
      {"", "neither ipc:// nor tcp://"},
  };
  for (const auto& [endpoint, why] : cases) {
    const auto link = ConnectLink(endpoint);
    ASSERT_FALSE(link) << endpoint;
    EXPECT_THAT(link.error().message,
                AllOf(HasSubstr(endpoint), HasSubstr(why), HasSubstr("ipc:///")));
    EXPECT_EQ(link.error().message.find('\n'), std::string::npos);
  }
  const auto link = ConnectLink("ipc:///" + std::string(200, 'a'));
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message, HasSubstr("201 bytes long, at most 107 fit"));
}

TEST(LinkAddress, TakesEveryWayToWriteLoopback) {
  for (const char* endpoint :
       {"tcp://127.0.0.1:5577", "tcp://127.9.8.7:1", "tcp://localhost:65535", "tcp://[::1]:5577"}) {
    const auto link = ConnectLink(endpoint);
    EXPECT_TRUE(link) << endpoint << ": " << (link ? "" : link.error().message);
  }
}

}  // namespace
}  // namespace pawl
