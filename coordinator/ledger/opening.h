#pragma once
// From a folder to an open store, or to one line that says what is wrong with it. Private to this
// folder.
//
// Promises: a ledger is read and found whole before anything in its folder is written, so that what
// is refused stays as it was found.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/store.h"
#include "coordinator/ledger/witness.h"
#include "schema/ids.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

struct Opened {
  std::unique_ptr<Store> store;
  LedgerHead head;  // seq 0: empty, to be begun
  Epoch epoch;
  std::string
      torn;  // non-empty: an incomplete record at the end was left out; what RocksDB said of it
  std::string unwitnessed;  // non-empty: HEAD is missing or damaged; how
};

Result<Opened> OpenToRead(const Store::Place& place);

// `fresh_id` names a ledger that is made. The caller appends its first event, or TailTorn.
Result<Opened> OpenToWrite(const Store::Place& place, const LedgerId& fresh_id);

// Who writes, for the one who is refused: RocksDB's lock does not say.
void NameWriter(const Store::Place& place);
void ForgetWriter(const Store::Place& place);

// "nfs", "smb" ...: the name of a file system that several machines can mount, by statfs's magic;
// else empty.
std::string_view NetworkFileSystem(long magic);

// The last event of the log. nullopt: it is empty.
Result<std::optional<ledger_layout::HeadEntry>> LastEvent(Store& store);

}  // namespace pawl
