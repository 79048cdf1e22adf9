// The guardian's rules over clocks, time and processes that are the test's.

#include "worker/clocks/guardian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/clocks/fake_clocks.h"
#include "tests/support/places.h"
#include "worker/clocks/reset.h"

namespace pawl {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::int64_t kLostMs = 30'000;
constexpr char kGpu[] = "GPU-1";

class GuardianTest : public ::testing::Test {
 protected:
  GuardianTest() {
    machine_.alive[10] = 5;
    machine_.alive[11] = 6;
    CHECK(leases_.Make());
  }

  Guardian AGuardian(pid_t pid = 10) {
    return Guardian(clocks_, leases_, machine_.As(pid), timer_, kLostMs);
  }
  std::vector<Swept> Sweep() {
    return SweepLeases(
        leases_, machine_.As(99), [this]() -> Result<GpuClocks*> { return &clocks_; }, timer_);
  }
  // A lease as a guardian leaves it that was killed while it held the clock.
  ClockLease Leave(const std::string& gpu = kGpu, pid_t pid = 7) {
    ClockLease lease;
    lease.gpu = gpu;
    lease.boot = machine_.boot;
    lease.pid = pid;
    lease.pid_start = 3;
    lease.gpu_mhz = 1500;
    lease.reads_mhz = 1500;
    CHECK(leases_.Write(lease));
    clocks_.locked[{gpu, ClockDomain::kGpu}] = 1500;
    clocks_.before[gpu] = 1500;
    return lease;
  }
  std::vector<std::string> Gpus() const { return *leases_.Gpus(); }

  const test::TempFolder folder_;
  LeaseFolder leases_{folder_.path() + "/clocks"};
  FakeMachine machine_;
  FakeClocks clocks_;
  FakeTimer timer_;
};

TEST_F(GuardianTest, PinsAtTheBaseClockAndSaysWhatThatIs) {
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, kBaseClock, 0});
  ASSERT_TRUE(pinned) << pinned.error().message;
  EXPECT_EQ(*pinned, (Pinned{FakeClocks::kBaseMhz, 0, ""}));
  const ClockLease lease = **leases_.Read(kGpu);
  EXPECT_EQ(lease.boot, "boot-1");
  EXPECT_EQ(lease.pid, 10);
  EXPECT_EQ(lease.pid_start, 5u);
  EXPECT_EQ(lease.gpu_mhz, kBaseClock);
  EXPECT_EQ(lease.memory_mhz, std::nullopt);
  EXPECT_EQ(lease.reads_mhz, FakeClocks::kBaseMhz);
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.Take(),
              ElementsAre("find GPU-1", "lock gpu GPU-1 0", "find GPU-1", "reset gpu GPU-1"));
  EXPECT_THAT(Gpus(), IsEmpty());
  EXPECT_TRUE(guardian.Release());  // again: nothing
  EXPECT_THAT(clocks_.Take(), IsEmpty());
}

TEST_F(GuardianTest, HasEachSettingInALeaseOnDiskBeforeItIsSet) {
  std::vector<std::string> seen;
  clocks_.on_act = [&](const std::string& act) {
    const auto lease = leases_.Read(kGpu);
    if (lease && *lease) seen.push_back(act + ": " + Describe(**lease));
  };
  Guardian guardian = AGuardian();
  EXPECT_EQ(*guardian.Pin({kGpu, 1500, 9501}), (Pinned{1500, 9501, ""}));
  ASSERT_TRUE(guardian.Release());
  const std::string gpu = "the clock of GPU-1 at 1500 MHz";
  const std::string both = gpu + ", the memory clock of GPU-1 at 9501 MHz";
  EXPECT_THAT(seen, ElementsAre("lock gpu GPU-1 1500: " + gpu, "lock memory GPU-1 9501: " + both,
                                "find GPU-1: " + both, "reset gpu GPU-1: " + both,
                                "reset memory GPU-1: " + both));
}

TEST_F(GuardianTest, LeavesNothingWhereTheLockIsRefused) {
  clocks_.lock_fails = {{ClockDomain::kGpu, Error{"root is needed", Advice::kReject}}};
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, 1500, 9501});
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error(), (Error{"root is needed", Advice::kReject}));
  // What was not set is not reset either: it may be another's.
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1", "lock gpu GPU-1 1500"));
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, ResetsALockOfWhichNobodyKnowsWhetherItIsSet) {
  clocks_.lock_fails = {{ClockDomain::kGpu, Error{"timed out", Advice::kRetry}}};
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, 1500, 0});
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error(), (Error{"timed out", Advice::kReject}));
  EXPECT_THAT(clocks_.locked, IsEmpty());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, HoldsTheGpusClockWhereTheMemorysIsRefused) {
  clocks_.lock_fails = {{ClockDomain::kMemory, Error{"no such setting", Advice::kReject}}};
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, 1500, 9501});
  ASSERT_TRUE(pinned);
  EXPECT_EQ(*pinned, (Pinned{1500, 0, "the memory clock of GPU-1 is not pinned: no such setting"}));
  EXPECT_EQ((*leases_.Read(kGpu))->memory_mhz, std::nullopt);
  clocks_.Take();
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1", "reset gpu GPU-1"));
}

TEST_F(GuardianTest, PinsNothingWhoseClockCannotBeReadBack) {
  clocks_.readable = false;
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, kBaseClock, 0});
  ASSERT_FALSE(pinned);
  EXPECT_THAT(pinned.error().message, StartsWith("the clock of GPU-1 cannot be read back"));
  EXPECT_THAT(clocks_.locked, IsEmpty());
}

TEST_F(GuardianTest, SaysWhenTheClockReadsSomethingElseThanWhatWasAskedFor) {
  // A GPU that is too hot for it.
  class Hot final : public GpuClocks {
   public:
    explicit Hot(GpuClocks& clocks) : clocks_(clocks) {}
    Status Find(const std::string& gpu) override { return clocks_.Find(gpu); }
    Status Lock(const std::string& gpu, ClockDomain domain, std::uint32_t mhz) override {
      return clocks_.Lock(gpu, domain, mhz);
    }
    Status Reset(const std::string& gpu, ClockDomain domain) override {
      return clocks_.Reset(gpu, domain);
    }
    std::optional<std::uint32_t> ReadMhz(const std::string&) override { return 1'200; }

   private:
    GpuClocks& clocks_;
  } hot(clocks_);
  Guardian guardian(hot, leases_, machine_.As(10), timer_, kLostMs);
  EXPECT_EQ(*guardian.Pin({kGpu, 1500, 0}),
            (Pinned{1500, 0, "the clock of GPU-1 is held at 1500 MHz and reads 1200 MHz"}));
}

// Wherever a guardian dies, `--reset-clocks` or the next guardian finds what it has left, and
// nothing else.
TEST_F(GuardianTest, IsCleanedUpAfterWhereverItDies) {
  int last = 0;
  {
    Guardian guardian = AGuardian();
    ASSERT_TRUE(guardian.Pin({kGpu, 1500, 9501}));
    ASSERT_TRUE(guardian.Release());
    last = clocks_.calls;
  }
  ASSERT_GE(last, 14);
  for (int die_at = 1; die_at <= last; ++die_at) {
    for (const bool by_guardian : {false, true}) {
      SCOPED_TRACE("dies at call " + std::to_string(die_at) + ", cleaned up by " +
                   (by_guardian ? "the next guardian" : "--reset-clocks"));
      clocks_.calls = 0;
      clocks_.die_at = die_at;
      machine_.alive[20] = 1;
      bool died = false;
      {
        Guardian guardian = AGuardian(20);
        try {
          static_cast<void>(guardian.Pin({kGpu, 1500, 9501}).has_value());
          static_cast<void>(guardian.Release().has_value());
        } catch (const Killed&) {
          died = true;
        }
      }
      ASSERT_TRUE(died);
      clocks_.die_at = 0;
      machine_.alive.erase(20);
      const auto left = *leases_.Read(kGpu);
      const bool locked = !clocks_.locked.empty();
      EXPECT_TRUE(left || !locked) << "a lock without a lease";
      clocks_.Take();
      if (by_guardian) {
        Guardian next = AGuardian();
        const Result<Pinned> pinned = next.Pin({kGpu, 1200, 0});
        ASSERT_TRUE(pinned) << pinned.error().message;
        EXPECT_THAT(pinned->note, left ? EndsWith("left by process 20: reset") : EndsWith(""));
        ASSERT_TRUE(next.Release());
      } else {
        const std::vector<Swept> swept = Sweep();
        EXPECT_EQ(swept.size(), left ? 1u : 0u);
        for (const Swept& one : swept) EXPECT_TRUE(one.ok) << one.line;
        // What was never recorded is not touched.
        std::vector<std::string> touched;
        if (left) touched.push_back("find GPU-1");
        if (left) touched.push_back("reset gpu GPU-1");
        if (left && left->memory_mhz) touched.push_back("reset memory GPU-1");
        EXPECT_EQ(clocks_.Take(), touched);
      }
      EXPECT_THAT(clocks_.locked, IsEmpty());
      EXPECT_THAT(Gpus(), IsEmpty());
    }
  }
}

TEST_F(GuardianTest, ForgetsALeaseOfAnotherBootWithoutAReset) {
  ClockLease lease = Leave();
  lease.boot = "boot-0";
  ASSERT_TRUE(leases_.Write(lease));
  clocks_.locked = {{{kGpu, ClockDomain::kGpu}, 900}};  // somebody else's, since
  const std::vector<Swept> swept = Sweep();
  ASSERT_EQ(swept.size(), 1u);
  EXPECT_EQ(swept[0].line,
            "the clock of GPU-1 at 1500 MHz, left by process 7 before the machine was started: "
            "nothing to reset");
  EXPECT_TRUE(swept[0].ok);
  EXPECT_THAT(clocks_.Take(), IsEmpty());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, ResetsALeaseWhoseProcessNumberIsAnothersNow) {
  Leave(kGpu, 7);
  machine_.alive[7] = 1'000;
  const std::vector<Swept> swept = Sweep();
  ASSERT_EQ(swept.size(), 1u);
  EXPECT_EQ(swept[0].line, "the clock of GPU-1 at 1500 MHz, left by process 7: reset");
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1", "reset gpu GPU-1"));
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, LeavesWhatALiveGuardianHolds) {
  Guardian first = AGuardian(10);
  ASSERT_TRUE(first.Pin({kGpu, 1500, 0}));
  clocks_.Take();
  const std::vector<Swept> swept = Sweep();
  ASSERT_EQ(swept.size(), 1u);
  EXPECT_EQ(swept[0].line, "the clock of GPU-1 at 1500 MHz is held by process 10: left as it is");
  EXPECT_TRUE(swept[0].ok);
  const std::int64_t before = timer_.now;
  Guardian second = AGuardian(11);
  const Result<Pinned> pinned = second.Pin({kGpu, 1200, 0});
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().message,
            "the clocks of GPU-1 are held by process 10; one worker a GPU pins them");
  EXPECT_EQ(timer_.now - before, 15'000);
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1"));
  EXPECT_EQ((*leases_.Read(kGpu))->pid, 10);
}

// The lock file can be lost, as where a folder is swept of old files; the process still lives.
TEST_F(GuardianTest, LeavesWhatALiveGuardianHoldsWhoseLockFileIsGone) {
  Leave(kGpu, 10);
  ClockLease lease = **leases_.Read(kGpu);
  lease.pid_start = 5;
  ASSERT_TRUE(leases_.Write(lease));
  EXPECT_THAT(Sweep()[0].line, HasSubstr("is held by process 10: left as it is"));
  Guardian second = AGuardian(11);
  EXPECT_THAT(second.Pin({kGpu, 1200, 0}).error().message, HasSubstr("held by process 10"));
  EXPECT_EQ((clocks_.locked[{kGpu, ClockDomain::kGpu}]), 1500u);
}

TEST_F(GuardianTest, SweepsOtherGpusTooAndDisturbsNoneThatIsHeld) {
  Guardian neighbour = AGuardian(11);
  ASSERT_TRUE(neighbour.Pin({"GPU-2", 1300, 0}));
  Leave("GPU-3");
  Guardian guardian = AGuardian(10);
  EXPECT_EQ(*guardian.Pin({kGpu, 1500, 0}), (Pinned{1500, 0, ""}));
  EXPECT_THAT(Gpus(), ElementsAre("GPU-1", "GPU-2"));
  ASSERT_TRUE(guardian.Release());
  EXPECT_EQ((clocks_.locked), (std::map<std::pair<std::string, ClockDomain>, std::uint32_t>{
                                  {{"GPU-2", ClockDomain::kGpu}, 1300}}));
  ASSERT_TRUE(neighbour.Release());
  EXPECT_THAT(clocks_.locked, IsEmpty());
}

TEST_F(GuardianTest, TellsOfADamagedLeaseAndReplacesIt) {
  std::ofstream(leases_.path() + "/GPU-1.lease") << "nothing of the kind\n";
  EXPECT_FALSE(Sweep()[0].ok);
  EXPECT_THAT(clocks_.Take(), IsEmpty());
  Guardian guardian = AGuardian();
  const Result<Pinned> pinned = guardian.Pin({kGpu, 1500, 0});
  ASSERT_TRUE(pinned) << pinned.error().message;
  EXPECT_THAT(pinned->note, HasSubstr("GPU-1.lease: not a clock lease"));
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, LetsGoOnceItsWorkerIsSilent) {
  Guardian guardian = AGuardian();
  ASSERT_TRUE(guardian.Pin({kGpu, 1500, 0}));
  const std::int64_t pinned_ms = timer_.now;
  for (int i = 0; i < 100; ++i) {  // beats now and then: it holds
    timer_.now = guardian.NextTick();
    EXPECT_EQ(guardian.OnTick(), std::nullopt);
    if (i % 20 == 19) guardian.OnBeat();
  }
  EXPECT_GT(timer_.now - pinned_ms, 3 * kLostMs);
  const std::int64_t heard_ms = timer_.now;
  std::optional<std::string> why;
  while (!why && timer_.now < heard_ms + 2 * kLostMs) {
    timer_.now = guardian.NextTick();
    why = guardian.OnTick();
  }
  EXPECT_EQ(why, "its worker has said nothing for 30000 ms");
  EXPECT_EQ(timer_.now - heard_ms, kLostMs);
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.locked, IsEmpty());
}

TEST_F(GuardianTest, HoldsNoSilenceAgainstAWorkerThatItSleptThroughItself) {
  Guardian guardian = AGuardian();
  ASSERT_TRUE(guardian.Pin({kGpu, 1500, 0}));
  timer_.now += 10 * kLostMs;  // stopped, with the worker's beats unread
  EXPECT_EQ(guardian.OnTick(), std::nullopt);
  const std::int64_t woken_ms = timer_.now;
  std::optional<std::string> why;
  while (!why) {
    timer_.now = guardian.NextTick();
    why = guardian.OnTick();
  }
  EXPECT_EQ(timer_.now - woken_ms, kLostMs);
}

TEST_F(GuardianTest, NoticesThatSomebodyHasResetTheClockAndLeavesItToThem) {
  Guardian guardian = AGuardian();
  ASSERT_TRUE(guardian.Pin({kGpu, 1500, 9501}));
  clocks_.locked[{kGpu, ClockDomain::kGpu}] = 1980;
  timer_.now = guardian.NextTick();
  EXPECT_EQ(guardian.OnTick(), std::nullopt);  // one look is none
  timer_.now = guardian.NextTick();
  const std::optional<std::string> why = guardian.OnTick();
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("reads 1980 MHz, above what it was held at"));
  clocks_.Take();
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1", "reset memory GPU-1"));
  EXPECT_EQ((clocks_.locked[{kGpu, ClockDomain::kGpu}]), 1980u);
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, ResetsABaseClockThatWasLockedUnderALimitAndReadsHigherWithoutIt) {
  clocks_.limit_mhz = 900;
  Guardian guardian = AGuardian();
  ASSERT_EQ(guardian.Pin({kGpu, kBaseClock, 0})->gpu_mhz, 900u);
  clocks_.limit_mhz = 0;
  for (int i = 0; i < 2; ++i) {
    timer_.now = guardian.NextTick();
    EXPECT_EQ(guardian.OnTick().has_value(), i == 1);
  }
  ASSERT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.locked, IsEmpty());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, TakesAClockBelowForAThrottle) {
  Guardian guardian = AGuardian();
  ASSERT_TRUE(guardian.Pin({kGpu, 1500, 0}));
  clocks_.locked[{kGpu, ClockDomain::kGpu}] = 900;
  for (int i = 0; i < 5; ++i) {
    timer_.now = guardian.NextTick();
    EXPECT_EQ(guardian.OnTick(), std::nullopt);
  }
}

TEST_F(GuardianTest, KeepsItsLeaseUntilTheClockIsSeenToMove) {
  clocks_.stuck = true;
  {
    Guardian guardian = AGuardian();
    ASSERT_TRUE(guardian.Pin({kGpu, 1500, 0}));
    const std::int64_t before = timer_.now;
    const Status released = guardian.Release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().message,
              "the clock of GPU-1 was reset and still reads 1500 MHz after 10 s");
    EXPECT_EQ(timer_.now - before, 10'000);
  }
  EXPECT_THAT(Gpus(), ElementsAre(kGpu));
  machine_.alive.erase(10);
  clocks_.stuck = false;
  ASSERT_TRUE(Sweep()[0].ok);
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, TriesAFailedResetAgain) {
  Guardian guardian = AGuardian();
  ASSERT_TRUE(guardian.Pin({kGpu, 1500, 0}));
  clocks_.resets_to_fail = 2;
  EXPECT_TRUE(guardian.Release());
  EXPECT_THAT(clocks_.locked, IsEmpty());
}

TEST_F(GuardianTest, LeavesItsLeaseToTheNextWhereTheResetFails) {
  {
    Guardian guardian = AGuardian();
    ASSERT_TRUE(guardian.Pin({kGpu, 1500, 9501}));
    clocks_.resets_to_fail = 3;  // the GPU's, each time it is tried
    const Status released = guardian.Release();
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().message, "it is busy");
    // The memory's is reset all the same.
    EXPECT_EQ(clocks_.locked.size(), 1u);
  }
  EXPECT_THAT(Gpus(), ElementsAre(kGpu));
  machine_.alive.erase(10);
  ASSERT_TRUE(Sweep()[0].ok);
  EXPECT_THAT(clocks_.locked, IsEmpty());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, KeepsTheLeaseOfALockThatItMayNeitherResetNorReplace) {
  Leave();
  clocks_.resets_to_fail = 1'000;
  clocks_.lock_fails = {{ClockDomain::kGpu, Error{"root is needed", Advice::kReject}}};
  {
    Guardian guardian = AGuardian();
    const Result<Pinned> pinned = guardian.Pin({kGpu, 1200, 0});
    ASSERT_FALSE(pinned);
    EXPECT_EQ(pinned.error(), (Error{"root is needed; and then: it is busy", Advice::kRetry}));
  }
  EXPECT_THAT(Gpus(), ElementsAre(kGpu));
  machine_.alive.erase(10);
  clocks_.resets_to_fail = 0;
  ASSERT_TRUE(Sweep()[0].ok);  // as root, later
  EXPECT_THAT(clocks_.locked, IsEmpty());
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, KnowsNoGpuThatTheDriverDoesNotKnow) {
  clocks_.known = false;
  Guardian guardian = AGuardian();
  EXPECT_EQ(guardian.Pin({kGpu, 1500, 0}).error().message, "no GPU GPU-1");
  EXPECT_THAT(Gpus(), IsEmpty());
}

TEST_F(GuardianTest, PinsNothingWithoutALeaseOnDisk) {
  LeaseFolder nowhere("/proc/none/clocks");
  Guardian guardian(clocks_, nowhere, machine_.As(10), timer_, kLostMs);
  EXPECT_THAT(guardian.Pin({kGpu, 1500, 0}).error().message, HasSubstr("/proc/none/clocks"));
  EXPECT_THAT(clocks_.Take(), ElementsAre("find GPU-1"));
}

}  // namespace
}  // namespace pawl
