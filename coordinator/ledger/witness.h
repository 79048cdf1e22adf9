#pragma once
// HEAD: the last acknowledged event, in a file beside the database. It tells a log that lost its
// end (a deleted or cut write-ahead log opens without complaint) from one that never had it.
// Private to this folder.
//
// Written after an append is synced and before it is acknowledged, and itself not synced: the
// kernel keeps it over a kill -9, and after a power loss it is older than the log, never newer, so
// that it cannot accuse a whole log. It is synced when a ledger is opened and closed. Sequence
// number 0: made, and nothing was acknowledged yet.
//
//   HEAD = record record             written in turn, so that a torn one leaves the other
//   record = "pawl head ledger=ID seq=N digest=HEX check=HEX16" padded with blanks, newline: 256
//   bytes

#include <rocksdb/env.h>

#include <memory>
#include <optional>
#include <string>

#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

class Witness {
 public:
  struct Reading {
    bool exists = false;
    std::optional<LedgerHead> head;  // nullopt: not there or not readable
    bool damaged = false;            // at least one record is
  };
  static Result<Reading> Read(rocksdb::Env* env, const std::string& folder);
  static Result<Reading> ReadOnce(rocksdb::Env* env, const std::string& folder);

  // Replaces the file by one that says `head`, on the disk before this returns.
  static Result<std::unique_ptr<Witness>> Open(rocksdb::Env* env, const std::string& folder,
                                               const LedgerHead& head);
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  Status Put(const LedgerHead& head);
  Status Sync();

 private:
  Witness(std::string path, std::unique_ptr<rocksdb::RandomRWFile> file);

  const std::string path_;
  std::unique_ptr<rocksdb::RandomRWFile> file_;
  int next_slot_ = 0;
};

}  // namespace pawl
