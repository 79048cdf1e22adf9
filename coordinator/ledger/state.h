#pragma once
// What an open ledger holds. Private to this folder.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/ledger/opening.h"
#include "coordinator/ledger/store.h"
#include "coordinator/ledger/witness.h"

namespace pawl {

struct Ledger::State {
  // Constant after opening.
  Store::Place place;
  Mode mode = Mode::kRead;
  Options options;

  std::unique_ptr<Store> store;
  std::unique_ptr<Witness> witness;  // kWrite only
  LedgerHead head;
  Epoch epoch;
  std::vector<std::string> notes;
  std::string unwitnessed;
  // Set by the first failure after which it is not known what is on the disk; Append returns it
  // from then on.
  std::optional<Error> halted;

  ~State();

  std::string Where() const { return "ledger " + place.folder + ": "; }
  Error Damaged(const std::string& what) const;
  Error Halt(const std::string& what);
  // An event's bytes and digest; the digest of seq 0 is zero.
  Result<std::string> LogValueAt(Seq seq);
  Result<Digest> DigestAt(Seq seq);
};

}  // namespace pawl
