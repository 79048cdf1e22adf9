// What kernels may not reach: each tries, on the candidate's account, and aborts when it gets
// through.

#include "worker/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/support/process.h"
#include "tests/worker/runner_child.h"
#include "worker/sandbox/process_limit.h"

namespace pawl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kSmallMemory = 1ull << 30;

bool IsOn(const std::string& line, const std::string& part) {
  const std::string on = "," + line.substr(3, line.find(' ') - 3) + ",";
  return on.find("," + part + ",") != std::string::npos;
}

class Sandboxed : public RunnerChild {
 protected:
  Sandboxed() { sandbox_ = SandboxMode::kAuto; }

  // Runs the candidate inside; the part that stops it is not there on some systems, which then is
  // said, by the sandbox too.
  Story RunInside(const std::unique_ptr<Child>& child, const std::string& part,
                  const Order& order) {
    const Story story = Run(*child, order);
    EXPECT_EQ(said_of_sandbox_.size(), 1u);
    if (said_of_sandbox_.empty()) return story;
    part_is_on_ = IsOn(said_of_sandbox_[0], part);
    if (!part_is_on_) {
      EXPECT_THAT(said_of_sandbox_[0], HasSubstr(" missing=\""));
      EXPECT_THAT(said_of_sandbox_[0], HasSubstr(part + " ("));
      std::printf("this system has no part %s: %s\n", part.c_str(), said_of_sandbox_[0].c_str());
    }
    return story;
  }

  void ExpectStopped(const std::string& part, const Order& order) {
    const std::unique_ptr<Child> child = Make("host", kSmallMemory);
    const Story story = RunInside(child, part, order);
    if (part_is_on_) {
      ASSERT_TRUE(story.done) << story.Text();
      EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
    }
    ExpectUnharmed(*child);
  }

  // The same kernel without a sandbox gets through: it does try.
  void ExpectThrough(const Order& order) {
    sandbox_ = SandboxMode::kOff;
    const std::unique_ptr<Child> child = Make("host", kSmallMemory);
    const Story story = Run(*child, order);
    EXPECT_THAT(story.exit, StartsWith("signal 6 (aborted)")) << story.Text();
    sandbox_ = SandboxMode::kAuto;
  }

  bool part_is_on_ = false;
};

class Listener {
 public:
  Listener(int family, const sockaddr* address, socklen_t size)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    CHECK(::bind(fd_, address, size) == 0 && ::listen(fd_, 8) == 0, std::strerror(errno));
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(fd_); }
  bool WasReached() const {
    const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer >= 0) ::close(peer);
    return peer >= 0;
  }
  int Port() const {
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    CHECK(::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    return ntohs(bound.sin_port);
  }

 private:
  const int fd_;
};

TEST_F(Sandboxed, ReachesNoListenerOnTheNetworkOrAtAFile) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Listener network(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
  sockaddr_un file{};
  file.sun_family = AF_UNIX;
  const std::string path = folder_.path() + "/listener";
  std::strncpy(file.sun_path, path.c_str(), sizeof file.sun_path - 1);
  const Listener at_file(AF_UNIX, reinterpret_cast<const sockaddr*>(&file), sizeof file);
  const Order order = FaultOrder("reaches_the_network", 1000,
                                 "#define PORT " + std::to_string(network.Port()) +
                                     "\n#define SOCKET_FILE \"" + path + "\"\n");
  ExpectStopped("calls", order);
  if (part_is_on_) {
    EXPECT_FALSE(network.WasReached());
    EXPECT_FALSE(at_file.WasReached());
  }
  ExpectThrough(order);
  EXPECT_TRUE(network.WasReached());
}

TEST_F(Sandboxed, WritesOnlyToItsOwnDisksAndDoesNotSeeWhatIsHidden) {
  const char* const home = std::getenv("HOME");
  const std::string places[] = {
      folder_ / "ledger.new", folder_ / "spool.new", CacheOfAllTests() + "/../sandbox_test.new",
      std::string(home == nullptr ? "/root" : home) + "/pawl-sandbox-test.new"};
  const auto remove = [&places] {
    for (const std::string& place : places) std::filesystem::remove(place);
  };
  remove();
  std::string files;
  for (const std::string& place : places) files += "\"" + place + "\",";
  const std::string secret = folder_ / "keys/secret.key";
  test::WriteFile(secret, "secret");
  hidden_ = {folder_ / "keys"};
  const Order order = FaultOrder(
      "writes_elsewhere", 1000, "#define FILES " + files + "\n#define HIDDEN \"" + secret + "\"\n");
  ExpectStopped("files", order);
  if (part_is_on_) {
    for (const std::string& place : places) EXPECT_FALSE(std::filesystem::exists(place)) << place;
    EXPECT_FALSE(std::filesystem::exists("/tmp/mine"));
  }
  ExpectThrough(order);
  EXPECT_TRUE(std::filesystem::exists(places[0]));
  remove();
}

TEST_F(Sandboxed, IsNobodyElseAndDoesNotReachTheWorker) {
  const Order order = FaultOrder("grasps_for_the_worker", 1000,
                                 "#define WORKER " + std::to_string(::getpid()) + "\n");
  ExpectStopped("numbers", order);
  ExpectThrough(order);
}

TEST_F(Sandboxed, StopsAKernelThatForksForEver) {
  const std::unique_ptr<Child> child = Make("host", kSmallMemory);
  ASSERT_TRUE(child->Start());
  ASSERT_EQ(said_of_sandbox_.size(), 1u);
  // Without a limit on processes it would take this machine with it.
  if (!IsOn(said_of_sandbox_[0], "processes")) {
    EXPECT_THAT(said_of_sandbox_[0], HasSubstr("processes ("));
    GTEST_SKIP() << said_of_sandbox_[0];
  }
  const Story story = RunInside(child, "processes", FaultOrder("forks_for_ever"));
  ASSERT_TRUE(story.done) << story.Text();
  EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
  EXPECT_FALSE(child->Running()) << "it is worn";
  EXPECT_EQ(CountOf(folder_.path()), 0);
  ExpectUnharmed(*child);
}

TEST_F(Sandboxed, ReplacesARunnerWhoseDiskAKernelHasFilled) {
  const std::unique_ptr<Child> child = Make("host", kSmallMemory);
  ASSERT_TRUE(child->Start());
  if (!IsOn(said_of_sandbox_.at(0), "files")) {
    EXPECT_THAT(said_of_sandbox_[0], HasSubstr("files ("));
    GTEST_SKIP() << said_of_sandbox_[0];
  }
  const Story story = RunInside(child, "files", FaultOrder("fills_its_disk"));
  ASSERT_TRUE(story.done) << story.Text();
  EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
  EXPECT_FALSE(child->Running());
  EXPECT_FALSE(std::filesystem::exists("/tmp/filled"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/scratch"));
  ExpectUnharmed(*child);
  EXPECT_TRUE(child->Running()) << "worn by itself";
}

TEST_F(Sandboxed, LeavesNoCgroupBehindWhenItsRunnerEndsByItself) {
  const std::string own = PidsCgroup(test::ReadFile("/proc/self/cgroup"), "/sys/fs/cgroup");
  const auto left = [&own] {
    std::set<std::string> names;
    std::error_code failed;
    for (std::filesystem::directory_iterator it(own, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->path().filename().string().rfind("pawl-runner-", 0) == 0) names.insert(it->path());
    }
    return names;
  };
  const std::unique_ptr<Child> child = Make();
  const Story story = Run(*child, FaultOrder("segfault"));
  EXPECT_THAT(story.exit, StartsWith("signal 11"));
  for (const std::string& name : left()) {
    const std::string keeper = name.substr(name.rfind('-') + 1);
    EXPECT_TRUE(std::filesystem::exists("/proc/" + keeper)) << name;
  }
}

TEST_F(Sandboxed, SaysOnceWhichPartsAreThere) {
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  child->Kill();
  ASSERT_TRUE(child->Start());
  ASSERT_EQ(said_of_sandbox_.size(), 1u);
  EXPECT_THAT(said_of_sandbox_[0], StartsWith("on="));
  EXPECT_THAT(said_of_sandbox_[0], Not(HasSubstr("\n")));
}

TEST_F(Sandboxed, WorksWithoutNamespacesAndSaysWhyThereAreNone) {
  const std::unique_ptr<Child> child = Make("caged:host");
  const Story story = Run(*child, FaultOrder("slow"));
  ASSERT_TRUE(story.done) << story.Text();
  EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
  ASSERT_EQ(said_of_sandbox_.size(), 1u);
  EXPECT_THAT(said_of_sandbox_[0], AllOf(StartsWith("on=privileges,calls missing=\""),
                                         HasSubstr("network (unshare: Operation not permitted)"),
                                         HasSubstr("files ("), HasSubstr("processes (")));
  EXPECT_THAT(Run(*child, FaultOrder("segfault")).exit, StartsWith("signal 11"));
}

TEST_F(Sandboxed, DoesNotWorkWherePartsAreMissingAndAllAreRequired) {
  sandbox_ = SandboxMode::kRequire;
  const Result<DeviceFacts> facts = Make("caged:host")->Start();
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message,
              AllOf(StartsWith("the sandbox is not whole: numbers ("),
                    HasSubstr("; --sandbox auto works without"), Not(HasSubstr("\n"))));
  EXPECT_TRUE(said_of_sandbox_.empty());
}

TEST_F(Sandboxed, IsNotThereWhenItIsOff) {
  sandbox_ = SandboxMode::kOff;
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  EXPECT_TRUE(said_of_sandbox_.empty());
  EXPECT_EQ(CountOf(folder_.path()), 1);
}

TEST(SandboxReport, SaysInOneLineWhatHoldsAndWhatDoesNot) {
  SandboxReport report;
  EXPECT_EQ(report.Line(), "on=nothing");
  report.parts = {{"network", ""}, {"files", "unshare: no"}, {"calls", ""}, {"proc", "why"}};
  EXPECT_EQ(report.Line(), "on=network,calls missing=\"files (unshare: no); proc (why)\"");
  EXPECT_FALSE(report.Whole());
  report.parts = {{"network", ""}};
  EXPECT_TRUE(report.Whole());
}

TEST(ProcessLimit, FindsTheCgroupThatCountsProcesses) {
  EXPECT_EQ(PidsCgroup("9:name=systemd:/a\n8:cpu,pids:/b/c\n0::/d\n", "/cg"), "/cg/pids/b/c");
  EXPECT_EQ(PidsCgroup("8:pids:/\n", "/cg"), "/cg/pids");
  EXPECT_EQ(PidsCgroup("8:pids:/../elsewhere\n", "/cg"), "");
  EXPECT_EQ(PidsCgroup("0::/d\n", "/cg"), "") << "not mounted there";
  test::TempFolder second;
  test::WriteFile(second / "cgroup.controllers", "pids");
  EXPECT_EQ(PidsCgroup("0::/user.slice\n", second.path()), second / "user.slice");
}

TEST(ProcessLimit, TakesAwayWhatKilledOnesHaveLeft) {
  const std::string own = PidsCgroup(test::ReadFile("/proc/self/cgroup"), "/sys/fs/cgroup");
  const std::string left = own + "/pawl-runner-2000000000";  // past the largest number
  std::error_code failed;
  if (own.empty() || !std::filesystem::create_directory(left, failed)) {
    const ProcessLimit limit("/sys/fs/cgroup", 10);
    EXPECT_FALSE(limit.Problem().empty());
    GTEST_SKIP() << limit.Problem();
  }
  const ProcessLimit limit("/sys/fs/cgroup", 10);
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace pawl
