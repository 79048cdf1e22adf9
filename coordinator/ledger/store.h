#pragma once
// RocksDB as the ledger uses it: six column families, one set of options, every access checked.
// Private to this folder.
//
// Promises: opening to read writes nothing and takes no lock. Families are flushed together, so
// that a lost tail of the MANIFEST loses all of them at one point, never one alone.

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/ids.h"
#include "schema/result.h"

namespace pawl {

enum class Family : std::uint8_t { kLog, kGen, kSeen, kBlob, kSnap, kState };
inline constexpr std::size_t kFamilyCount = 6;

class Store {
 public:
  enum class Access { kCreate, kRead, kWrite };
  // How the write-ahead log is read back.
  enum class Recovery {
    kWhole,    // any damage is refused
    kCutTail,  // an incomplete record at the end is left out
    kPrefix,   // stops at the first damage; only to say how far it is whole
  };
  struct Place {
    rocksdb::Env* env = nullptr;
    std::string folder;
    std::uint64_t max_wal_bytes = 0;
  };

  static rocksdb::Status Open(const Place& place, Access access, Recovery recovery,
                              std::unique_ptr<Store>* store);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* family(Family family);

  void Put(rocksdb::WriteBatch& batch, Family to, std::string_view key, std::string_view value);
  // nullopt: not there.
  Result<std::optional<std::string>> Get(Family from, std::string_view key);
  std::unique_ptr<rocksdb::Iterator> Iterate(Family over, bool fill_cache = true);
  // Flushes every family at once.
  rocksdb::Status Flush();
  // How many entries a family that never overwrites nor deletes has, without reading them.
  Result<std::uint64_t> Entries(Family of);

 private:
  Store() = default;

  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> families_{};
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
};

inline std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
inline rocksdb::Slice AsSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// RocksDB's text as a part of one of our lines.
std::string Text(const rocksdb::Status& status);

}  // namespace pawl
