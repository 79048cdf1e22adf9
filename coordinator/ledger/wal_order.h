#pragma once
// Whether the records of the write-ahead log follow one another: RocksDB, as Debian builds it,
// aborts the process over one that comes a second time (a file that was pasted together, or copied
// under a later number), where a refusal is due. Private to this folder.
//
// Source of the format: RocksDB's db/log_format.h and db/write_batch.cc. A file is blocks of 32768
// bytes; a record is chunks of checksum (4), length (2), type (1) and that many bytes, none across
// a block's end; its first chunk begins with its sequence number (8, little endian).

#include <rocksdb/env.h>

#include <optional>
#include <string>

namespace pawl {

// nullopt: they do, as far as they can be told apart; what cannot is RocksDB's to refuse. Else
// where the log goes back: "000004.log goes back from record 1253 to 2 at byte 526232".
std::optional<std::string> WhyNotInOrder(rocksdb::Env* env, const std::string& folder);

}  // namespace pawl
