#pragma once
// Reports that are not acknowledged yet, and the newest ledger head seen: small files, fsynced.
//
// Invariant: a report that Put returned for survives kill -9 and power loss until Remove.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/message.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

class Spool {
 public:
  static Result<std::unique_ptr<Spool>> Open(const std::string& folder);
  ~Spool();

  Status Put(const Report& report);
  void Remove(const Digest& report);     // of EncodeReport's bytes; unknown: nothing
  std::vector<Report> Pending() const;   // oldest first; damaged files are set aside, said by Notes
  std::vector<std::string> Notes() const;

  LedgerHead Head(const LedgerId& ledger) const;  // highest acked of that ledger, or empty
  LedgerHead LastHead() const;                    // of the ledger seen last
  Status Remember(const LedgerHead& head);        // not fsynced each time; at least every 100th and at close

 private:
  struct State;
  explicit Spool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
