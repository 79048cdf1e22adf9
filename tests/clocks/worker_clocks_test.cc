// Whole workers over the stand-ins of the driver, NVRTC and NVML: what is pinned for them, and that
// nothing stays pinned, or runs, once they are gone.

#include <gmock/gmock.h>

#include "tests/clocks/worker_world.h"

namespace pawl::test {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerClocks, ArePinnedAndResetWhenTheWorkerIsToldToEnd) {
  const auto worker = Start(Pin());
  ASSERT_TRUE(ComesTo([&] { return Lease() && Lease()->reads_mhz != 0; }));
  EXPECT_EQ(Locked(kGpu0), 1'200u);
  ASSERT_TRUE(
      ComesTo([&] { return ReadFile(WorkerLog()).find("event=device") != std::string::npos; }));
  EXPECT_THAT(ReadFile(WorkerLog()),
              HasSubstr("event=clocks_pinned gpu=" + std::string(kGpu0) + " mhz=1200\n"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(kPatienceMs), 0);
  // Its end is their reset: nothing needs to be waited for.
  EXPECT_EQ(Locked(kGpu0), 0u);
  EXPECT_EQ(Lease(), std::nullopt);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(WorkerClocks, AreResetWhereverTheWorkerIsKilled) {
  std::size_t moments = 0;
  {
    const auto worker = Start(Pin());
    ASSERT_TRUE(ComesTo([&] {
      moments = Calls().size();
      return ReadFile(WorkerLog()).find("event=device") != std::string::npos;
    }));
    worker->Signal(SIGKILL);
    worker->Wait(kPatienceMs);
    ASSERT_TRUE(NothingIsLeft());
  }
  ASSERT_GE(moments, 5u);
  for (std::size_t moment = 1; moment <= moments; ++moment) {
    SCOPED_TRACE("killed once NVML has written " + std::to_string(moment) + " lines");
    WriteFile(Log(), "");
    const auto worker = Start(Pin());
    ASSERT_TRUE(ComesTo([&] { return Calls().size() >= moment; }));
    worker->Signal(SIGKILL);
    ASSERT_EQ(worker->Wait(kPatienceMs), 128 + SIGKILL);
    ASSERT_TRUE(NothingIsLeft());
  }
}

TEST_F(WorkerClocks, ArePinnedAgainWhereTheGuardianIsKilled) {
  const auto worker = Start(Pin());
  ASSERT_TRUE(ComesTo(
      [&] { return ReadFile(WorkerLog()).find("event=clocks_pinned") != std::string::npos; }));
  const pid_t first = Lease()->pid;
  ::kill(first, SIGKILL);
  ASSERT_TRUE(ComesTo([&] { return Lease() && Lease()->pid != first && Lease()->reads_mhz != 0; }));
  EXPECT_EQ(Locked(kGpu0), 1'200u);
  EXPECT_THAT(ReadFile(WorkerLog()),
              HasSubstr("event=clocks_lost why=\"the clocks' guardian was killed\""));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(kPatienceMs), 0);
  EXPECT_TRUE(NothingIsLeft());
}

// As where a machine's memory runs out: what ExecStopPost is for.
TEST_F(WorkerClocks, AreResetByHandWhereWorkerAndGuardianAreKilled) {
  const auto worker = Start(Pin());
  ASSERT_TRUE(ComesTo([&] { return Lease() && Lease()->reads_mhz != 0; }));
  worker->Signal(SIGSTOP);
  ::kill(Lease()->pid, SIGKILL);
  worker->Signal(SIGKILL);
  worker->Wait(kPatienceMs);
  EXPECT_EQ(Locked(kGpu0), 1'200u);
  ASSERT_TRUE(ComesTo([&] { return Processes().empty(); }));
  const Finished reset = ResetClocks();
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(WorkerClocks, OfTwoGpusAreEachTheirWorkers) {
  const auto first = Start(Pin("cuda:0"), "", 0);
  const auto second = Start(Pin("cuda:1"), "", 1);
  ASSERT_TRUE(
      ComesTo([&] { return Lease(kGpu0) && Lease(kGpu1) && Lease(kGpu1)->reads_mhz != 0; }));
  first->Signal(SIGKILL);
  first->Wait(kPatienceMs);
  ASSERT_TRUE(ComesFree(kGpu0));
  EXPECT_EQ(Locked(kGpu1), 1'200u);
  ASSERT_TRUE(Lease(kGpu1));
  second->Signal(SIGTERM);
  EXPECT_EQ(second->Wait(kPatienceMs), 0);
  EXPECT_TRUE(NothingIsLeft(kGpu1));
}

TEST_F(WorkerClocks, AreObservedWherePinningIsRefusedAndThatIsSaidOnce) {
  const auto worker = Start(Pin(), "deny=4");
  ASSERT_TRUE(
      ComesTo([&] { return ReadFile(WorkerLog()).find("event=device") != std::string::npos; }));
  EXPECT_EQ(Times(ReadFile(WorkerLog()), "event=clocks_observed"), 1u) << ReadFile(WorkerLog());
  EXPECT_THAT(ReadFile(WorkerLog()), HasSubstr("root is needed"));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(kPatienceMs), 0);
  EXPECT_EQ(Count("nvmlDeviceReset"), 0u);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(WorkerClocks, EndTheWorkerThatMustHaveThemPinned) {
  const auto worker = Start({"--device", "cuda", "--clocks", "require-pinned"}, "deny=4");
  EXPECT_EQ(worker->Wait(kPatienceMs), 3);
  EXPECT_THAT(ReadFile(WorkerLog()),
              HasSubstr("pawl-worker: the clocks must be pinned (clocks = require-pinned): NVML: "
                        "nvmlDeviceSetGpuLockedClocks to the base clock: as told; root is "
                        "needed\n"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(WorkerClocks, AreNotTouchedByAWorkerThatIsToldNothing) {
  const auto worker = Start({"--device", "cuda"});
  ASSERT_TRUE(
      ComesTo([&] { return ReadFile(WorkerLog()).find("event=device") != std::string::npos; }));
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(kPatienceMs), 0);
  EXPECT_EQ(Count("nvmlDeviceSet") + Count("nvmlDeviceReset"), 0u);
  EXPECT_GT(Count("nvmlInit"), 0u);
}

TEST_F(WorkerClocks, AreOptionsThatAreChecked) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--clocks", "lock"}, "--clocks"},
      {{"--clock-mhz", "fast"}, "--clock-mhz \"fast\": wanted \"base\" or MHz, 1 to 20000"},
      {{"--clock-mhz", "0"}, "--clock-mhz \"0\""},
      {{"--memory-clock-mhz", "20001"}, "--memory-clock-mhz"},
      {{"--clock-guardian"}, "--connect"},
  };
  for (const auto& [options, line] : cases) {
    WriteFile(WorkerLog(), "");
    const auto worker = Start(options);
    EXPECT_EQ(worker->Wait(kPatienceMs), 2) << line;
    EXPECT_EQ(Times(ReadFile(WorkerLog()), "\n"), 1u) << ReadFile(WorkerLog());
    if (options.size() > 1) {
      EXPECT_THAT(ReadFile(WorkerLog()), HasSubstr(line));
    }
  }
}

}  // namespace
}  // namespace pawl::test
