#include "worker/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/worker/runner_child.h"
#include "worker/frames.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(RunnerChild, GivesTheDevicesFactsAtItsStart) {
  const std::unique_ptr<Child> child = Make();
  EXPECT_FALSE(child->Running());
  EXPECT_EQ(child->fd(), -1);
  const Result<DeviceFacts> facts = child->Start();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(child->Running());
  EXPECT_EQ(facts->kind, "host");
  EXPECT_THAT(facts->model, HasSubstr(" core"));
  EXPECT_THAT(facts->toolchain, HasSubstr("-O3"));
  EXPECT_GT(facts->peak_gflops, 0);
  EXPECT_GT(facts->peak_gbytes_per_s, 0);
  child->Kill();
  EXPECT_FALSE(child->Running());
  EXPECT_EQ(child->Next(), std::nullopt);
}

TEST_F(RunnerChild, MeasuresAllArmsAndSaysWhereItIs) {
  const std::unique_ptr<Child> child = Make();
  const Order order = FaultOrder("slow");
  const Story story = Run(*child, order);
  ASSERT_TRUE(story.done) << story.Text();
  const Report& report = story.done->report;
  EXPECT_EQ(report.outcome, Outcome{}) << story.Text();
  EXPECT_EQ(report.track, order.track);
  EXPECT_EQ(report.generation, order.generation);
  EXPECT_EQ(report.attempt, order.attempt);
  EXPECT_FALSE(report.order.IsZero());
  EXPECT_EQ(report.arms,
            (std::vector<ArmRole>{ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent}));
  ASSERT_EQ(report.builds.size(), 3u);
  EXPECT_EQ(report.builds[0].object, report.builds[2].object);
  EXPECT_NE(report.builds[0].object, report.builds[1].object);
  ASSERT_EQ(report.checks.size(), 3u);
  // Two timed sets and the hidden one, then the last outputs of two visits.
  for (const CheckFacts& check : report.checks) {
    EXPECT_TRUE(check.passed);
    EXPECT_EQ(check.wrong, 0u);
    EXPECT_GE(check.elements, 5'000u);
    EXPECT_LT(check.max_abs_error, 1e-5);
  }
  ASSERT_EQ(report.rounds.size(), 2u);
  ASSERT_EQ(report.rounds[1].visits.size(), 3u);
  EXPECT_EQ(report.rounds[1].visits[0].arm, 1u);
  EXPECT_EQ(report.rounds[1].visits[0].input_set, 1u);
  EXPECT_GT(report.rounds[0].visits[0].median_us, 0);
  ASSERT_EQ(story.done->samples.size(), 6u);
  EXPECT_EQ(story.done->samples[0].us.size(), 5u);
  std::set<Stage> seen;
  for (const ChildStage& stage : story.stages) seen.insert(stage.stage);
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(RunnerChild, RejectsACandidateThatSegfaults) {
  const Story story = Ended("segfault");
  EXPECT_THAT(story.exit, StartsWith("signal 11 (segmentation fault)"));
}

TEST_F(RunnerChild, RejectsACandidateThatThrowsAndKeepsItsLastWords) {
  const Story story = Ended("throws");
  EXPECT_THAT(story.exit, StartsWith("signal 6 (aborted)"));
  EXPECT_THAT(story.exit, HasSubstr("not today"));
}

TEST_F(RunnerChild, RejectsACandidateThatExits) {
  EXPECT_THAT(Ended("exits").exit, StartsWith("exit code 0"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(RunnerChild, RejectsACandidateThatAllocatesForEver) {
  EXPECT_THAT(Ended("allocates", 512u << 20).exit, HasSubstr("bad_alloc"));
}
#endif

TEST_F(RunnerChild, SaysWhereACandidateHangsAndGoesOnAfterTheKill) {
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  ASSERT_TRUE(child->Send(FaultOrder("spin")));
  // Committed is checked first, then the candidate once, at which it stays.
  const Story story = Follow(*child, Stage::kCheck, ArmRole::kCandidate);
  ASSERT_FALSE(story.timed_out) << story.Text();
  ASSERT_FALSE(story.stages.empty());
  EXPECT_EQ(story.stages.back().arm, ArmRole::kCandidate);
  child->Kill();
  EXPECT_FALSE(child->Running());
  EXPECT_EQ(child->Next(), std::nullopt);
  ExpectUnharmed(*child);
}

TEST_F(RunnerChild, KillsWhatAKernelHasForked) {
  const auto in_session = [](int session) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      std::string text;
      if (!std::getline(file, text)) continue;
      char state = 0;
      int found = 0;
      if (std::sscanf(text.c_str() + text.rfind(')') + 1, " %c %*d %*d %d", &state, &found) == 2 &&
          found == session && state != 'Z') {
        ++count;
      }
    }
    return count;
  };
  // The session of the runner carries its process id: the newest child of ours.
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  int runner = 0;
  std::ifstream("/proc/self/task/" + std::to_string(::getpid()) + "/children") >> runner;
  ASSERT_GT(runner, 0);
  ASSERT_GE(in_session(runner), 1);  // more in a sandbox: worker/sandbox/sandbox.h
  ASSERT_TRUE(child->Send(FaultOrder("leaves_a_process")));
  const Story story = Follow(*child);
  EXPECT_THAT(story.exit, StartsWith("signal 11")) << story.Text();
  // SIGKILL has been sent to all of them; the last may still be on its way out.
  for (int look = 0; look < 1'000 && in_session(runner) > 0; ++look) ::poll(nullptr, 0, 5);
  EXPECT_EQ(in_session(runner), 0);
}

TEST_F(RunnerChild, KillsWhatHasLeftTheSessionAfterItsOrder) {
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  const int own = CountOf(folder_.path());  // the runner itself
  ASSERT_TRUE(child->Send(FaultOrder("leaves_a_session")));
  const Story begun = Follow(*child, Stage::kRun);
  ASSERT_FALSE(begun.stages.empty()) << begun.Text();
  // Both of its parents and both of its sessions are gone by and by, but it is there.
  for (int look = 0; look < 1'000 && CountOf(folder_.path()) != own + 1; ++look) ::poll(nullptr, 0, 5);
  ASSERT_EQ(CountOf(folder_.path()), own + 1);
  const Story story = Follow(*child);
  ASSERT_TRUE(story.done) << story.Text();
  EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
  EXPECT_TRUE(child->Running());
  EXPECT_EQ(CountOf(folder_.path()), own);
}

TEST_F(RunnerChild, KillsWhatHasLeftTheSessionWithTheRunner) {
  const std::unique_ptr<Child> child = Make();
  ASSERT_TRUE(child->Start());
  const int own = CountOf(folder_.path());
  ASSERT_TRUE(child->Send(FaultOrder("leaves_a_session")));
  const Story story = Follow(*child, Stage::kRun);
  ASSERT_FALSE(story.stages.empty()) << story.Text();
  // The runner and what left it; while that leaves, one between them comes and goes.
  int steady = 0;
  for (int look = 0; look < 1'000 && steady < 4; ++look) {
    steady = CountOf(folder_.path()) == own + 1 ? steady + 1 : 0;
    ::poll(nullptr, 0, 5);
  }
  ASSERT_EQ(steady, 4);
  child->Kill();
  EXPECT_EQ(CountOf(folder_.path()), 0);
}

TEST_F(RunnerChild, ReportsWrongValuesWithTheWorstElement) {
  const Report report = Reported("wrong_value");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(report.outcome.detail, StartsWith("out[500] is "));
  EXPECT_THAT(report.outcome.detail, HasSubstr("; 1 of 1000 wrong"));
  EXPECT_TRUE(report.rounds.empty());
  ASSERT_EQ(report.checks.size(), 2u);
  EXPECT_FALSE(report.checks[1].passed);
  EXPECT_EQ(report.checks[1].wrong, 1u);
  EXPECT_NEAR(report.checks[1].max_abs_error, 0.5, 1e-5);
}

TEST_F(RunnerChild, ReportsAWriteOnePastTheEnd) {
  const Report report = Reported("one_past_end");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(report.outcome.detail, "wrote past the end of out: element 1000 of 1000");
}

TEST_F(RunnerChild, ReportsAWriteBeforeTheStart) {
  const Report report = Reported("before_start");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(report.outcome.detail, "wrote before the start of out: element -1");
}

TEST_F(RunnerChild, ReportsAChangedInput) {
  const Report report = Reported("changes_input");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(report.outcome.detail, "changed its input in[999]");
}

TEST_F(RunnerChild, ReportsAnUnwrittenElement) {
  const Report report = Reported("unwritten");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_THAT(report.outcome.detail, StartsWith("out[999] was left unwritten"));
}

TEST_F(RunnerChild, ReportsAKernelThatReturnsItsPreviousOutput) {
  const Report report = Reported("previous_output");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
}

TEST_F(RunnerChild, ReportsAKernelThatSkipsWorkItHasSeen) {
  const Report report = Reported("skips_when_seen");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_THAT(report.outcome.detail, HasSubstr("called again, over wrong numbers"));
}

TEST_F(RunnerChild, ReportsTheCompilersLineForWhatDoesNotCompile) {
  const Report report = Reported("does_not_compile");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(report.outcome.detail, StartsWith("does_not_compile.cc:4:"));
  EXPECT_THAT(report.outcome.detail, HasSubstr("error: expected"));
  ASSERT_EQ(report.builds.size(), 2u);
  EXPECT_THAT(report.builds[1].log, HasSubstr("error: expected"));
}

TEST_F(RunnerChild, ReportsAWrongSignatureAsABuildFailure) {
  const Report report = Reported("wrong_signature");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_THAT(report.outcome.detail, StartsWith("wrong_signature.cc(launch):"));
  EXPECT_THAT(report.outcome.detail, HasSubstr("invalid conversion"));
}

TEST_F(RunnerChild, ReportsTheLoadersLineForAnUndefinedSymbol) {
  const Report report = Reported("undefined_symbol");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
  EXPECT_EQ(report.outcome.detail, "undefined symbol: nowhere_to_be_found");
}

TEST_F(RunnerChild, SwallowsWhatAKernelPrints) {
  ::testing::internal::CaptureStderr();
  const Report report = Reported("floods_the_terminal");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kMeasured);
}

TEST_F(RunnerChild, TakesAnOrderThatItCannotRunAsAnErrorAndLivesOn) {
  const std::unique_ptr<Child> child = Make();
  Order order = FaultOrder("slow");
  order.backend = "cuda";
  const Story story = Run(*child, order);
  EXPECT_THAT(story.error, HasSubstr("an order for the backend 'cuda'")) << story.Text();
  EXPECT_TRUE(child->Running());
  ExpectUnharmed(*child);
}

TEST_F(RunnerChild, BuildsAHintIntoTheCache) {
  const std::unique_ptr<Child> child = Make("host", 0, folder_.path() + "/cache");
  ASSERT_TRUE(child->Start());
  const Order order = FaultOrder("slow");
  Prepare hint;
  hint.backend = "host";
  hint.sources = {order.sources[2]};
  hint.launches = order.arms[1].launches;
  hint.buffers = order.buffers;
  hint.scalars = order.scalars;
  child->Hint(hint);
  const Story story = Run(*child, order);
  ASSERT_TRUE(story.done) << story.Text();
  ASSERT_EQ(story.done->report.builds.size(), 3u);
  EXPECT_FALSE(story.done->report.builds[0].cached) << story.Text();
  EXPECT_TRUE(story.done->report.builds[1].cached) << story.Text();
}

TEST_F(RunnerChild, SaysWhyADeviceCannotBeOpened) {
  const std::unique_ptr<Child> child = Make("abacus");
  const Result<DeviceFacts> facts = child->Start();
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message,
              ::testing::StartsWith("device 'abacus' is not known (have: host, "));
  EXPECT_FALSE(child->Running());
}

TEST_F(RunnerChild, SaysHowARunnerEndedBeforeItsDeviceWasOpen) {
  const std::unique_ptr<Child> child = Make("early");
  const Result<DeviceFacts> facts = child->Start();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message, "device early: the runner ended while opening it: exit code 9");
}

TEST_F(RunnerChild, GivesUpOnADeviceThatDoesNotOpen) {
  ProcessChildOptions options;
  options.program = test::BinFolder() + "/runner_for_tests";
  options.device = "mute";
  options.start_ms = 50;
  const std::unique_ptr<Child> child = MakeProcessChild(options);
  const Result<DeviceFacts> facts = child->Start();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message, "device mute: not open after 50 ms");
}

TEST_F(RunnerChild, SaysThatAProgramIsNotThere) {
  ProcessChildOptions options;
  options.program = "/no/such/program";
  const Result<DeviceFacts> facts = MakeProcessChild(options)->Start();
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, HasSubstr("cannot start /no/such/program: No such file"));
}

class LyingRunner : public RunnerChild, public ::testing::WithParamInterface<const char*> {};

TEST_P(LyingRunner, CountsAsAnExit) {
  const std::unique_ptr<Child> child = Make(GetParam());
  const Story story = Run(*child, FaultOrder("slow"));
  EXPECT_FALSE(story.exit.empty()) << story.Text();
  EXPECT_FALSE(child->Running());
}

INSTANTIATE_TEST_SUITE_P(Frames, LyingRunner,
                         ::testing::Values("liar:huge", "liar:tag", "liar:report"));

}  // namespace
}  // namespace pawl
