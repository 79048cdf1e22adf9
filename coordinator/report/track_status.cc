#include "coordinator/report/track_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "coordinator/report/facts.h"
#include "coordinator/report/generation.h"
#include "coordinator/search/settle.h"

namespace pawl {

Result<std::map<TrackId, Confirmed>> LastConfirmations(
    const Ledger& ledger, const std::vector<const TrackState*>& tracks) {
  std::map<TrackId, Confirmed> found;
  const auto wanted = static_cast<std::size_t>(
      std::count_if(tracks.begin(), tracks.end(),
                    [](const TrackState* track) { return track->confirmations > 0; }));
  for (std::uint64_t seq = ledger.head().seq.value; seq > 0 && found.size() < wanted; --seq) {
    auto event = ledger.At(Seq(seq));
    if (!event) return event.error();
    if (const auto* confirmed = std::get_if<Confirmed>(&event->body)) {
      found.emplace(event->track, *confirmed);  // an earlier one changes nothing
    }
  }
  return found;
}

std::string ConfirmationText(const Confirmed& confirmed, const TrackState& state) {
  return ConfirmationText(confirmed) +
         (confirmed.incumbent == state.incumbent ? "" : "; of an earlier incumbent");
}

nlohmann::json TrackJson(const TrackState& state, bool open, const Confirmed* confirmation,
                         Seq head) {
  return {{"track", state.id.value},
          {"label", state.spec.label},
          {"job", state.spec.job},
          {"operation", state.spec.operation},
          {"shape", ShapeJson(state.spec.shape)},
          {"dtype", Name(state.spec.dtype)},
          {"device", state.spec.device_model},
          {"backend", state.spec.backend},
          {"structure", state.spec.structure},
          {"instrument", Name(state.spec.instrument)},
          {"policy", state.spec.policy},
          {"proposer", state.spec.proposer},
          {"status", Name(state.status)},
          {"reason", state.why},
          {"generations", state.last.value},
          {"open", open},
          {"kept", state.kept},
          {"rejected", state.rejected},
          {"void", state.voided},
          {"stale", state.stale},
          {"gain_over_start", 1 / state.gain},
          {"worker_seconds", state.worker_seconds},
          {"confirmations", state.confirmations},
          {"confirmation",
           confirmation != nullptr ? ConfirmationJson(*confirmation) : nlohmann::json(nullptr)},
          {"incumbent", ConfigurationJson(state.incumbent)},
          {"incumbent_since", state.incumbent_since.value},
          {"head", head.value}};
}

std::string WhatNext(const std::vector<const TrackState*>& tracks) {
  bool goes_on = false, by_budget = false;
  for (const TrackState* track : tracks) {
    const bool closed = track->status == TrackStatus::kClosed;
    goes_on = goes_on || !closed;
    by_budget = by_budget || (closed && WhyEnds(*track, track->spec.budget));
  }
  if (goes_on || tracks.empty()) return "run again to go on";
  if (by_budget) return "its budget is used up: a larger [budget] in the job goes on";
  return "nothing is left to try: another seed, start or package goes on with --fork";
}

}  // namespace pawl
