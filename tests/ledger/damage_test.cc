// Data files that were flipped, cut or deleted: reported, or every event reads back as it was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/ledger.h"
#include "coordinator/ledger/store.h"
#include "tests/ledger/sample_ledger.h"
#include "tests/ledger/writer_process.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using testing::Acked;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Numbers;
using testing::OpenOrDie;
using testing::Problem;
using testing::ReadAll;
using testing::WriterProcess;

std::string TypeOf(const fs::path& file) {
  const std::string name = file.filename();
  if (file.extension() == ".log") return "WAL";
  if (file.extension() == ".sst") return "SST";
  return name.substr(
      0, name.find_first_of("-."));  // MANIFEST, CURRENT, OPTIONS, IDENTITY, HEAD, LOG ...
}

std::map<std::string, std::vector<fs::path>> FilesByType(const std::string& folder) {
  std::map<std::string, std::vector<fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.file_size() > 0) files[TypeOf(entry.path())].push_back(entry.path());
  }
  for (auto& [type, paths] : files) std::sort(paths.begin(), paths.end());
  return files;
}

void FlipBit(const fs::path& file, std::uint64_t bit) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(bit / 8));
  const char byte = static_cast<char>(stream.get() ^ 1 << bit % 8);
  stream.seekp(static_cast<std::streamoff>(bit / 8));
  stream.put(byte);
  ASSERT_TRUE(stream.good()) << file;
}

void CutEnd(const fs::path& file, std::uint64_t bytes) {
  fs::resize_file(file, fs::file_size(file) - bytes);
}

fs::path WalOf(const std::string& folder) {
  const std::vector<fs::path> logs = FilesByType(folder)["WAL"];
  CHECK(!logs.empty(), folder);
  return logs.back();
}

// A ledger as a kill leaves it, its copy as a close leaves it, and what it holds.
class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    // It stops before it is killed, so that its log ends with what was acknowledged; and not just
    // after a flush, so that there is a log.
    for (std::size_t acks = 1'500;; acks += 10) {
      fs::remove_all(killed_);
      WriterProcess writer(killed_, /*seed=*/1, /*max_wal_bytes=*/128 << 10, acks);
      writer.WaitForAcks(acks);
      acked_ = writer.Kill().back();
      if (fs::file_size(WalOf(killed_)) > 16 << 10) break;
    }
    fs::copy(killed_, closed_, fs::copy_options::recursive);
    OpenOrDie(closed_).reset();
    const std::unique_ptr<Ledger> ledger = OpenOrDie(killed_, Ledger::Mode::kRead);
    id_ = ledger->id();
    events_ = ReadAll(*ledger);
    ASSERT_EQ(events_.size(), acked_.seq.value);
  }

  std::string Copy(const std::string& original) {
    const std::string copy = temp_ / "copy";
    fs::remove_all(copy);
    fs::copy(original, copy, fs::copy_options::recursive);
    return copy;
  }

  LedgerHead Remembered() const { return {id_, acked_.seq, acked_.digest}; }

  // How a damage is told; "" when it is not and every acknowledged event is as it was.
  std::string Detection(const std::string& folder, Ledger::Mode mode) {
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode);
    if (!ledger) {
      EXPECT_THAT(ledger.error().message, HasSubstr(folder));
      return "opening";
    }
    if (Problem(**ledger) != "") return "verify";
    if (!(*ledger)->Holds(Remembered())) return "a worker's head";
    std::vector<Event> read = ReadAll(**ledger);
    read.resize(acked_.seq.value);
    EXPECT_TRUE(read == events_) << "events changed and nothing was said";
    return "";
  }

  TempFolder temp_;
  const std::string killed_ = temp_ / "killed";
  const std::string closed_ = temp_ / "closed";
  Acked acked_;
  LedgerId id_;
  std::vector<Event> events_;
};

TEST_F(Damage, EveryFlippedBitAndCutIsReportedOrHarmless) {
  constexpr int kPlaces = 240;
  Numbers numbers(2024);
  std::map<std::string, std::map<std::string, int>>
      told;  // file type and damage -> how it was told
  std::vector<std::string> types;
  for (const auto& [type, files] : FilesByType(killed_)) {
    if (type == "LOG" || type == "WRITER" || type == "LOCK") continue;  // no data
    types.push_back(type);
    if (type == "WAL" || type == "SST" || type == "MANIFEST") types.insert(types.end(), 3, type);
  }
  ASSERT_THAT(types, ::testing::IsSupersetOf({"WAL", "SST", "MANIFEST", "CURRENT"}));
  for (int place = 0; place < kPlaces; ++place) {
    const std::string& type = types[static_cast<std::size_t>(place) % types.size()];
    const bool killed = type == "WAL" || numbers.Below(2) == 0;
    const std::string folder = Copy(killed ? killed_ : closed_);
    const std::vector<fs::path> files = FilesByType(folder)[type];
    ASSERT_FALSE(files.empty()) << type;
    const fs::path file = files[numbers.Below(files.size())];
    const std::uint64_t bytes = fs::file_size(file);
    std::string damage;
    if (place % 8 == 7) {
      damage = "deleted";
      fs::remove(file);
    } else if (place % 2 == 0) {
      damage = "flipped";
      FlipBit(file, numbers.Below(8 * bytes));
    } else {
      damage = "cut";
      CutEnd(file,
             1 + numbers.Below(numbers.Below(2) == 0 ? bytes : std::min<std::uint64_t>(bytes, 64)));
    }
    SCOPED_TRACE(damage + " " + file.filename().string() + ", place " + std::to_string(place));
    // Reading first: it must not mend anything.
    const std::string read = Detection(folder, Ledger::Mode::kRead);
    const std::string written = Detection(folder, Ledger::Mode::kWrite);
    EXPECT_EQ(read, written);
    ++told[type + " " + damage][read.empty() ? "harmless" : read];
  }
  for (const auto& [what, ways] : told) {
    std::printf("%-18s", what.c_str());
    for (const auto& [way, count] : ways) std::printf("  %s %d", way.c_str(), count);
    std::printf("\n");
  }
}

TEST_F(Damage, RefusesALogCutBelowWhatWasAckedAndChangesNothing) {
  const std::string folder = Copy(killed_);
  CutEnd(WalOf(folder), 37);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, Ledger::Mode::kWrite);
    ASSERT_FALSE(ledger);
    EXPECT_EQ(ledger.error().advice, Advice::kHalt);
    EXPECT_THAT(ledger.error().message, HasSubstr("but event " + std::to_string(acked_.seq.value) +
                                                  " was acknowledged (HEAD)"));
    EXPECT_THAT(ledger.error().message, HasSubstr("restore the folder from a copy, or delete"));
  }
  // The end of the log is put back: all is there again.
  fs::copy(WalOf(killed_), WalOf(folder), fs::copy_options::overwrite_existing);
  EXPECT_EQ(ReadAll(*OpenOrDie(folder)), ReadAll(*OpenOrDie(killed_, Ledger::Mode::kRead)));
}

TEST_F(Damage, RefusesADeletedLogThatRocksDbDoesNotMiss) {
  const std::string folder = Copy(killed_);
  const auto files = FilesByType(folder);
  for (const fs::path& log : files.at("WAL")) fs::remove(log);
  const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, Ledger::Mode::kRead);
  ASSERT_FALSE(ledger);
  EXPECT_THAT(ledger.error().message, HasSubstr("was acknowledged (HEAD): event"));
}

TEST_F(Damage, SaysHowFarAFlippedLogIsWhole) {
  const std::string folder = Copy(killed_);
  FlipBit(WalOf(folder), 8 * (fs::file_size(WalOf(folder)) / 3));
  const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, Ledger::Mode::kWrite);
  ASSERT_FALSE(ledger);
  EXPECT_THAT(ledger.error().message,
              HasSubstr("can be read, of " + std::to_string(acked_.seq.value) + " acknowledged"));
  EXPECT_THAT(ledger.error().message, HasSubstr("restore the folder from a copy"));
}

// RocksDB itself aborts over these.
TEST_F(Damage, RefusesALogWhoseRecordsComeTwice) {
  std::ifstream log(WalOf(killed_), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(log)), {});
  const auto refusal = [&](const std::string& folder) {
    std::string told;
    for (const Ledger::Mode mode : {Ledger::Mode::kRead, Ledger::Mode::kWrite}) {
      const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode);
      EXPECT_FALSE(ledger);
      if (!ledger) told = ledger.error().message;
    }
    return told;
  };
  std::string folder = Copy(killed_);
  std::ofstream(WalOf(folder), std::ios::binary | std::ios::app) << whole;
  EXPECT_THAT(refusal(folder), HasSubstr("damaged: "));  // or torn at a block's end, by chance
  folder = Copy(killed_);
  std::ofstream(folder + "/900000.log", std::ios::binary) << whole;
  EXPECT_THAT(refusal(folder), HasSubstr("900000.log goes back from record "));
}

TEST_F(Damage, AWorkersMemoryTellsWhatIsLostTogetherWithHead) {
  const std::string folder = Copy(killed_);
  CutEnd(WalOf(folder), 37);
  fs::remove(folder + "/HEAD");
  const std::unique_ptr<Ledger> ledger = OpenOrDie(folder);
  ASSERT_EQ(ledger->notes().size(), 2u);
  EXPECT_THAT(ledger->notes()[0], HasSubstr("HEAD is missing"));
  EXPECT_THAT(ledger->notes()[1], HasSubstr("ended in an incomplete record"));
  EXPECT_FALSE(ledger->Holds(Remembered()));
}

TEST_F(Damage, AnOlderCopyIsToldByAWorkersMemory) {
  const std::unique_ptr<Ledger> ledger = OpenOrDie(closed_);
  std::vector<Event> more = {testing::Opened(TrackId(2))};
  const Result<LedgerHead> head = ledger->Append(more);
  ASSERT_TRUE(head);
  EXPECT_TRUE(ledger->Holds(*head));
  EXPECT_FALSE(OpenOrDie(killed_)->Holds(*head));
}

TEST_F(Damage, HeadOfAnotherLedgerIsRefused) {
  const std::string other = temp_ / "other";
  OpenOrDie(other).reset();
  const std::string folder = Copy(closed_);
  fs::copy(other + "/HEAD", folder + "/HEAD", fs::copy_options::overwrite_existing);
  const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, Ledger::Mode::kWrite);
  ASSERT_FALSE(ledger);
  EXPECT_THAT(ledger.error().message, HasSubstr("HEAD is of ledger"));
}

TEST_F(Damage, RefusesAFolderWithoutItsEntrance) {
  const std::string folder = Copy(closed_);
  fs::remove(folder + "/CURRENT");
  const std::size_t files = FilesByType(folder)["SST"].size();
  for (const Ledger::Mode mode : {Ledger::Mode::kRead, Ledger::Mode::kWrite}) {
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode);
    ASSERT_FALSE(ledger);
    EXPECT_THAT(ledger.error().message, HasSubstr("damaged: the file CURRENT is missing"));
  }
  EXPECT_EQ(FilesByType(folder)["SST"].size(), files);
}

TEST(TornTail, NeverAckedIsCutAndSaid) {
  TempFolder temp;
  const std::string before = temp / "before";
  const std::string after = temp / "after";
  LedgerHead acked;
  {
    const std::unique_ptr<Ledger> writer = OpenOrDie(temp / "ledger");
    testing::Fill(*writer, 3);
    acked = writer->head();
    fs::copy(writer->folder(), before);
    std::vector<Event> more = {testing::Opened(TrackId(2))};
    ASSERT_TRUE(writer->Append(more));
    fs::copy(writer->folder(), after);
  }
  // What a crash in the middle of the last append leaves.
  fs::copy(WalOf(after), WalOf(before), fs::copy_options::overwrite_existing);
  CutEnd(WalOf(before), 37);
  {
    const std::unique_ptr<Ledger> reader = OpenOrDie(before, Ledger::Mode::kRead);
    EXPECT_EQ(reader->head(), acked);
    ASSERT_EQ(reader->notes().size(), 1u);
    EXPECT_THAT(reader->notes()[0], HasSubstr("never acknowledged; it was left out"));
  }
  {
    const std::unique_ptr<Ledger> writer = OpenOrDie(before);
    EXPECT_TRUE(writer->Holds(acked));
    EXPECT_EQ(writer->head().seq, acked.seq.Next());
    const std::vector<Event> events = ReadAll(*writer);
    ASSERT_TRUE(std::holds_alternative<TailTorn>(events.back().body));
    EXPECT_EQ(std::get<TailTorn>(events.back().body).last_good, acked.seq);
    EXPECT_EQ(writer->notes().size(), 1u);
    EXPECT_EQ(Problem(*writer), "");
  }
  const std::unique_ptr<Ledger> again = OpenOrDie(before);
  EXPECT_THAT(again->notes(), IsEmpty());
  EXPECT_EQ(again->head().seq, acked.seq.Next());
}

TEST(UnfinishedMaking, IsFinishedUnderTheSameName) {
  TempFolder temp;
  const std::string folder = temp / "ledger";
  const LedgerId id = [&] {
    const std::unique_ptr<Ledger> ledger = OpenOrDie(folder);
    return ledger->id();
  }();
  // As it is when nothing but HEAD was written: HEAD of event 0.
  const std::string other = temp / "other";
  fs::create_directory(other);
  std::string record = "pawl head ledger=" + id.value + " seq=0 digest=" + Digest{}.Hex();
  record += " check=" + Sha256(record).Hex().substr(0, 16);
  record.resize(255, ' ');
  record += '\n';
  std::ofstream(other + "/HEAD") << record << record;
  EXPECT_FALSE(Ledger::Open(other, Ledger::Mode::kRead));
  const std::unique_ptr<Ledger> ledger = OpenOrDie(other);
  EXPECT_EQ(ledger->id(), id);
  EXPECT_EQ(ledger->head().seq, Seq(1));
}

}  // namespace
}  // namespace pawl
