#pragma once
// A policy: the pure rule that plans a generation's rounds and turns its reports into keep, reject
// or void.

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "schema/event.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

// Another batch of rounds on the same build before a decision.
struct AskMore {
  std::string why;

  bool operator==(const AskMore&) const = default;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // The rounds of one batch over the arms {committed, candidate, incumbent} (indices as given), on
  // `input_sets` timed input sets. A function of its arguments only.
  struct Arms {
    std::uint32_t committed = 0, candidate = 1, incumbent = 2;
  };
  virtual std::vector<RoundPlan> Rounds(std::uint64_t seed, Generation generation,
                                        std::uint32_t batch, Arms arms,
                                        std::uint32_t input_sets) const = 0;

  // `reports`: every batch's report of one attempt chain, in batch order, never empty; none of them
  // crashed or hung (core retries those before it asks).
  virtual std::variant<Decision, AskMore> Decide(const std::vector<Report>& reports) const = 0;

  // The parameters with their defaults filled in: what the ledger records.
  virtual Parameters Effective() const = 0;
};

// `name` as in a job file ("field_note"). Errors: unknown policy or parameter, with the nearest
// known.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& name, const Parameters& parameters);

// Decisions that need no rounds: what a report that is not kMeasured means under every policy.
Decision DecisionOf(const Outcome& outcome);

}  // namespace pawl
