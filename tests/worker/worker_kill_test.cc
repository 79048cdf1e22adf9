// pawl-worker killed with SIGKILL at any moment: nothing of what it started is left, wherever it
// was just then and wherever its kernels went.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "schema/codec.h"
#include "tests/support/process.h"
#include "tests/worker/faults.h"

namespace pawl {
namespace {

constexpr int kKills = 50;
constexpr int kPatienceMs = 20'000;

// The processes with this in the environment that they were started with.
std::vector<pid_t> Marked(const std::string& mark) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name[0] < '1' || name[0] > '9') continue;
    const std::string environment = test::ReadFile(entry.path() / "environ");
    if (environment.find(mark) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

class KilledWorker : public ::testing::Test {
 protected:
  KilledWorker() {
    router_ = zmq::socket_t(context_, zmq::socket_type::router);
    router_.set(zmq::sockopt::linger, 0);
    router_.bind(endpoint_);
  }

  // Answers a worker for so long, or until it reports: WELCOME to its HELLO, the order to its
  // READY.
  void Serve(int ms, const Order& order) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      router_.set(zmq::sockopt::rcvtimeo, static_cast<int>(left.count()));
      zmq::message_t peer, frame;
      if (!router_.recv(peer)) return;
      if (!router_.recv(frame)) return;
      const Result<Message> message = DecodeMessage(frame.to_string_view());
      if (!message) continue;
      if (std::holds_alternative<Hello>(*message)) {
        Welcome welcome;
        welcome.epoch = Epoch(1);
        welcome.ledger = LedgerId("0123456789abcdef0123456789abcdef");
        welcome.beat_ms = 1'000;
        welcome.lost_ms = 20'000;
        Say(peer, Message(welcome));
      } else if (std::holds_alternative<Ready>(*message)) {
        Grant grant;
        grant.order = order;
        grant.order.attempt.value = ++attempts_;
        grant.epoch = Epoch(1);
        grant.lease_ms = 60'000;
        Say(peer, Message(grant));
        ++grants_;
      } else if (std::holds_alternative<ReportMessage>(*message)) {
        ++reports_;
        return;
      }
    }
  }

  test::TempFolder folder_;
  const std::string endpoint_ = "ipc://" + folder_.path() + "/socket";
  zmq::context_t context_;
  zmq::socket_t router_;
  std::uint32_t attempts_ = 0;
  int grants_ = 0;
  int reports_ = 0;

 private:
  void Say(const zmq::message_t& peer, const Message& message) {
    const std::string frame = EncodeMessage(message);
    static_cast<void>(router_.send(zmq::buffer(peer.to_string_view()), zmq::send_flags::sndmore));
    static_cast<void>(router_.send(zmq::buffer(frame), zmq::send_flags::dontwait));
  }
};

TEST_F(KilledWorker, LeavesNoProcessBehindWheneverItIsKilled) {
  const std::string mark = "PAWL_TEST_MARK=" + folder_.path();
  const auto start = [&] {
    return std::make_unique<test::Process>(
        std::vector<std::string>{test::BinFolder() + "/pawl-worker", "--connect", endpoint_,
                                 "--device", "host", "--state", folder_ / "state"},
        folder_ / "log", std::vector<std::string>{mark});
  };
  // What is compiled and measured once is in the cache for those that follow.
  {
    const auto first = start();
    Serve(kPatienceMs, FaultOrder("leaves_a_session"));
    ASSERT_EQ(reports_, 1) << test::ReadFile(folder_ / "log");
  }
  std::uint64_t random = 88172645463325252ULL;  // xorshift64
  for (int kill = 0; kill < kKills; ++kill) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const auto worker = start();
    Serve(static_cast<int>(random % 300), FaultOrder("leaves_a_session"));
    // To it alone, not to its group.
    worker->Signal(SIGKILL);
    ASSERT_EQ(worker->Wait(kPatienceMs), 128 + SIGKILL);
    std::vector<pid_t> left;
    const bool gone = test::WaitFor(
        [&] {
          left = Marked(mark);
          return left.empty();
        },
        kPatienceMs);
    ASSERT_TRUE(gone) << "after kill " << kill << ": " << left.size() << " left, the first "
                      << test::CommandLineOf(left[0]) << "; the worker said "
                      << test::ReadFile(folder_ / "log");
  }
  EXPECT_GT(grants_, 5) << test::ReadFile(folder_ / "log");
}

}  // namespace
}  // namespace pawl
