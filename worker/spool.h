#pragma once
// Reports that are not acknowledged yet, and the newest ledger head seen. A folder of one worker.
//
// Invariants:
// 1. A report that Put returned for survives kill -9 and power loss until Remove.
// 2. Put costs one fdatasync. A report lies in a slot file of its own, written in place: the file
// was
//    filled with zeros and synced, with its folder, when it was made, so that no later write
//    changes more than its bytes. A slot is used again once its report is removed.
// 3. A slot torn in the middle of Put fails its checksum and is set aside: Put had not returned for
// it.
//    Remove and Remember are not synced: after a power loss a removed report may be back (it is
//    sent again, and acknowledged again) and the head may be an older one, never a wrong one.
// After any failed sync the spool refuses to go on: what a retry reports says nothing about the
// disk.

#include <memory>
#include <string>
#include <vector>

#include "schema/message.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

struct SpooledReport {
  Digest digest;    // of EncodeReport's bytes: its name
  LedgerId ledger;  // that granted it: no other may be sent it
  Report report;

  bool operator==(const SpooledReport&) const = default;
};

class Spool {
 public:
  // Makes the folder. Errors: it cannot be made or read, or another process has it open.
  static Result<std::unique_ptr<Spool>> Open(const std::string& folder);
  ~Spool();

  Result<Digest> Put(const Report& report, const LedgerId& ledger);
  void Remove(const Digest& report);                  // unknown: nothing
  const std::vector<SpooledReport>& Pending() const;  // oldest first
  const std::vector<std::string>& Notes() const;      // what was damaged and set aside, a line each

  LedgerHead Head(const LedgerId& ledger) const;  // the highest remembered of it, or an empty one
  LedgerHead LastHead() const;                    // of the ledger remembered last
  // A head lower than the highest of its ledger is no news and not taken. Synced at every 100th and
  // at closing.
  Status Remember(const LedgerHead& head);

 private:
  struct State;
  explicit Spool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
