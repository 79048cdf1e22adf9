#pragma once
// Re-reads a ledger and asks of everything in it whether it follows from what went before.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "schema/result.h"

namespace pawl {

struct Verification {
  std::uint64_t events = 0;
  std::uint64_t proposals = 0;        // asked of the proposer again
  std::uint64_t decisions = 0;        // asked of the policy again
  std::uint64_t sources = 0;          // rendered again
  std::vector<std::string> problems;  // a line each; empty: all of it holds

  bool ok() const { return problems.empty(); }
};

// The chain and the indexes (Ledger::VerifyChain); that every event can follow its predecessors;
// that every proposal is the proposer's, every rendered source has the digest recorded, and every
// decision is what the policy makes of the reports; that the newest snapshot equals the fold. Stops
// at the first 20 problems. Errors: what cannot be read at all.
Result<Verification> VerifyLedger(const Ledger& ledger,
                                  const std::function<void(Seq done, Seq total)>& progress);

}  // namespace pawl
