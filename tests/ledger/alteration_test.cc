// Entries altered under RocksDB's own checksums: a full read finds each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <functional>
#include <memory>
#include <string>

#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/ledger.h"
#include "coordinator/ledger/store.h"
#include "schema/codec.h"
#include "tests/ledger/sample_ledger.h"

namespace pawl {
namespace {

using ledger_layout::DigestValue;
using ledger_layout::GenerationKey;
using ledger_layout::GenerationValue;
using ledger_layout::SeenKey;
using ledger_layout::SeqKey;
using ::testing::HasSubstr;
using testing::OpenOrDie;
using testing::Problem;

constexpr TrackId kTrack(1);
const std::string kBlob = "constexpr int kStep = 8;\n";

class Altered : public ::testing::Test {
 protected:
  Altered() {
    const std::unique_ptr<Ledger> ledger = Open();
    CHECK(ledger->PutBlob(Sha256(kBlob), kBlob));
    testing::Fill(*ledger, 3);
    head_ = ledger->head();
    for (const std::uint64_t seq : {6, 10}) {
      Snapshot snapshot;
      snapshot.seq = Seq(seq);
      snapshot.ledger = ledger->id();
      CHECK(ledger->PutSnapshot(snapshot));
    }
  }

  Ledger::Options Options() {
    Ledger::Options options;
    options.env = env_.get();
    return options;
  }
  std::unique_ptr<Ledger> Open(Ledger::Mode mode = Ledger::Mode::kWrite) {
    return OpenOrDie(folder_, mode, Options());
  }
  void Change(const std::function<void(Store&, rocksdb::WriteBatch&)>& change) {
    std::unique_ptr<Store> store;
    const rocksdb::Status opened = Store::Open(
        {env_.get(), folder_, 1 << 20}, Store::Access::kWrite, Store::Recovery::kWhole, &store);
    CHECK(opened.ok(), opened.ToString());
    rocksdb::WriteBatch batch;
    change(*store, batch);
    CHECK(store->db().Write(rocksdb::WriteOptions(), &batch).ok());
  }
  void Put(Family family, const std::string& key, const std::string& value) {
    Change([&](Store& store, rocksdb::WriteBatch& batch) { store.Put(batch, family, key, value); });
  }
  void Remove(Family family, const std::string& key) {
    Change([&](Store& store, rocksdb::WriteBatch& batch) {
      CHECK(batch.Delete(store.family(family), key).ok());
    });
  }
  // What opening says, or else what a full read says.
  std::string Told() {
    const Result<std::unique_ptr<Ledger>> ledger =
        Ledger::Open(folder_, Ledger::Mode::kRead, Options());
    return ledger ? Problem(**ledger) : ledger.error().message;
  }
  // An event as it could have been, with a digest that follows from it.
  std::string Forged(Seq seq, const Digest& previous) {
    Event event = testing::Opened(TrackId(9));
    event.seq = seq;
    const std::string bytes = EncodeEvent(event);
    return ledger_layout::LogValue(bytes, ledger_layout::ChainDigest(previous, bytes));
  }
  Digest DigestAt(Seq seq) {
    Digest digest;
    Change([&](Store& store, rocksdb::WriteBatch&) {
      digest = ledger_layout::ParseLogValue(**store.Get(Family::kLog, SeqKey(seq)))->digest;
    });
    return digest;
  }

  const std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  const std::string folder_ = "/mem/ledger";
  LedgerHead head_;
};

TEST_F(Altered, NothingIsToldOfAWholeLedger) { EXPECT_EQ(Told(), ""); }

TEST_F(Altered, AnEventWithOtherBytesIsFound) {
  Put(Family::kLog, SeqKey(Seq(5)), "other bytes, long enough for the digest at their end");
  EXPECT_THAT(Told(), HasSubstr("event 5 is not what was written (its digest differs)"));
}

TEST_F(Altered, AForgedEventWithAMatchingDigestIsFoundByItsSuccessor) {
  Put(Family::kLog, SeqKey(Seq(5)), Forged(Seq(5), DigestAt(Seq(4))));
  EXPECT_THAT(Told(), HasSubstr("event 6 is not what was written"));
}

TEST_F(Altered, AForgedLastEventIsFoundByTheHead) {
  const Seq last = head_.seq;
  Put(Family::kLog, SeqKey(last), Forged(last, DigestAt(Seq(last.value - 1))));
  EXPECT_THAT(Told(), HasSubstr("is not the one the head names"));
}

TEST_F(Altered, AForgedLastEventWithAForgedHeadIsFoundByHEAD) {
  const Seq last = head_.seq;
  const std::string forged = Forged(last, DigestAt(Seq(last.value - 1)));
  Put(Family::kLog, SeqKey(last), forged);
  Put(Family::kState, "head",
      ledger_layout::HeadValue(last, ledger_layout::ParseLogValue(forged)->digest));
  EXPECT_THAT(Told(), HasSubstr("is not the one that was acknowledged (HEAD)"));
}

TEST_F(Altered, AMissingEventIsNamed) {
  Remove(Family::kLog, SeqKey(Seq(5)));
  EXPECT_THAT(Told(), HasSubstr("event 5 of 14 missing from the log"));
}

TEST_F(Altered, AHeadMovedBackIsFound) {
  Put(Family::kState, "head", ledger_layout::HeadValue(Seq(9), DigestAt(Seq(9))));
  EXPECT_THAT(Told(), HasSubstr("the log goes on after its head, event 9"));
}

TEST_F(Altered, AnEventAfterTheHeadIsFound) {
  Put(Family::kLog, SeqKey(head_.seq.Next()), Forged(head_.seq.Next(), head_.digest));
  EXPECT_THAT(Told(), HasSubstr("the log goes on after its head, event 14"));
}

TEST_F(Altered, AnotherEpochIsFound) {
  Put(Family::kState, "epoch", ledger_layout::NumberValue(7));
  EXPECT_THAT(Told(), HasSubstr("the stored epoch is 7, the log's 0"));
}

TEST_F(Altered, AGenerationPointingElsewhereIsFound) {
  Put(Family::kGen, GenerationKey(kTrack, Generation(2)),
      GenerationValue({kTrack, Generation(2), Seq(7), {Seq(8)}, Seq(10)}));
  EXPECT_THAT(Told(), HasSubstr("track 1 generation 2: event 9 is not in its index entry"));
}

TEST_F(Altered, AMissingGenerationIsFound) {
  Remove(Family::kGen, GenerationKey(kTrack, Generation(2)));
  EXPECT_THAT(Told(), HasSubstr("track 1 generation 2: event 7 is not in its index entry"));
}

TEST_F(Altered, AnInventedGenerationIsFound) {
  Put(Family::kGen, GenerationKey(kTrack, Generation(4)),
      GenerationValue({kTrack, Generation(4), Seq(3), {}, Seq(0)}));
  EXPECT_THAT(Told(), HasSubstr("the index of generations names 10 events, the log has 9"));
}

TEST_F(Altered, AnotherReportOfAnAttemptIsFound) {
  Put(Family::kSeen, SeenKey(kTrack, OrderKind::kMeasure, Generation(2), Attempt(1)),
      DigestValue(Sha256("another report")));
  EXPECT_THAT(Told(), HasSubstr("event 9: the index of attempts names another report"));
}

TEST_F(Altered, AForgottenReportIsFound) {
  Put(Family::kSeen, SeenKey(kTrack, OrderKind::kMeasure, Generation(2), Attempt(1)),
      DigestValue(Digest{}));
  EXPECT_THAT(Told(), HasSubstr("event 9: the index of attempts names another report"));
}

TEST_F(Altered, AMissingAttemptIsFound) {
  Remove(Family::kSeen, SeenKey(kTrack, OrderKind::kMeasure, Generation(2), Attempt(1)));
  EXPECT_THAT(Told(), HasSubstr("event 8: its attempt is not in the index of attempts"));
}

TEST_F(Altered, AnInventedAttemptIsFound) {
  Put(Family::kSeen, SeenKey(kTrack, OrderKind::kConfirm, Generation(2), Attempt(1)),
      DigestValue(Digest{}));
  EXPECT_THAT(Told(), HasSubstr("the index of attempts has 4 entries, the log grants 3 attempts"));
}

TEST_F(Altered, OtherBytesOfABlobAreFoundAndNeverGivenOut) {
  Put(Family::kBlob, DigestValue(Sha256(kBlob)), "other bytes");
  EXPECT_THAT(Told(), HasSubstr("has other bytes than it was stored with"));
  const Result<std::optional<std::string>> blob = Open(Ledger::Mode::kRead)->Blob(Sha256(kBlob));
  ASSERT_FALSE(blob);
  EXPECT_THAT(blob.error().message, HasSubstr("has other bytes than it was stored with"));
}

TEST_F(Altered, ADamagedSnapshotIsLeftOutWithANote) {
  Put(Family::kSnap, SeqKey(Seq(10)), "not a snapshot, though it is as long as a digest");
  EXPECT_THAT(Told(), HasSubstr("the snapshot at event 10 is damaged"));
  const std::unique_ptr<Ledger> ledger = Open();
  const Result<std::optional<Snapshot>> snapshot = ledger->LatestSnapshot();
  ASSERT_TRUE(snapshot && *snapshot);
  EXPECT_EQ((*snapshot)->seq, Seq(6));
  ASSERT_EQ(ledger->notes().size(), 1u);
  EXPECT_THAT(ledger->notes()[0],
              HasSubstr("the snapshot at event 10 is ignored: its digest differs"));
}

TEST_F(Altered, WithoutAWholeSnapshotThereIsNone) {
  Put(Family::kSnap, SeqKey(Seq(10)), "x");
  Put(Family::kSnap, SeqKey(Seq(6)), "x");
  const std::unique_ptr<Ledger> ledger = Open();
  const Result<std::optional<Snapshot>> snapshot = ledger->LatestSnapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(*snapshot, std::nullopt);
  EXPECT_EQ(ledger->notes().size(), 2u);
}

TEST_F(Altered, AnUnreadableAttemptStopsTheLedgerRatherThanLie) {
  Put(Family::kSeen, SeenKey(kTrack, OrderKind::kMeasure, Generation(2), Attempt(1)), "short");
  const std::unique_ptr<Ledger> ledger = Open();
  // "Never granted" would make a worker throw its report away.
  const Result<std::optional<Digest>> seen =
      ledger->Seen(kTrack, OrderKind::kMeasure, Generation(2), Attempt(1));
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message, HasSubstr("the index of attempts is not readable"));
  std::vector<Event> events = {testing::Opened(TrackId(2))};
  const Result<LedgerHead> head = ledger->Append(events);
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().advice, Advice::kHalt);
}

}  // namespace
}  // namespace pawl
