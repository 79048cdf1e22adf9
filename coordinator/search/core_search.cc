// The search of each track: what is proposed, decided, closed, paused and confirmed next.

#include <utility>

#include "coordinator/search/core_state.h"
#include "schema/check.h"

namespace pawl {
namespace {

// Steps of one track in one call: invalid proposals settle at once, and a run of them must not hold
// up the other tracks and workers.
constexpr int kMostSteps = 128;

std::string Unstable(std::uint32_t voids, const std::string& last) {
  return "unstable: " + std::to_string(voids) +
         (voids == 1 ? " void in a row" : " voids in a row") +
         (last.empty() ? "" : ", the last: " + last);
}

}  // namespace

void Core::State::Advance(Effects& effects, TrackId id) {
  for (int step = 0; step < kMostSteps; ++step) {
    const Track& track = At(id).track;
    const bool more = track.generation ? AdvanceGeneration(effects, id)
                      : track.confirmation || work.at(id).confirm_asked
                          ? AdvanceConfirmation(effects, id)
                          : AdvanceSearch(effects, id);
    if (!more) return;
  }
  dirty.insert(id);
}

bool Core::State::AdvanceGeneration(Effects& effects, TrackId id) {
  const CoreTrack& entry = At(id);
  const OpenGeneration& open = *entry.track.generation;
  if (open.attempt) return false;
  auto next = NextStep(open, *entry.workshop.policy, Limits());
  if (const auto* ask = std::get_if<AskAttempt>(&next)) {
    if (Held(id)) return false;
    if (options.search || work.at(id).confirm_asked) Want(id, ask->fresh_process);
    return false;
  }
  Settle(effects, id, std::get<Decided>(std::move(next)));
  return true;
}

void Core::State::Settle(Effects& effects, TrackId id, Decided decided) {
  Unwant(id);
  const Track& track = At(id).track;
  const Decision& decision = decided.decision;
  const bool at_end = DataExhausted(*track.generation) && decision.reason == Reason::kNoData;
  const Generation generation = decided.generation;
  const auto broken = WhyBroken(*track.generation, decision);
  const bool again = decided.again;
  if (decision.verdict == Verdict::kVoid) {
    work.at(id).last_void = std::string(Name(decision.reason)) +
                            (decision.detail.empty() ? "" : ": " + decision.detail);
  }
  Emit(effects, id, std::move(decided));
  if (again) return;
  work.at(id).avoid = WorkerId();
  if (at_end) {
    Emit(effects, id, TrackClosed{AtEndOfReplay(generation)});
  } else if (broken) {
    Emit(effects, id, TrackPaused{"no generation can be measured: " + *broken});
  }
}

bool Core::State::AdvanceConfirmation(Effects& effects, TrackId id) {
  const CoreTrack& entry = At(id);
  const std::optional<OpenGeneration>& open = entry.track.confirmation;
  if (open && open->attempt) return false;
  if (!open) {
    if (!Held(id)) Want(id, true);
    return false;
  }
  auto next = NextConfirmStep(entry.workshop, entry.track, Limits());
  if (std::holds_alternative<AskAttempt>(next)) {
    if (!Held(id)) Want(id, true);
    return false;
  }
  Unwant(id);
  Emit(effects, id, std::get<Confirmed>(std::move(next)));
  work.at(id).confirm_asked = false;
  work.at(id).avoid = WorkerId();
  return true;
}

bool Core::State::AdvanceSearch(Effects& effects, TrackId id) {
  const CoreTrack& entry = At(id);
  const TrackState& state = entry.track.state;
  if (!options.search || draining || Held(id) || state.status != TrackStatus::kSearching)
    return false;
  if (auto why = WhyEnds(state, state.spec.budget)) {
    Emit(effects, id, TrackClosed{*std::move(why)});
    return true;
  }
  if (state.voids_in_row >= options.max_voids_in_row) {
    Emit(effects, id, TrackPaused{Unstable(state.voids_in_row, work.at(id).last_void)});
    return false;
  }
  const auto proposal = entry.workshop.proposer->Propose(state, *entry.workshop.space);
  if (!proposal) {
    Emit(effects, id, TrackClosed{kNothingLeft});
    return true;
  }
  auto proposed = ProposedFrom(entry.workshop, state, *proposal);
  if (!proposed) {
    Emit(effects, id,
         TrackPaused{"cannot render generation " + std::to_string(state.last.Next().value) + ": " +
                     proposed.error().message});
    return false;
  }
  Emit(effects, id, *std::move(proposed));
  return true;
}

void Core::State::Want(TrackId id, bool fresh_process) {
  Work& mine = work.at(id);
  mine.fresh_process = fresh_process;
  if (std::exchange(mine.waiting, true)) return;
  wanting.insert({mine.last_grant, id});
}

void Core::State::Unwant(TrackId id) {
  Work& mine = work.at(id);
  if (!std::exchange(mine.waiting, false)) return;
  wanting.erase({mine.last_grant, id});
}

}  // namespace pawl
