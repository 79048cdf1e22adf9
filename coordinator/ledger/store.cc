#include "coordinator/ledger/store.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace pawl {
namespace {

constexpr std::array<const char*, kFamilyCount> kFamilyNames = {"log",  "gen",  "seen",
                                                                "blob", "snap", "state"};
constexpr std::size_t kCacheBytes = 32 << 20;
constexpr std::size_t kBlockBytes = 16 << 10;

// A reader must leave no trace in the folder, and RocksDB's own log file is one.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::DBOptions DatabaseOptions(const Store::Place& place, Store::Access access,
                                   Store::Recovery recovery) {
  rocksdb::DBOptions options;
  options.env = place.env;
  options.create_if_missing = access == Store::Access::kCreate;
  options.create_missing_column_families = access == Store::Access::kCreate;
  options.paranoid_checks = true;
  // All files stay open: a reader keeps its view although the writer deletes what it has compacted.
  options.max_open_files = -1;
  // One log serves all families and lives until the last of them is flushed.
  options.max_total_wal_size = place.max_wal_bytes;
  options.atomic_flush = true;
  options.max_background_jobs = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_log_file_size = 1 << 20;
  options.keep_log_file_num = 2;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  if (access == Store::Access::kRead) options.info_log = std::make_shared<NoLog>();
  switch (recovery) {
    case Store::Recovery::kWhole:
      options.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
      break;
    case Store::Recovery::kCutTail:
      options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
      break;
    case Store::Recovery::kPrefix:
      options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
      break;
  }
  return options;
}

rocksdb::ColumnFamilyOptions FamilyOptions(Family family,
                                           const std::shared_ptr<rocksdb::Cache>& cache,
                                           const Store::Place& place) {
  rocksdb::ColumnFamilyOptions options;
  // Small, so that little is read back from the write-ahead log after a kill.
  const bool large = family == Family::kLog || family == Family::kBlob || family == Family::kSnap;
  options.write_buffer_size = std::min<std::size_t>(
      large ? 8 << 20 : 2 << 20, std::max<std::size_t>(place.max_wal_bytes, 64 << 10));
  options.max_write_buffer_number = 4;
  options.paranoid_file_checks = true;
  options.force_consistency_checks = true;
  options.compression = rocksdb::kLZ4Compression;
  options.bottommost_compression = rocksdb::kZSTD;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = kBlockBytes;
  table.checksum = rocksdb::kXXH3;
  if (family == Family::kSeen || family == Family::kBlob) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

std::string Text(const rocksdb::Status& status) {
  std::string text = status.ToString();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' &&
      !(text.size() > 1 && text[1] >= 'A' && text[1] <= 'Z')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

rocksdb::Status Store::Open(const Place& place, Access access, Recovery recovery,
                            std::unique_ptr<Store>* store) {
  store->reset();
  const rocksdb::DBOptions options = DatabaseOptions(place, access, recovery);
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kCacheBytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions());
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    descriptors.emplace_back(kFamilyNames[i], FamilyOptions(static_cast<Family>(i), cache, place));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      access == Access::kRead
          ? rocksdb::DB::OpenForReadOnly(options, place.folder, descriptors, &handles, &db)
          : rocksdb::DB::Open(options, place.folder, descriptors, &handles, &db);
  if (!status.ok()) return status;
  std::unique_ptr<Store> opened(new Store());
  opened->db_.reset(db);
  opened->default_ = handles[0];
  for (std::size_t i = 0; i < kFamilyCount; ++i) opened->families_[i] = handles[i + 1];
  *store = std::move(opened);
  return status;
}

Store::~Store() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* handle : families_) db_->DestroyColumnFamilyHandle(handle);
  db_->DestroyColumnFamilyHandle(default_);
  db_->Close();
}

rocksdb::ColumnFamilyHandle* Store::family(Family family) {
  return families_[static_cast<std::size_t>(family)];
}

void Store::Put(rocksdb::WriteBatch& batch, Family to, std::string_view key,
                std::string_view value) {
  const rocksdb::Status status = batch.Put(family(to), AsSlice(key), AsSlice(value));
  CHECK(status.ok(), Text(status));
}

Result<std::optional<std::string>> Store::Get(Family from, std::string_view key) {
  std::string value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), family(from), AsSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return Error{Text(status), Advice::kHalt};
  return std::optional<std::string>(std::move(value));
}

std::unique_ptr<rocksdb::Iterator> Store::Iterate(Family over, bool fill_cache) {
  rocksdb::ReadOptions options;
  options.fill_cache = fill_cache;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, family(over)));
}

rocksdb::Status Store::Flush() {
  return db_->Flush(rocksdb::FlushOptions(), {families_.begin(), families_.end()});
}

Result<std::uint64_t> Store::Entries(Family of) {
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status = db_->GetPropertiesOfAllTables(family(of), &tables);
  if (!status.ok()) return Error{Text(status), Advice::kHalt};
  std::uint64_t entries = 0;
  for (const auto& table : tables) entries += table.second->num_entries;
  for (const std::string& property : {rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                                      rocksdb::DB::Properties::kNumEntriesImmMemTables}) {
    std::uint64_t in_memory = 0;
    if (db_->GetIntProperty(family(of), property, &in_memory)) entries += in_memory;
  }
  return entries;
}

}  // namespace pawl
