// A program that is spoken to in lines, as a real process: it is heard to the end, its end is
// noticed, and nothing of it outlives whoever started it.

#include "coordinator/bench/line_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/support/process.h"

namespace pawl {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPatienceMs = 60'000;

// Killed, and not yet reaped by whoever adopted it.
bool IsGone(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  const std::string status = test::ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return status.empty() || status.find(") Z ") != std::string::npos;
}

class LineProcessTest : public testing::Test {
 protected:
  std::unique_ptr<LineProcess> Start(const std::string& script) const {
    LineCommand command;
    command.arguments = {"sh", "-c", script};
    command.log = folder_ / "log";
    auto process = LineProcess::Start(command);
    EXPECT_TRUE(process) << process.error().message;
    return *std::move(process);
  }
  static Result<std::string> Ask(LineProcess& process, std::int64_t deadline_ms = kPatienceMs) {
    return process.Ask("go\n", deadline_ms, [] { return true; });
  }
  // Of a script that answers the first request with them.
  static std::pair<pid_t, pid_t> Pids(LineProcess& process) {
    const auto answer = Ask(process);
    EXPECT_TRUE(answer) << answer.error().message;
    std::pair<pid_t, pid_t> pids;
    EXPECT_EQ(std::sscanf(answer->c_str(), "%d %d", &pids.first, &pids.second), 2) << *answer;
    return pids;
  }
  static void ExpectGone(const std::pair<pid_t, pid_t>& pids) {
    EXPECT_TRUE(test::WaitFor([&] { return IsGone(pids.first); }, kPatienceMs)) << pids.first;
    EXPECT_TRUE(test::WaitFor([&] { return IsGone(pids.second); }, kPatienceMs)) << pids.second;
  }

  const test::TempFolder folder_;
};

constexpr char kAnswersThenHangs[] =
    "read line; sleep 100000 & echo $$ $!; read line; sleep 100000";

TEST_F(LineProcessTest, ThatHangsIsKilledWithWhatItHasStarted) {
  auto process = Start(kAnswersThenHangs);
  const auto pids = Pids(*process);
  const auto answer = Ask(*process, 200);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "gave no answer within 0.2 s and was killed");
  process.reset();
  ExpectGone(pids);
}

TEST_F(LineProcessTest, ThatEndsIsNoticedThoughItsChildHoldsItsOutput) {
  auto process =
      Start("read line; sleep 100000 & echo $$ $!; read line; echo last words >&2; exit 7");
  const auto pids = Pids(*process);
  const auto answer = Ask(*process, 10 * kPatienceMs);  // not the deadline's doing
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "ended with exit code 7 in place of an answer; it last said: last words");
  process.reset();
  ExpectGone(pids);
}

TEST_F(LineProcessTest, ThatAnswersAndEndsIsHeard) {
  auto process = Start("read line; sleep 100000 & echo done; exit 0");
  const auto answer = Ask(*process);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "done");
  EXPECT_THAT(Ask(*process).error().message, HasSubstr("ended with exit code 0"));
}

// In a process that is killed in the middle of it, as `pawl bench` may be.
TEST_F(LineProcessTest, NothingOfItOutlivesWhoStartedIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t starter = ::fork();
  ASSERT_GE(starter, 0);
  if (starter == 0) {
    auto first = Start(kAnswersThenHangs);
    auto second = Start(kAnswersThenHangs);
    const std::pair<pid_t, pid_t> pids[] = {Pids(*first), Pids(*second)};
    static_cast<void>(!::write(ends[1], pids, sizeof pids));
    static_cast<void>(Ask(*second).has_value());
    ::_exit(1);
  }
  std::pair<pid_t, pid_t> pids[2];
  const bool told = ::read(ends[0], pids, sizeof pids) == static_cast<ssize_t>(sizeof pids);
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_TRUE(told);
  for (const auto& one : pids) ExpectGone(one);
}

}  // namespace
}  // namespace pawl
