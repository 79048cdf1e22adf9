// A worker's link at a guarded address: it comes through, or says why not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "coordinator/service/hub.h"
#include "coordinator/service/hub_gate.h"
#include "schema/key_files.h"
#include "tests/support/process.h"
#include "worker/link.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kPatienceMs = 60'000;

class GuardedLink : public testing::Test {
 protected:
  void SetUp() override {
    server_ = *NewKeyPair();
    own_ = *NewKeyPair();
    ASSERT_TRUE(WriteKeyPair(folder_, server_));
    ASSERT_TRUE(ChangeAllowList(folder_, [&](std::string_view text) {
      return WithAllowedKey(text, AllowFileIn(folder_), {"gpu1", own_.public_key});
    }));
    auto hub =
        Hub::Bind("ipc://" + (parent_ / "socket"), GuardedAddress{"tcp://127.0.0.1:*", folder_});
    ASSERT_TRUE(hub) << hub.error().message;
    hub_ = *std::move(hub);
  }

  std::unique_ptr<Link> Connect(const std::string& endpoint, const std::optional<LinkKeys>& keys) {
    auto link = ConnectLink(endpoint, keys);
    CHECK(link, link.error().message);
    return *std::move(link);
  }
  // As the agent's loop does. nullopt: a connection came about, or neither.
  static std::optional<Error> TroubleOf(Link& link) {
    std::optional<Error> trouble;
    test::WaitFor(
        [&] {
          if (!link.Ready()) {
            pollfd wait{link.fd(), POLLIN, 0};
            poll(&wait, 1, 1'000);
          }
          const bool connected = link.Connections() > 0;
          trouble = link.Trouble();
          return connected || trouble;
        },
        kPatienceMs);
    return trouble;
  }

  const test::TempFolder parent_;
  const std::string folder_ = parent_ / "keys";
  KeyPair server_, own_;
  std::unique_ptr<Hub> hub_;
};

TEST_F(GuardedLink, ComesThroughWithBothKeys) {
  const auto link =
      Connect(hub_->guarded_endpoint(), LinkKeys{server_.public_key, own_.secret_key});
  EXPECT_EQ(TroubleOf(*link), std::nullopt);
  ASSERT_EQ(link->Connections(), 1U);
  ASSERT_TRUE(link->Send(Ready{1}));
  std::vector<Received> received;
  ASSERT_TRUE(test::WaitFor(
      [&] {
        received = hub_->Receive(100, 16);
        return !received.empty();
      },
      kPatienceMs));
  EXPECT_EQ(received[0].host, "gpu1");
}

TEST_F(GuardedLink, SaysThatItsKeyIsNotAllowed) {
  const auto link =
      Connect(hub_->guarded_endpoint(), LinkKeys{server_.public_key, NewKeyPair()->secret_key});
  const auto trouble = TroubleOf(*link);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->advice, Advice::kHalt);
  EXPECT_THAT(trouble->message,
              AllOf(HasSubstr(hub_->guarded_endpoint()), HasSubstr("not allow this host's key")));
}

TEST_F(GuardedLink, SaysThatTheCoordinatorDoesNotAnswerWithThatKeyAndGoesOn) {
  const PublicKey wrong = NewKeyPair()->public_key;
  const auto link = Connect(hub_->guarded_endpoint(), LinkKeys{wrong, own_.secret_key});
  const auto trouble = TroubleOf(*link);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->advice, Advice::kRetry);
  EXPECT_THAT(trouble->message, AllOf(HasSubstr(hub_->guarded_endpoint()),
                                      HasSubstr("does not answer with key " + wrong.Hex())));
  EXPECT_EQ(link->Trouble(), std::nullopt) << "said once";
}

// Whichever side notices first: the other mechanism is named, or the broken handshakes are counted.
TEST_F(GuardedLink, SaysThatOneSideHasKeysAndTheOtherHasNone) {
  const auto keyless = Connect(hub_->guarded_endpoint(), std::nullopt);
  const auto wanted = TroubleOf(*keyless);
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->advice, Advice::kHalt);
  EXPECT_THAT(wanted->message, AllOf(HasSubstr("wants a key"), HasSubstr("--server-key")));

  auto open = Hub::Bind("tcp://127.0.0.1:*");
  ASSERT_TRUE(open);
  const auto keyed = Connect((*open)->endpoint(), LinkKeys{server_.public_key, own_.secret_key});
  const auto unwanted = TroubleOf(*keyed);
  ASSERT_TRUE(unwanted);
  EXPECT_THAT(unwanted->message,
              testing::AnyOf(HasSubstr("takes no keys"), HasSubstr("does not answer with key")));
}

TEST_F(GuardedLink, GoesToAnyAddressOfTcpWithKeysOnly) {
  const LinkKeys keys{server_.public_key, own_.secret_key};
  EXPECT_TRUE(ConnectLink("tcp://192.0.2.1:5577", keys));
  EXPECT_FALSE(ConnectLink("tcp://192.0.2.1:5577"));
  EXPECT_FALSE(ConnectLink(hub_->endpoint(), keys)) << "ipc is its user's only, without keys";
}

}  // namespace
}  // namespace pawl
