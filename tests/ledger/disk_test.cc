// Disks that fill up, fail to sync, or lose power.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <memory>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "tests/ledger/faulty_file_system.h"
#include "tests/ledger/sample_ledger.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using test::TempFolder;
using testing::FaultyFileSystem;
using testing::GenerationEvents;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Numbers;
using testing::OpenOrDie;
using testing::Problem;

constexpr TrackId kTrack(1);

class Disk : public ::testing::Test {
 protected:
  Ledger::Options Options() {
    Ledger::Options options;
    options.env = env_.get();
    options.max_wal_bytes = 64 << 10;
    return options;
  }
  std::unique_ptr<Ledger> Open() { return OpenOrDie(folder_, Ledger::Mode::kWrite, Options()); }

  Result<LedgerHead> AppendGeneration(Ledger& ledger) {
    std::vector<Event> events = GenerationEvents(kTrack, Generation(++generation_), numbers_);
    const Result<LedgerHead> head = ledger.Append(events);
    if (head) acked_.push_back(*head);
    return head;
  }
  // Appends until it fails, at most `most` times.
  std::optional<Error> AppendUntilRefused(Ledger& ledger, int most) {
    for (int i = 0; i < most; ++i) {
      const Result<LedgerHead> head = AppendGeneration(ledger);
      if (!head) return head.error();
    }
    return std::nullopt;
  }
  // On a whole disk again: everything acknowledged is there.
  void ExpectAllAckedIsThere() {
    const std::unique_ptr<Ledger> ledger = OpenOrDie(folder_);
    for (const LedgerHead& head : acked_) ASSERT_TRUE(ledger->Holds(head)) << head.seq.value;
    EXPECT_EQ(Problem(*ledger), "");
  }

  TempFolder temp_;
  const std::string folder_ = temp_ / "ledger";
  const std::shared_ptr<FaultyFileSystem> disk_ = std::make_shared<FaultyFileSystem>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  Numbers numbers_{7};
  std::uint32_t generation_ = 0;
  std::vector<LedgerHead> acked_;
};

TEST_F(Disk, ASyncedAppendIsOneSync) {
  const std::unique_ptr<Ledger> ledger = Open();
  const int before = disk_->log_syncs();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(AppendGeneration(*ledger));
  EXPECT_EQ(disk_->log_syncs() - before, 3);
  ASSERT_TRUE(ledger->PutBlob(Sha256("blob"), "blob"));
  EXPECT_EQ(disk_->log_syncs() - before, 3);
}

TEST_F(Disk, TooLittleFreeSpaceRefusesAndLosesNothing) {
  const std::unique_ptr<Ledger> ledger = Open();
  ASSERT_TRUE(AppendGeneration(*ledger));
  disk_->SetFreeBytes(12 << 20);
  const LedgerHead before = ledger->head();
  const Result<LedgerHead> refused = AppendGeneration(*ledger);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error(),
      (Error{"ledger " + folder_ + ": 12 MB free, 256 MB wanted; free some space, nothing is lost",
             Advice::kRetry}));
  EXPECT_EQ(ledger->head(), before);
  EXPECT_EQ(ledger->FreeBytes(), 12u << 20);
  disk_->SetFreeBytes(1ull << 30);
  const Result<LedgerHead> taken = AppendGeneration(*ledger);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->seq.value, before.seq.value + 4);
}

TEST_F(Disk, AFailedSyncHaltsAndReopeningTellsNoLie) {
  for (int nth = 1; nth <= 12; ++nth) {
    SCOPED_TRACE(nth);
    {
      const std::unique_ptr<Ledger> ledger = Open();
      disk_->FailSync(nth);
      const LedgerHead before = ledger->head();
      const std::optional<Error> error = AppendUntilRefused(*ledger, nth + 2);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->advice, Advice::kHalt);
      EXPECT_THAT(error->message, HasSubstr("could not be synced"));
      EXPECT_THAT(error->message, HasSubstr("and are not acknowledged"));
      EXPECT_EQ(ledger->head().seq.value, before.seq.value + 4 * static_cast<unsigned>(nth - 1));
      // A disk that seems well again is not trusted: the failed pages may be gone.
      disk_->FailSync(0);
      const Result<LedgerHead> later = AppendGeneration(*ledger);
      ASSERT_FALSE(later);
      EXPECT_EQ(later.error(), *error);
      EXPECT_EQ(ledger->PutBlob(Sha256("x"), "x").error(), *error);
    }
    ExpectAllAckedIsThere();
    // The generation numbers go on after what is there.
    const std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->Generations(kTrack, [&](const GenerationIndex& index) {
      generation_ = index.generation.value;
      return false;
    }));
  }
}

TEST_F(Disk, AFullDiskUnderTheLogHaltsAndHealsByReopening) {
  {
    const std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(AppendGeneration(*ledger));
    disk_->RunOutOfSpaceFor(".log");
    const std::optional<Error> error = AppendUntilRefused(*ledger, 1);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->advice, Advice::kHalt);
    EXPECT_THAT(error->message, HasSubstr("No space left on device"));
  }
  // Recovery itself needs room: refused in one line, nothing lost.
  disk_->RunOutOfSpaceFor(".sst");
  const Result<std::unique_ptr<Ledger>> full =
      Ledger::Open(folder_, Ledger::Mode::kWrite, Options());
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("nothing acknowledged is lost"));
  disk_->RunOutOfSpaceFor("");
  ExpectAllAckedIsThere();
}

TEST_F(Disk, AFullDiskUnderAFlushLosesNothingAcked) {
  {
    const std::unique_ptr<Ledger> ledger = Open();
    disk_->RunOutOfSpaceFor(".sst");
    const std::optional<Error> error = AppendUntilRefused(*ledger, 400);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->advice, Advice::kHalt);
  }
  EXPECT_GT(acked_.size(), 10u);
  disk_->RunOutOfSpaceFor("");
  ExpectAllAckedIsThere();
}

TEST_F(Disk, PowerLossKeepsWhatWasAckedAndAccusesNobody) {
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    {
      const std::unique_ptr<Ledger> ledger = Open();
      ASSERT_TRUE(AppendUntilRefused(*ledger, 5 + 17 * round) == std::nullopt);
      ASSERT_TRUE(ledger->PutBlob(Sha256("unsynced " + std::to_string(round)),
                                  "unsynced " + std::to_string(round)));
      disk_->Stop();
    }
    disk_->LosePower();
    disk_->Restart();
    ExpectAllAckedIsThere();
    EXPECT_THAT(OpenOrDie(folder_)->notes(), IsEmpty());
  }
}

TEST_F(Disk, AFullDiskWhileItIsMadeLeavesNoHalfLedger) {
  disk_->RunOutOfSpaceFor(".log");
  ASSERT_FALSE(Ledger::Open(folder_, Ledger::Mode::kWrite, Options()));
  disk_->RunOutOfSpaceFor("");
  const std::unique_ptr<Ledger> ledger = Open();
  EXPECT_EQ(ledger->head().seq, Seq(1));
  EXPECT_EQ(Problem(*ledger), "");
}

}  // namespace
}  // namespace pawl
