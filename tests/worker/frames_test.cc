#include "worker/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "worker/runner.h"

namespace pawl {
namespace {

using ::testing::StartsWith;

TEST(Frames, ComeOutWholeHoweverTheBytesArrive) {
  std::string bytes;
  AppendFrame(bytes, 'A', "first");
  AppendFrame(bytes, 'B', "");
  AppendFrame(bytes, 'C', std::string(3'000, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.Feed(std::string_view(bytes).substr(at, step));
      for (;;) {
        Result<std::optional<Frame>> frame = reader.Next();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        frames.push_back(**frame);
      }
    }
    EXPECT_EQ(frames,
              (std::vector<Frame>{{'A', "first"}, {'B', ""}, {'C', std::string(3'000, 'x')}}));
  }
}

TEST(Frames, CarryAnExecutionAndWithoutSamplesWhereTheseDoNotFit) {
  Execution execution;
  execution.report.track = TrackId(1);
  execution.report.generation = Generation(1);
  execution.report.attempt = Attempt(1);
  execution.report.outcome = {OutcomeKind::kDeviceFault, std::nullopt, "as good as any"};
  execution.samples = {{1, false, ArmRole::kCandidate, 2, 2'400, {1, 2.5}}};
  execution.notes = {"event=not_quiet arm=candidate round=2"};
  Result<Execution> read = DecodeExecution(EncodeExecution(execution));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->notes, execution.notes);
  ASSERT_EQ(read->samples.size(), 1u);
  EXPECT_EQ(read->samples[0].us, execution.samples[0].us);

  execution.samples[0].us.resize(kMaxFrameBytes / sizeof(double) / 2);
  const std::string bytes = EncodeExecution(execution);
  EXPECT_LE(bytes.size(), kMaxFrameBytes);
  read = DecodeExecution(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->samples.empty());
  ASSERT_EQ(read->notes.size(), 2u);
  EXPECT_THAT(read->notes[1], StartsWith("event=samples_not_kept bytes="));

  execution.samples.clear();
  execution.notes.assign(100, std::string(1'000, '\n'));
  read = DecodeExecution(EncodeExecution(execution));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->notes.size(), 16u);
  EXPECT_EQ(read->notes[0], std::string(256, '?'));
}

TEST(RunnerArguments, AreReadBackAsTheyWereWritten) {
  RunnerCommand command;
  command.fd = 3;
  command.device = "replay:a b.json?noise=1";
  command.options.scratch = "/s";
  command.options.cache = "/c";
  command.options.cache_bytes = 12;
  command.options.cores = {0, 5};
  command.options.memory_bytes = 34;
  command.sandbox = SandboxMode::kRequire;
  command.hidden = {"/k", "/a key"};
  std::vector<std::string> arguments = RunnerArguments(command);
  std::vector<const char*> argv = {"pawl-worker"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const auto parsed = ParseRunnerArguments(static_cast<int>(argv.size()), argv.data());
  ASSERT_TRUE(parsed.has_value());
  ASSERT_TRUE(*parsed) << parsed->error().message;
  EXPECT_EQ((*parsed)->device, command.device);
  EXPECT_EQ((*parsed)->options.cores, command.options.cores);
  EXPECT_EQ((*parsed)->options.cache_bytes, 12u);
  EXPECT_EQ((*parsed)->options.memory_bytes, 34u);
  EXPECT_EQ((*parsed)->sandbox, SandboxMode::kRequire);
  EXPECT_EQ((*parsed)->hidden, command.hidden);

  const char* const other[] = {"pawl-worker", "--connect", "ipc://x"};
  EXPECT_FALSE(ParseRunnerArguments(3, other).has_value());
  const char* const wrong[] = {"pawl-worker", "--runner", "three"};
  ASSERT_TRUE(ParseRunnerArguments(3, wrong).has_value());
  EXPECT_FALSE(ParseRunnerArguments(3, wrong)->has_value());
}

}  // namespace
}  // namespace pawl
