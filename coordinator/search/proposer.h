#pragma once
// A proposer: the pure rule that says what to try next, from a track's settled state and its seed.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/space.h"
#include "schema/configuration.h"
#include "schema/event.h"
#include "schema/snapshot.h"

namespace pawl {

struct Proposal {
  Configuration candidate;
  std::vector<Change> changes;  // from the incumbent; repairs marked
  std::string hypothesis;       // "quad_stage false -> true; first attempt, prior order 2 of 6"
  std::vector<std::string> violations;  // non-empty: proposed as invalid, with the figures
  std::uint64_t ordinal = 0;            // exhaustive: the candidate's, plus 1

  bool operator==(const Proposal&) const = default;
};

class Proposer {
 public:
  virtual ~Proposer() = default;

  // nullopt: nothing left to propose. Asking changes nothing.
  virtual std::optional<Proposal> Propose(const TrackState& track, const Space& space) const = 0;

  virtual Parameters Effective() const = 0;
};

// `name` as in a job file: "coordinate", "random", "exhaustive", "same".
Result<std::unique_ptr<Proposer>> MakeProposer(const std::string& name,
                                               const Parameters& parameters);

}  // namespace pawl
