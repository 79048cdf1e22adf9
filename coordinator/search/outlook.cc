#include "coordinator/search/outlook.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pawl {
namespace {

// The value of an open generation's only change is not to be proposed for its knob meanwhile.
void KeepFrom(TrackState& state, const Proposed& proposed) {
  const Change* only = nullptr;
  for (const Change& change : proposed.changes) {
    if (change.repair) continue;
    if (only != nullptr) return;
    only = &change;
  }
  if (only == nullptr) return;
  const auto record =
      std::find_if(state.knobs.begin(), state.knobs.end(),
                   [&](const KnobRecord& entry) { return entry.knob == only->knob; });
  if (record != state.knobs.end()) record->refused.push_back(only->to);
}

}  // namespace

Outlook::Outlook(Track& lender) : lender_(lender) {
  for (const auto& [generation, open] : lender.generations) {
    Reject(open.proposed);
    state_.worker_seconds += open.seconds;
  }
}

Outlook::~Outlook() {
  if (!borrowed_) return;
  for (const std::uint64_t name : added_) state_.tried.erase(name);
  lender_.state.tried = std::move(state_.tried);
}

void Outlook::Borrow() {
  if (std::exchange(borrowed_, true)) return;
  std::unordered_set<std::uint64_t> tried = std::move(lender_.state.tried);
  lender_.state.tried.clear();
  state_ = lender_.state;
  state_.tried = std::move(tried);
}

void Outlook::Reject(const Proposed& proposed) {
  Borrow();
  for (const Configuration& configuration : {proposed.candidate, Unrepaired(proposed)}) {
    const std::uint64_t name = configuration.Hash().Prefix64();
    if (!state_.tried.contains(name)) added_.insert(name);
  }
  Decision decision;
  decision.verdict = Verdict::kReject;
  decision.reason = Reason::kNotFaster;
  SettleInto(state_, proposed, decision);
  if (proposed.incumbent != state_.incumbent) KeepFrom(state_, proposed);
}

}  // namespace pawl
