#pragma once
// Reports made by hand: a round is the times of committed, candidate and incumbent.

#include <vector>

#include "coordinator/search/policy.h"
#include "schema/report.h"

namespace pawl {

struct Times3 {
  double committed, candidate, incumbent;
};

inline Report ReportOf(const std::vector<Times3>& rounds) {
  Report report;
  report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  for (const Times3& times : rounds) {
    RoundMedians round;
    round.visits = {
        {0, 0, times.committed, 0}, {1, 0, times.candidate, 0}, {2, 0, times.incumbent, 0}};
    report.rounds.push_back(round);
  }
  return report;
}

inline std::unique_ptr<Policy> Rule(const Parameters& parameters = {}) {
  return std::move(MakePolicy("field_note", parameters)).value();
}

// CHECKs that the policy decides.
inline Decision DecisionBy(const Policy& policy, const std::vector<Report>& reports) {
  const auto outcome = policy.Decide(reports);
  CHECK(std::holds_alternative<Decision>(outcome), "asks for more");
  return std::get<Decision>(outcome);
}

}  // namespace pawl
