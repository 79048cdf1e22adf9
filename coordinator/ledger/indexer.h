#pragma once
// What events change in the indexes `gen` and `seen`. Private to this folder.
//
//   Proposed             gen: proposed            Granted    seen: zeros, where nothing is yet
//   Measured (measure)   gen: measured, one more  Measured   seen: its digest, where none is yet
//   Decided (not again)  gen: decided
//
// A confirmation has no entry in `gen`; in `seen` its kind keeps it apart.

#include <map>
#include <optional>
#include <string>

#include "coordinator/ledger/ledger.h"
#include "coordinator/ledger/store.h"
#include "schema/event.h"

namespace pawl {

// An event's entries: which generation it belongs to, and which attempt it grants or reports.
struct SeenMark {
  std::string key;
  Digest digest;  // zero: granted
};
std::optional<Generation> IndexedGeneration(const Event& event);
std::optional<SeenMark> IndexedAttempt(const Event& event);

// Collects the changes of events that are appended as one batch.
class Indexer {
 public:
  explicit Indexer(Store& store) : store_(store) {}

  Status Add(const Event& event);
  void WriteTo(rocksdb::WriteBatch& batch);

 private:
  Store& store_;
  std::map<std::string, GenerationIndex> generations_;
  std::map<std::string, Digest> seen_;
};

}  // namespace pawl
