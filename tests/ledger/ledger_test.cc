// The ledger as its users see it: on a disk and in memory, no faults.

#include "coordinator/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/opening.h"
#include "coordinator/ledger/store.h"
#include "schema/codec.h"
#include "tests/ledger/sample_ledger.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using test::TempFolder;
using testing::Fill;
using testing::GenerationEvents;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Numbers;
using testing::OpenOrDie;
using testing::Problem;
using testing::ReadAll;

constexpr TrackId kTrack(1);

// A ledger in memory that can be closed and opened again.
class InMemory : public ::testing::Test {
 protected:
  std::unique_ptr<Ledger> Open(Ledger::Mode mode = Ledger::Mode::kWrite) {
    return OpenOrDie("/mem/ledger", mode, Options());
  }
  Ledger::Options Options() {
    Ledger::Options options;
    options.env = env_.get();
    options.unix_ms = [this] { return now_ms_++; };
    return options;
  }

  std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::int64_t now_ms_ = 1'700'000'000'000;
};

using LedgerTest = InMemory;

TEST_F(LedgerTest, BeginsWithItsMaking) {
  const std::unique_ptr<Ledger> ledger = Open();
  EXPECT_EQ(ledger->head().seq, Seq(1));
  EXPECT_EQ(ledger->id().value.size(), 32u);
  EXPECT_EQ(ledger->epoch(), Epoch(0));
  const std::vector<Event> events = ReadAll(*ledger);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].seq, Seq(1));
  EXPECT_EQ(events[0].unix_ms, 1'700'000'000'000);
  EXPECT_EQ(std::get<LedgerCreated>(events[0].body), (LedgerCreated{ledger->id(), kLedgerFormat}));
  EXPECT_THAT(ledger->notes(), IsEmpty());
}

TEST_F(LedgerTest, GivesBackWhatWasAppendedAfterReopening) {
  std::vector<Event> events;
  LedgerHead head;
  {
    const std::unique_ptr<Ledger> ledger = Open();
    Fill(*ledger, 5);
    events = ReadAll(*ledger);
    head = ledger->head();
  }
  const std::unique_ptr<Ledger> ledger = Open();
  EXPECT_EQ(ReadAll(*ledger), events);
  EXPECT_EQ(ledger->head(), head);
  EXPECT_EQ(ledger->head().seq, Seq(22));
  EXPECT_THAT(ledger->notes(), IsEmpty());
  EXPECT_EQ(Problem(*ledger), "");
}

TEST_F(LedgerTest, NumbersAndStampsEventsOfAnAppendInOrder) {
  const std::unique_ptr<Ledger> ledger = Open();
  Numbers numbers(3);
  std::vector<Event> events = GenerationEvents(kTrack, Generation(1), numbers);
  const Result<LedgerHead> head = ledger->Append(events);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->seq, Seq(5));
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq, Seq(i + 2));
    const Result<Event> stored = ledger->At(events[i].seq);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(*stored, events[i]);
  }
}

TEST_F(LedgerTest, DigestIsTheChainOfStoredBytes) {
  const std::unique_ptr<Ledger> ledger = Open();
  Fill(*ledger, 2);
  Digest digest;
  for (const Event& event : ReadAll(*ledger)) {
    std::string chained(1, '\0');
    chained.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
    digest = Sha256(chained + EncodeEvent(event));
  }
  EXPECT_EQ(ledger->head().digest, digest);
}

TEST_F(LedgerTest, ScansFromAnEventUntilToldToStop) {
  const std::unique_ptr<Ledger> ledger = Open();
  Fill(*ledger, 3);
  std::vector<std::uint64_t> seqs;
  const Status scanned = ledger->Scan(Seq(5), [&](const Event& event) {
    seqs.push_back(event.seq.value);
    return seqs.size() < 3;
  });
  ASSERT_TRUE(scanned);
  EXPECT_THAT(seqs, ::testing::ElementsAre(5, 6, 7));
  bool visited = false;
  ASSERT_TRUE(
      ledger->Scan(ledger->head().seq.Next(), [&](const Event&) { return visited = true; }));
  EXPECT_FALSE(visited);
}

TEST_F(LedgerTest, RefusesAnEventItDoesNotHold) {
  const std::unique_ptr<Ledger> ledger = Open();
  const Result<Event> event = ledger->At(Seq(9));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, "ledger /mem/ledger: there is no event 9; it holds 1 to 1");
}

TEST_F(LedgerTest, CountsEpochsOverReopenings) {
  for (std::uint32_t expected = 1; expected <= 3; ++expected) {
    const std::unique_ptr<Ledger> ledger = Open();
    const Result<Epoch> epoch = ledger->StartEpoch("0.1.0");
    ASSERT_TRUE(epoch) << epoch.error().message;
    EXPECT_EQ(*epoch, Epoch(expected));
    EXPECT_EQ(ledger->epoch(), Epoch(expected));
    EXPECT_EQ(std::get<EpochStarted>(ReadAll(*ledger).back().body),
              (EpochStarted{Epoch(expected), "0.1.0"}));
  }
}

TEST_F(LedgerTest, IndexesGenerationsNewestFirstAndOldestFirst) {
  const std::unique_ptr<Ledger> ledger = Open();
  Fill(*ledger, 300);  // past a byte's range: keys sort as numbers do
  std::vector<Event> other = {testing::Opened(TrackId(2))};
  ASSERT_TRUE(ledger->Append(other));

  std::vector<std::uint32_t> newest;
  ASSERT_TRUE(ledger->Generations(kTrack, [&](const GenerationIndex& index) {
    newest.push_back(index.generation.value);
    return newest.size() < 3;
  }));
  EXPECT_THAT(newest, ::testing::ElementsAre(300, 299, 298));

  std::vector<std::uint32_t> after;
  ASSERT_TRUE(ledger->GenerationsAfter(kTrack, Generation(297), [&](const GenerationIndex& index) {
    after.push_back(index.generation.value);
    return true;
  }));
  EXPECT_THAT(after, ::testing::ElementsAre(298, 299, 300));

  bool any = false;
  ASSERT_TRUE(ledger->Generations(TrackId(2), [&](const GenerationIndex&) { return any = true; }));
  ASSERT_TRUE(ledger->Generations(TrackId(0), [&](const GenerationIndex&) { return any = true; }));
  EXPECT_FALSE(any);
}

TEST_F(LedgerTest, GenerationNamesTheEventsThatMadeIt) {
  const std::unique_ptr<Ledger> ledger = Open();
  Numbers numbers(5);
  const Generation generation(1);
  std::vector<Event> first = {testing::ProposedEvent(kTrack, generation, numbers),
                              testing::GrantedEvent(kTrack, generation, Attempt(1))};
  ASSERT_TRUE(ledger->Append(first));
  Result<std::optional<GenerationIndex>> index = ledger->FindGeneration(kTrack, generation);
  ASSERT_TRUE(index && *index);
  EXPECT_EQ(**index, (GenerationIndex{kTrack, generation, Seq(2), {}, Seq(0)}));

  // A void that is measured again leaves it open; a report of another attempt is one more.
  std::vector<Event> rest = {testing::MeasuredEvent(kTrack, generation, Attempt(1), numbers),
                             testing::DecidedEvent(kTrack, generation, numbers, /*again=*/true),
                             testing::GrantedEvent(kTrack, generation, Attempt(2)),
                             testing::MeasuredEvent(kTrack, generation, Attempt(2), numbers),
                             testing::DecidedEvent(kTrack, generation, numbers)};
  ASSERT_TRUE(ledger->Append(rest));
  index = ledger->FindGeneration(kTrack, generation);
  ASSERT_TRUE(index && *index);
  EXPECT_EQ(**index, (GenerationIndex{kTrack, generation, Seq(2), {Seq(4), Seq(7)}, Seq(8)}));
  index = ledger->FindGeneration(kTrack, Generation(2));
  ASSERT_TRUE(index);
  EXPECT_FALSE(*index);
  EXPECT_EQ(Problem(*ledger), "");
}

TEST_F(LedgerTest, RemembersWhichAttemptsWereGrantedAndWhichReportWasTaken) {
  const std::unique_ptr<Ledger> ledger = Open();
  Numbers numbers(5);
  const Generation one(1);
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kMeasure, one, Attempt(1)).value(), std::nullopt);
  std::vector<Event> granted = {testing::GrantedEvent(kTrack, one, Attempt(1))};
  ASSERT_TRUE(ledger->Append(granted));
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kMeasure, one, Attempt(1)).value(), Digest{});
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kMeasure, one, Attempt(2)).value(), std::nullopt);

  std::vector<Event> measured = {testing::MeasuredEvent(kTrack, one, Attempt(1), numbers)};
  ASSERT_TRUE(ledger->Append(measured));
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kMeasure, one, Attempt(1)).value(),
            std::get<Measured>(measured[0].body).digest);
}

TEST_F(LedgerTest, ConfirmationsAreNotTakenForGenerationsOfTheSameNumber) {
  const std::unique_ptr<Ledger> ledger = Open();
  Numbers numbers(5);
  const Generation one(1);
  std::vector<Event> events = {
      testing::ProposedEvent(kTrack, one, numbers), testing::GrantedEvent(kTrack, one, Attempt(1)),
      testing::MeasuredEvent(kTrack, one, Attempt(1), numbers),
      testing::GrantedEvent(kTrack, one, Attempt(1), OrderKind::kConfirm),
      testing::MeasuredEvent(kTrack, one, Attempt(1), numbers, OrderKind::kConfirm)};
  ASSERT_TRUE(ledger->Append(events));
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kMeasure, one, Attempt(1)).value(),
            std::get<Measured>(events[2].body).digest);
  EXPECT_EQ(ledger->Seen(kTrack, OrderKind::kConfirm, one, Attempt(1)).value(),
            std::get<Measured>(events[4].body).digest);
  const Result<std::optional<GenerationIndex>> index = ledger->FindGeneration(kTrack, one);
  ASSERT_TRUE(index && *index);
  EXPECT_THAT((*index)->measured, ::testing::ElementsAre(Seq(4)));
  EXPECT_EQ(Problem(*ledger), "");
}

TEST_F(LedgerTest, KeepsBlobsByTheirDigest) {
  const std::string bytes = "constexpr int kStep = 8;\n";
  {
    const std::unique_ptr<Ledger> ledger = Open();
    ASSERT_TRUE(ledger->PutBlob(Sha256(bytes), bytes));
    ASSERT_TRUE(ledger->PutBlob(Sha256(bytes), bytes));
    std::vector<Event> opened = {testing::Opened(kTrack)};
    std::get<TrackOpened>(opened[0].body).spec.package = {{"operation.toml", Sha256(bytes)}};
    ASSERT_TRUE(ledger->Append(opened));
  }
  const std::unique_ptr<Ledger> ledger = Open();
  const Result<std::optional<std::string>> blob = ledger->Blob(Sha256(bytes));
  ASSERT_TRUE(blob);
  EXPECT_EQ(*blob, bytes);
  const Result<std::optional<std::string>> other = ledger->Blob(Sha256("other"));
  ASSERT_TRUE(other);
  EXPECT_EQ(*other, std::nullopt);
  EXPECT_EQ(Problem(*ledger), "");
}

TEST_F(LedgerTest, FullReadMissesAPackageFileThatIsNotThere) {
  const std::unique_ptr<Ledger> ledger = Open();
  std::vector<Event> opened = {testing::Opened(kTrack)};
  std::get<TrackOpened>(opened[0].body).spec.package = {{"operation.toml", Sha256("lost")}};
  ASSERT_TRUE(ledger->Append(opened));
  EXPECT_THAT(Problem(*ledger), HasSubstr("package file operation.toml"));
}

Snapshot SnapshotAt(const Ledger& ledger, Seq seq) {
  Snapshot snapshot;
  snapshot.seq = seq;
  snapshot.epoch = ledger.epoch();
  snapshot.ledger = ledger.id();
  TrackState track;
  track.id = kTrack;
  track.spec = testing::SampleSpec("track 1");
  track.settled = seq;
  track.tried = {1, 2, 3};
  snapshot.tracks.push_back(track);
  return snapshot;
}

TEST_F(LedgerTest, GivesTheNewestSnapshotAndKeepsTwo) {
  const std::unique_ptr<Ledger> ledger = Open();
  Fill(*ledger, 4);
  const Result<std::optional<Snapshot>> none = ledger->LatestSnapshot();
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, std::nullopt);
  for (const std::uint64_t seq : {3, 7, 12}) {
    const Status put = ledger->PutSnapshot(SnapshotAt(*ledger, Seq(seq)));
    ASSERT_TRUE(put) << put.error().message;
  }
  const Result<std::optional<Snapshot>> latest = ledger->LatestSnapshot();
  ASSERT_TRUE(latest);
  EXPECT_EQ(*latest, SnapshotAt(*ledger, Seq(12)));
  EXPECT_EQ(Problem(*ledger), "");
}

TEST_F(LedgerTest, HoldsTellsAHeadOfAnotherHistory) {
  const std::unique_ptr<Ledger> ledger = Open();
  const LedgerHead early = ledger->head();
  Fill(*ledger, 2);
  EXPECT_TRUE(ledger->Holds(LedgerHead{}));
  EXPECT_TRUE(ledger->Holds(early));
  EXPECT_TRUE(ledger->Holds(ledger->head()));
  LedgerHead ahead = ledger->head();
  ahead.seq = ahead.seq.Next();
  EXPECT_FALSE(ledger->Holds(ahead));
  LedgerHead other = early;
  other.digest = Sha256("another history");
  EXPECT_FALSE(ledger->Holds(other));
  other = early;
  other.ledger = LedgerId("ffffffffffffffffffffffffffffffff");
  EXPECT_FALSE(ledger->Holds(other));
}

TEST_F(LedgerTest, FullReadReportsItsProgress) {
  const std::unique_ptr<Ledger> ledger = Open();
  Fill(*ledger, 2);
  std::vector<std::uint64_t> done;
  const Result<ChainReport> report = ledger->VerifyChain([&](Seq at, Seq total) {
    EXPECT_EQ(total, Seq(10));
    done.push_back(at.value);
  });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->ok()) << report->problem;
  EXPECT_EQ(report->events, Seq(10));
  EXPECT_THAT(done, ::testing::ElementsAre(10));
}

TEST(LedgerOnDisk, ReaderWorksBesideAWriterAndLeavesNoTrace) {
  TempFolder temp;
  const std::string folder = temp / "ledger";
  const std::unique_ptr<Ledger> writer = OpenOrDie(folder);
  Fill(*writer, 3);
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      found.insert(entry.path().filename());
    }
    return found;
  };
  const std::set<std::string> before = names();
  {
    // Nothing was flushed: what it reads is in the write-ahead log alone.
    const std::unique_ptr<Ledger> reader = OpenOrDie(folder, Ledger::Mode::kRead);
    EXPECT_EQ(reader->head(), writer->head());
    EXPECT_EQ(ReadAll(*reader), ReadAll(*writer));
    const LedgerHead frozen = reader->head();
    std::vector<Event> more = {testing::Opened(TrackId(2))};
    ASSERT_TRUE(writer->Append(more));
    EXPECT_EQ(reader->head(), frozen);
    EXPECT_EQ(ReadAll(*reader).size(), frozen.seq.value);
    EXPECT_EQ(Problem(*reader), "");
  }
  EXPECT_EQ(names(), before);
  std::vector<Event> more = {testing::Opened(TrackId(3))};
  EXPECT_TRUE(writer->Append(more));
}

TEST(LedgerOnDisk, ReadersSeeWholeLedgersWhileAWriterFlushesAndCompacts) {
  TempFolder temp;
  const std::string folder = temp / "ledger";
  Ledger::Options small;
  small.max_wal_bytes = 64 << 10;
  const std::unique_ptr<Ledger> writer = OpenOrDie(folder, Ledger::Mode::kWrite, small);
  Numbers numbers(1);
  for (std::uint32_t number = 1; number <= 200; ++number) {
    std::vector<Event> events = GenerationEvents(kTrack, Generation(number), numbers);
    ASSERT_TRUE(writer->Append(events));
    if (number % 10 != 0) continue;
    const std::unique_ptr<Ledger> reader = OpenOrDie(folder, Ledger::Mode::kRead);
    EXPECT_EQ(reader->head(), writer->head());
    EXPECT_EQ(Problem(*reader), "");
  }
}

TEST(LedgerOnDisk, RefusesASecondWriterAndNamesTheFirst) {
  TempFolder temp;
  const std::string folder = temp / "ledger";
  std::unique_ptr<Ledger> first = OpenOrDie(folder);
  const Result<std::unique_ptr<Ledger>> second = Ledger::Open(folder, Ledger::Mode::kWrite);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().advice, Advice::kRetry);
  EXPECT_THAT(second.error().message,
              HasSubstr("ledger " + folder + ": process " + std::to_string(getpid()) + " on "));
  EXPECT_THAT(second.error().message,
              HasSubstr("is writing to it; stop that one first, or use another ledger"));
  // The refusal did not take the first one's lock away, nor its name.
  EXPECT_FALSE(Ledger::Open(folder, Ledger::Mode::kWrite));
  EXPECT_TRUE(std::filesystem::exists(folder + "/WRITER"));
  first.reset();
  EXPECT_TRUE(Ledger::Open(folder, Ledger::Mode::kWrite));
}

TEST(LedgerOnDisk, MakesTheFoldersAboveIt) {
  TempFolder temp;
  const std::unique_ptr<Ledger> ledger = OpenOrDie(temp / "a/b/ledger/");
  EXPECT_EQ(ledger->folder(), temp / "a/b/ledger");
  EXPECT_GT(ledger->FreeBytes(), 0u);
}

TEST(LedgerOnDisk, RefusesToReadWhatIsNotThere) {
  TempFolder temp;
  const Result<std::unique_ptr<Ledger>> none = Ledger::Open(temp / "none", Ledger::Mode::kRead);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "ledger " + (temp / "none") + ": there is none; `pawl run` makes one");
  EXPECT_FALSE(std::filesystem::exists(temp / "none"));
}

TEST(LedgerOnDisk, RefusesAFolderWithOtherFiles) {
  TempFolder temp;
  const std::string folder = temp / "home";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/thesis.tex") << "x";
  for (const Ledger::Mode mode : {Ledger::Mode::kRead, Ledger::Mode::kWrite}) {
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode);
    ASSERT_FALSE(ledger);
    EXPECT_EQ(ledger.error().message,
              "ledger " + folder + ": not a ledger (it holds 'thesis.tex'); name another folder");
  }
}

TEST(LedgerOnDisk, RefusesANewerFormatNamingBothAndChangesNothing) {
  TempFolder temp;
  const std::string folder = temp / "ledger";
  OpenOrDie(folder).reset();
  {
    std::unique_ptr<Store> store;
    ASSERT_TRUE(Store::Open({rocksdb::Env::Default(), folder, 1 << 20}, Store::Access::kWrite,
                            Store::Recovery::kWhole, &store)
                    .ok());
    rocksdb::WriteBatch batch;
    store->Put(batch, Family::kState, ledger_layout::kFormatKey,
               ledger_layout::NumberValue(kLedgerFormat + 1));
    ASSERT_TRUE(store->db().Write(rocksdb::WriteOptions(), &batch).ok());
  }
  for (const Ledger::Mode mode : {Ledger::Mode::kRead, Ledger::Mode::kWrite}) {
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode);
    ASSERT_FALSE(ledger);
    EXPECT_EQ(ledger.error().message, "ledger " + folder +
                                          ": it has format 2, this pawl reads up to 1; use the "
                                          "pawl that wrote it, or a newer one");
  }
}

TEST(LedgerOnDisk, KnowsFileSystemsThatSeveralMachinesMount) {
  EXPECT_EQ(NetworkFileSystem(0x6969), "nfs");
  EXPECT_EQ(NetworkFileSystem(static_cast<long>(0xFF534D42ul)), "cifs");
  EXPECT_EQ(NetworkFileSystem(static_cast<long>(static_cast<int>(0xFF534D42u))), "cifs");
  EXPECT_EQ(NetworkFileSystem(0xEF53), "");      // ext4
  EXPECT_EQ(NetworkFileSystem(0x01021994), "");  // tmpfs
}

}  // namespace
}  // namespace pawl
