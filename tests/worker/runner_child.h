#pragma once
// A runner child under test, over orders with planted faults: what came of an order, and how it
// left the child.

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/worker/faults.h"
#include "worker/child.h"
#include "worker/process_child.h"

namespace pawl {

inline constexpr int kPatienceMs = 60'000;

// What came of an order, up to its end.
struct Story {
  std::vector<ChildStage> stages;
  std::optional<Execution> done;
  std::string error;
  std::string exit;
  bool timed_out = false;

  std::string Text() const {
    std::string text = std::to_string(stages.size()) + " stages";
    if (!stages.empty()) {
      text += ", last " + std::string(Name(stages.back().stage)) + " of " +
              std::string(Name(stages.back().arm));
    }
    if (done)
      text +=
          "; " + std::string(Name(done->report.outcome.kind)) + " " + done->report.outcome.detail;
    return text + "; error '" + error + "'; exit '" + exit + "'";
  }
};

class RunnerChild : public ::testing::Test {
 protected:
  std::unique_ptr<Child> Make(const std::string& device = "host", std::uint64_t memory_bytes = 0,
                              const std::string& cache = CacheOfAllTests()) {
    ProcessChildOptions options;
    options.program = test::BinFolder() + "/runner_for_tests";
    options.device = device;
    options.device_options.scratch = folder_.path() + "/scratch";
    options.device_options.cache = cache;
    options.device_options.memory_bytes = memory_bytes;
    options.sandbox = sandbox_;
    options.hidden = hidden_;
    options.on_sandbox = [this](const std::string& line) { said_of_sandbox_.push_back(line); };
    return MakeProcessChild(options);
  }

  // Until the order has ended, `until_stage` has come, or patience has.
  static Story Follow(Child& child, std::optional<Stage> until_stage = std::nullopt,
                      ArmRole until_arm = ArmRole::kCandidate) {
    Story story;
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      while (std::optional<ChildEvent> event = child.Next()) {
        if (const auto* stage = std::get_if<ChildStage>(&*event)) {
          story.stages.push_back(*stage);
          if (until_stage && stage->stage == *until_stage && stage->arm == until_arm) return story;
        }
        if (auto* done = std::get_if<ChildDone>(&*event)) story.done = std::move(done->execution);
        if (const auto* error = std::get_if<ChildError>(&*event)) story.error = error->message;
        if (const auto* exit = std::get_if<ChildExit>(&*event)) story.exit = exit->how;
        if (story.done || !story.error.empty() || !story.exit.empty()) return story;
      }
      const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - start);
      const int left_ms = kPatienceMs - static_cast<int>(spent.count());
      if (left_ms <= 0) {
        story.timed_out = true;
        return story;
      }
      pollfd ready{child.fd(), POLLIN, 0};
      ::poll(&ready, 1, left_ms);
    }
  }

  static Story Run(Child& child, const Order& order) {
    const Result<DeviceFacts> facts = child.Start();
    EXPECT_TRUE(facts) << facts.error().message;
    if (!facts) return {};
    const Status sent = child.Send(order);
    EXPECT_TRUE(sent);
    return Follow(child);
  }

  static void ExpectUnharmed(Child& child) {
    const Story story = Run(child, FaultOrder("slow"));
    ASSERT_TRUE(story.done) << story.Text();
    EXPECT_EQ(story.done->report.outcome.kind, OutcomeKind::kMeasured) << story.Text();
  }

  // The outcome as reported, then that the next order of the same child is unharmed.
  Report Reported(const std::string& fault) {
    const std::unique_ptr<Child> child = Make();
    const Story story = Run(*child, FaultOrder(fault));
    EXPECT_TRUE(story.done) << story.Text();
    if (!story.done) return {};
    EXPECT_TRUE(child->Running());
    ExpectUnharmed(*child);
    return story.done->report;
  }

  // How the runner ended on the candidate's account, then that the next order, in a new one, is
  // unharmed.
  Story Ended(const std::string& fault, std::uint64_t memory_bytes = 0) {
    const std::unique_ptr<Child> child = Make("host", memory_bytes);
    const Story story = Run(*child, FaultOrder(fault));
    EXPECT_FALSE(story.exit.empty()) << story.Text();
    EXPECT_FALSE(child->Running());
    EXPECT_EQ(child->fd(), -1);
    EXPECT_FALSE(story.stages.empty());
    if (!story.stages.empty()) {
      EXPECT_EQ(story.stages.back().arm, ArmRole::kCandidate) << story.Text();
      EXPECT_EQ(story.stages.back().stage, Stage::kCheck) << story.Text();
    }
    ExpectUnharmed(*child);
    return story;
  }

  test::TempFolder folder_;
  SandboxMode sandbox_ = SandboxMode::kOff;
  std::vector<std::string> hidden_;
  std::vector<std::string> said_of_sandbox_;
};

// A forked process has its runner's command line, and that this test's folder.
inline int CountOf(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string text;
    std::getline(file, text);
    if (text.find(folder) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace pawl
