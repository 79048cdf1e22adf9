#include "worker/spool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "schema/codec.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Report AReport(std::uint32_t generation, std::size_t log_bytes = 10) {
  Report report;
  report.track = TrackId(1);
  report.generation = Generation(generation);
  report.attempt = Attempt(1);
  report.worker = WorkerId("host/replay/0");
  report.arms = {ArmRole::kCommitted};
  BuildFacts build;
  build.log = std::string(log_bytes, 'x');
  report.builds.push_back(build);
  report.rounds = {RoundMedians{{VisitMedian{0, 0, 12.5, 0}}}};
  return report;
}

const LedgerId kLedger("0123456789abcdef0123456789abcdef");
const LedgerId kOther("fedcba9876543210fedcba9876543210");

LedgerHead AHead(std::uint64_t seq, const LedgerId& ledger = kLedger) {
  return LedgerHead{ledger, Seq(seq), Sha256(std::to_string(seq))};
}

std::unique_ptr<Spool> MustOpen(const std::string& folder) {
  Result<std::unique_ptr<Spool>> spool = Spool::Open(folder);
  CHECK(spool.has_value(), spool.error().message);
  return std::move(*spool);
}

Digest MustPut(Spool& spool, const Report& report, const LedgerId& ledger = kLedger) {
  const Result<Digest> digest = spool.Put(report, ledger);
  CHECK(digest.has_value(), digest.error().message);
  return *digest;
}

std::vector<std::uint32_t> Generations(const Spool& spool) {
  std::vector<std::uint32_t> generations;
  for (const SpooledReport& one : spool.Pending())
    generations.push_back(one.report.generation.value);
  return generations;
}

void Overwrite(const std::string& path, std::size_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
  CHECK(file.good(), path);
}

std::size_t CountSlots(const std::string& folder) {
  std::size_t slots = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    slots += entry.path().filename().string().rfind("slot-", 0) == 0;
  }
  return slots;
}

TEST(Spool, GivesBackWhatWasPutAfterReopeningOldestFirst) {
  const test::TempFolder folder;
  const Report first = AReport(1), second = AReport(2);
  {
    const auto spool = MustOpen(folder / "spool");
    MustPut(*spool, first, kLedger);
    MustPut(*spool, second, kOther);
  }
  const auto spool = MustOpen(folder / "spool");
  EXPECT_THAT(spool->Pending(),
              ElementsAre(SpooledReport{Sha256(EncodeReport(first)), kLedger, first},
                          SpooledReport{Sha256(EncodeReport(second)), kOther, second}));
  EXPECT_THAT(spool->Notes(), IsEmpty());
}

TEST(Spool, KeepsTheOrderOfReportsWhenSlotsAreUsedAgain) {
  const test::TempFolder folder;
  {
    const auto spool = MustOpen(folder.path());
    const Digest first = MustPut(*spool, AReport(1));
    MustPut(*spool, AReport(2));
    spool->Remove(first);
    MustPut(*spool, AReport(3));  // into the first's slot
    EXPECT_THAT(Generations(*spool), ElementsAre(2, 3));
  }
  EXPECT_EQ(CountSlots(folder.path()), 2u);
  EXPECT_THAT(Generations(*MustOpen(folder.path())), ElementsAre(2, 3));
}

TEST(Spool, UsesOneSlotForAnyNumberOfReportsThatAreAcknowledgedInTurn) {
  const test::TempFolder folder;
  const auto spool = MustOpen(folder.path());
  for (std::uint32_t i = 1; i <= 50; ++i) spool->Remove(MustPut(*spool, AReport(i, 100 * i)));
  EXPECT_THAT(spool->Pending(), IsEmpty());
  EXPECT_EQ(CountSlots(folder.path()), 1u);
}

TEST(Spool, TakesTheSameReportOnce) {
  const test::TempFolder folder;
  const auto spool = MustOpen(folder.path());
  EXPECT_EQ(MustPut(*spool, AReport(1)), MustPut(*spool, AReport(1)));
  EXPECT_THAT(spool->Pending(), SizeIs(1));
}

TEST(Spool, RemovingAnUnknownReportChangesNothing) {
  const test::TempFolder folder;
  const auto spool = MustOpen(folder.path());
  MustPut(*spool, AReport(1));
  spool->Remove(Sha256("another"));
  EXPECT_THAT(Generations(*spool), ElementsAre(1));
}

TEST(Spool, KeepsAReportLargerThanASlot) {
  const test::TempFolder folder;
  Report large = AReport(1);
  for (std::uint32_t i = 0; i < 60; ++i) {
    large.builds.push_back(AReport(1, 4000).builds[0]);
  }
  MustPut(*MustOpen(folder.path()), large);
  const auto spool = MustOpen(folder.path());
  ASSERT_THAT(spool->Pending(), SizeIs(1));
  EXPECT_EQ(spool->Pending()[0].report, large);
}

// A writer is killed at an arbitrary moment; every report that Put had returned for (the byte in
// the pipe says so) is there, in order, and at most one more.
TEST(Spool, KeepsEveryReportThatPutReturnedForAfterAKill) {
  for (int trial = 0; trial < 12; ++trial) {
    const test::TempFolder folder;
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      close(pipe_fds[0]);
      const auto spool = MustOpen(folder.path());
      for (std::uint32_t i = 1;; ++i) {
        MustPut(*spool, AReport(i, 2000));
        if (write(pipe_fds[1], "x", 1) != 1) _exit(0);
      }
    }
    close(pipe_fds[1]);
    char byte;
    std::uint32_t put = 0;
    while (put < static_cast<std::uint32_t>(1 + trial) && read(pipe_fds[0], &byte, 1) == 1) ++put;
    kill(writer, SIGKILL);
    while (read(pipe_fds[0], &byte, 1) == 1) ++put;  // returned for before the signal came
    close(pipe_fds[0]);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status));

    const auto spool = MustOpen(folder.path());
    const std::vector<std::uint32_t> found = Generations(*spool);
    ASSERT_GE(found.size(), put);
    ASSERT_LE(found.size(), put + 1);
    for (std::uint32_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i + 1);
  }
}

TEST(Spool, SetsATornReportAsideAndKeepsTheOthers) {
  const test::TempFolder folder;
  {
    const auto spool = MustOpen(folder.path());
    MustPut(*spool, AReport(1));
    MustPut(*spool, AReport(2));
    MustPut(*spool, AReport(3));
  }
  Overwrite(folder / "slot-1", 60, std::string(40, '\0'));
  {
    const auto spool = MustOpen(folder.path());
    EXPECT_THAT(Generations(*spool), ElementsAre(1, 3));
    EXPECT_THAT(spool->Notes(),
                ElementsAre(AllOf(HasSubstr("slot-1"), HasSubstr("cut short or changed"),
                                  HasSubstr("damaged-1"))));
    EXPECT_TRUE(fs::exists(folder / "damaged-1"));
    EXPECT_FALSE(fs::exists(folder / "slot-1"));
  }
  EXPECT_THAT(MustOpen(folder.path())->Notes(), IsEmpty());
}

TEST(Spool, SetsAReportAsideWhoseFileLostItsEnd) {
  const test::TempFolder folder;
  MustPut(*MustOpen(folder.path()), AReport(1));
  fs::resize_file(folder / "slot-0", 100);
  std::ofstream(folder / "slot-1") << std::string(100, '\0');  // made, but not to its full length
  const auto spool = MustOpen(folder.path());
  EXPECT_THAT(spool->Pending(), IsEmpty());
  EXPECT_THAT(spool->Notes(), ElementsAre(AllOf(HasSubstr("slot-0"), HasSubstr("damaged-1"))));
  EXPECT_EQ(CountSlots(folder.path()), 0u);
}

TEST(Spool, FindsEveryFlippedBit) {
  const test::TempFolder folder;
  MustPut(*MustOpen(folder.path()), AReport(1));
  std::ifstream in(folder / "slot-0", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t used = whole.find_last_not_of('\0') + 1;
  for (std::size_t i = 0; i < used; ++i) {
    const test::TempFolder copy;
    {
      std::ofstream out(copy / "slot-0", std::ios::binary);
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
      out << bytes;
    }
    const auto spool = MustOpen(copy.path());
    ASSERT_THAT(spool->Pending(), IsEmpty()) << "byte " << i;
    ASSERT_THAT(spool->Notes(), SizeIs(1)) << "byte " << i;
  }
}

TEST(Spool, DropsASlotThatWasNeverFinished) {
  const test::TempFolder folder;
  std::ofstream(folder / "slot-0") << std::string(100, '\0');
  const auto spool = MustOpen(folder.path());
  EXPECT_THAT(spool->Notes(), IsEmpty());
  MustPut(*spool, AReport(1));
  EXPECT_THAT(Generations(*spool), ElementsAre(1));
}

TEST(Spool, IsOpenedByOneProcessAtATime) {
  const test::TempFolder folder;
  const auto first = MustOpen(folder.path());
  const Result<std::unique_ptr<Spool>> second = Spool::Open(folder.path());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, AllOf(HasSubstr(folder.path()), HasSubstr("another worker")));
  EXPECT_EQ(second.error().advice, Advice::kRetry);
}

TEST(Spool, SaysWhereItCannotWrite) {
  const Result<std::unique_ptr<Spool>> spool = Spool::Open("/proc/pawl-spool");
  ASSERT_FALSE(spool);
  EXPECT_THAT(spool.error().message, HasSubstr("/proc/pawl-spool: "));
}

TEST(Spool, RemembersTheHighestHeadOfEachLedger) {
  const test::TempFolder folder;
  {
    const auto spool = MustOpen(folder.path());
    EXPECT_EQ(spool->LastHead(), LedgerHead{});
    ASSERT_TRUE(spool->Remember(AHead(7)));
    ASSERT_TRUE(spool->Remember(AHead(9)));
    ASSERT_TRUE(spool->Remember(AHead(8)));  // acknowledged out of turn
    ASSERT_TRUE(spool->Remember(AHead(2, kOther)));
    EXPECT_EQ(spool->LastHead(), AHead(2, kOther));
  }
  const auto spool = MustOpen(folder.path());
  EXPECT_EQ(spool->Head(kLedger), AHead(9));
  EXPECT_EQ(spool->Head(kOther), AHead(2, kOther));
  EXPECT_EQ(spool->Head(LedgerId("none")), LedgerHead{});
  EXPECT_EQ(spool->LastHead(), AHead(2, kOther));
}

TEST(Spool, FallsBackToTheHeadBeforeATornOne) {
  const test::TempFolder folder;
  {
    const auto spool = MustOpen(folder.path());
    for (std::uint64_t seq = 1; seq <= 5; ++seq) ASSERT_TRUE(spool->Remember(AHead(seq)));
  }
  std::string head_file;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().rfind("head-", 0) == 0) head_file = entry.path().string();
  }
  Overwrite(head_file, 20, "torn");  // the first copy, which the fifth head is in
  const auto spool = MustOpen(folder.path());
  EXPECT_EQ(spool->Head(kLedger), AHead(4));
  EXPECT_THAT(spool->Notes(), IsEmpty());
}

TEST(Spool, RefusesALedgerNameThatIsTooLong) {
  const test::TempFolder folder;
  const auto spool = MustOpen(folder.path());
  EXPECT_FALSE(spool->Remember(AHead(1, LedgerId(std::string(1000, 'a')))));
  EXPECT_TRUE(spool->Remember(AHead(1)));
}

}  // namespace
}  // namespace pawl
