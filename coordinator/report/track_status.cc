#include "coordinator/report/track_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "coordinator/report/facts.h"
#include "coordinator/report/generation.h"
#include "coordinator/search/settle.h"

namespace pawl {
namespace {

constexpr std::uint64_t kReadAtOnce = 4096;

}  // namespace

Result<std::map<TrackId, Confirmed>> LastConfirmations(
    const Ledger& ledger, const std::vector<const TrackState*>& tracks) {
  std::map<TrackId, Confirmed> found;
  std::set<TrackId> wanted;
  for (const TrackState* track : tracks) {
    if (track->confirmations == 0) continue;
    const auto event = ledger.At(track->settled);
    if (!event) return event.error();
    const auto* const confirmed = std::get_if<Confirmed>(&event->body);
    if (confirmed != nullptr && event->track == track->id) {
      found.emplace(track->id, *confirmed);
    } else {
      wanted.insert(track->id);
    }
  }
  // A part at a time: events that follow each other are read far faster than alone.
  for (std::uint64_t end = ledger.head().seq.value + 1; end > 1 && !wanted.empty();) {
    const std::uint64_t begin = end > kReadAtOnce ? end - kReadAtOnce : 1;
    std::map<TrackId, Confirmed> here;  // the last of each
    Status read = ledger.Scan(Seq(begin), [&](const Event& event) {
      if (event.seq.value >= end) return false;
      const auto* const confirmed = std::get_if<Confirmed>(&event.body);
      if (confirmed != nullptr && wanted.contains(event.track)) here[event.track] = *confirmed;
      return true;
    });
    if (!read) return read.error();
    for (auto& [id, confirmed] : here) {
      wanted.erase(id);
      found.emplace(id, std::move(confirmed));
    }
    end = begin;
  }
  return found;
}

std::string ConfirmationText(const Confirmed& confirmed, const TrackState& state) {
  return ConfirmationText(confirmed) +
         (confirmed.incumbent == state.incumbent ? "" : "; of an earlier incumbent");
}

std::uint32_t Decisions(const TrackState& state) {
  return state.kept + state.rejected + state.voided;
}

nlohmann::json TrackJson(const TrackState& state, std::size_t open, const Confirmed* confirmation,
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
          {"generations", Decisions(state)},
          {"open", open > 0},
          {"in_flight", open},
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
  return "nothing is left to try: another seed, proposer or package goes on with --fork";
}

}  // namespace pawl
