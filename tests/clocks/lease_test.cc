// What a lease says on disk, and what is made of it after a reboot or a pid's second use.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/places.h"
#include "worker/clocks/lease_folder.h"

namespace pawl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ClockLease ALease() {
  ClockLease lease;
  lease.gpu = "GPU-1";
  lease.boot = "boot-1";
  lease.pid = 4711;
  lease.pid_start = 99;
  lease.gpu_mhz = 1500;
  lease.memory_mhz = 9501;
  lease.reads_mhz = 1485;
  return lease;
}

TEST(ClockLease, IsTextThatComesBack) {
  ClockLease lease = ALease();
  EXPECT_EQ(EncodeLease(lease),
            "pawl clock lease 1\ngpu GPU-1\nboot boot-1\npid 4711\npid_start 99\ngpu_mhz 1500\n"
            "memory_mhz 9501\nreads_mhz 1485\nend\n");
  EXPECT_EQ(*DecodeLease(EncodeLease(lease)), lease);
  lease.gpu_mhz = kBaseClock;
  lease.memory_mhz.reset();
  lease.reads_mhz = 0;
  EXPECT_THAT(EncodeLease(lease), HasSubstr("gpu_mhz base\n"));
  EXPECT_EQ(*DecodeLease(EncodeLease(lease)), lease);
}

TEST(ClockLease, RefusesEveryCutAndChangedLine) {
  const std::string whole = EncodeLease(ALease());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeLease(whole.substr(0, size))) << size;
  }
  for (const char* wrong : {"", "\n", "pawl clock lease 2\n", "gpu_mhz fast\n"}) {
    EXPECT_FALSE(DecodeLease(wrong)) << wrong;
  }
  EXPECT_THAT(DecodeLease(whole + "memory_mhz\n").error().message, HasSubstr("memory_mhz"));
  EXPECT_FALSE(DecodeLease("pawl clock lease 1\nend\n"));
  std::string other = whole;
  other.replace(other.find("1500"), 4, "15x0");
  EXPECT_THAT(DecodeLease(other).error().message, HasSubstr("gpu_mhz 15x0"));
}

TEST(ClockLease, IsHeldOnlyByTheProcessThatWroteIt) {
  const auto machine = [](const std::string& boot, std::optional<std::uint64_t> start) {
    return Machine{boot, 1, [start](pid_t pid) { return pid == 4711 ? start : std::nullopt; }};
  };
  EXPECT_EQ(Judge(ALease(), machine("boot-1", 99)), LeaseState::kHeld);
  EXPECT_EQ(Judge(ALease(), machine("boot-1", std::nullopt)), LeaseState::kStale);
  EXPECT_EQ(Judge(ALease(), machine("boot-1", 100)), LeaseState::kStale);  // the number, used again
  EXPECT_EQ(Judge(ALease(), machine("boot-2", 99)), LeaseState::kOtherBoot);
}

TEST(ClockLease, SaysWhatIsHeld) {
  ClockLease lease = ALease();
  EXPECT_EQ(Describe(lease),
            "the clock of GPU-1 at 1500 MHz, the memory clock of GPU-1 at 9501 MHz");
  lease.gpu_mhz = kBaseClock;
  lease.memory_mhz.reset();
  EXPECT_EQ(Describe(lease), "the clock of GPU-1 at 1485 MHz");
  lease.reads_mhz = 0;
  EXPECT_EQ(Describe(lease), "the clock of GPU-1 at the base clock");
}

TEST(ThisMachine, KnowsItsProcesses) {
  const Result<Machine> machine = ThisMachine();
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->pid, ::getpid());
  EXPECT_EQ(machine->boot.size(), 36u);
  EXPECT_GT(machine->start_of(::getpid()).value(), 0u);
  // One that has ended is gone, also while it waits to be reaped.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(machine->start_of(child), std::nullopt);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(machine->start_of(child), std::nullopt);
}

class LeaseFolderTest : public ::testing::Test {
 protected:
  const test::TempFolder folder_;
  LeaseFolder leases_{folder_.path() + "/run/clocks"};
};

TEST_F(LeaseFolderTest, HasNothingBeforeItIsMade) {
  EXPECT_THAT(*leases_.Gpus(), IsEmpty());
  EXPECT_EQ(*leases_.Read("GPU-1"), std::nullopt);
}

TEST_F(LeaseFolderTest, KeepsALeaseForEachGpu) {
  ASSERT_TRUE(leases_.Make());
  ClockLease other = ALease();
  other.gpu = "GPU-0";
  ASSERT_TRUE(leases_.Write(ALease()));
  ASSERT_TRUE(leases_.Write(other));
  EXPECT_THAT(*leases_.Gpus(), ElementsAre("GPU-0", "GPU-1"));
  EXPECT_EQ(**leases_.Read("GPU-1"), ALease());
  other.memory_mhz.reset();
  ASSERT_TRUE(leases_.Write(other));
  EXPECT_EQ(**leases_.Read("GPU-0"), other);
  ASSERT_TRUE(leases_.Remove("GPU-0"));
  ASSERT_TRUE(leases_.Remove("GPU-0"));  // also when it is gone
  EXPECT_THAT(*leases_.Gpus(), ElementsAre("GPU-1"));
}

TEST_F(LeaseFolderTest, TakesNoHalfWrittenFileForALease) {
  ASSERT_TRUE(leases_.Make());
  std::ofstream(leases_.path() + "/GPU-1.new") << "pawl clock";
  EXPECT_THAT(*leases_.Gpus(), IsEmpty());
  std::ofstream(leases_.path() + "/GPU-1.lease") << "pawl clock";
  const auto damaged = leases_.Read("GPU-1");
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message,
              HasSubstr("/GPU-1.lease: not a clock lease: \"pawl clock\""));
  // One that names another GPU would have another's clocks reset.
  std::ofstream(leases_.path() + "/GPU-2.lease") << EncodeLease(ALease());
  EXPECT_THAT(leases_.Read("GPU-2").error().message, HasSubstr("names GPU-1"));
}

TEST_F(LeaseFolderTest, IsTakenByOneAtATime) {
  ASSERT_TRUE(leases_.Make());
  auto first = leases_.Take("GPU-1");
  ASSERT_TRUE(first && *first);
  auto second = leases_.Take("GPU-1");
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, nullptr);
  auto other = leases_.Take("GPU-2");
  EXPECT_TRUE(other && *other);
  first->reset();
  second = leases_.Take("GPU-1");
  EXPECT_TRUE(second && *second);
}

TEST_F(LeaseFolderTest, RefusesANameThatIsNoUuid) {
  ASSERT_TRUE(leases_.Make());
  ClockLease lease = ALease();
  for (const char* name : {"", "../GPU-1", "GPU 1", "GPU/1"}) {
    lease.gpu = name;
    EXPECT_FALSE(leases_.Write(lease)) << name;
    EXPECT_FALSE(leases_.Read(name)) << name;
    EXPECT_FALSE(leases_.Take(name)) << name;
  }
}

TEST_F(LeaseFolderTest, SaysWhereItCannotBe) {
  std::ofstream(folder_.path() + "/file") << "";
  LeaseFolder leases(folder_.path() + "/file/clocks");
  EXPECT_THAT(leases.Make().error().message, HasSubstr("/file/clocks: cannot be made"));
}

}  // namespace
}  // namespace pawl
