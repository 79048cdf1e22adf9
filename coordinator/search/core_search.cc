// The search of each track: what is proposed, decided, closed, paused and confirmed next.

#include <algorithm>
#include <utility>

#include "coordinator/search/core_state.h"
#include "coordinator/search/outlook.h"
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
  // A confirmation that was waited for is not when the search goes on instead.
  if (!At(id).track.confirmation && !searches.at(id).confirm_asked) {
    const std::set<Subject> waiting = searches.at(id).waiting;
    for (const Subject& subject : waiting) {
      if (subject.kind != OrderKind::kConfirm) continue;
      Unwant(subject);
      work.erase(subject);
    }
  }
  for (int step = 0; step < kMostSteps; ++step) {
    if (AdvanceGenerations(effects, id)) continue;
    const Track& track = At(id).track;
    if (!track.generations.empty()) return;
    const bool more = track.confirmation || searches.at(id).confirm_asked
                          ? AdvanceConfirmation(effects, id)
                          : AdvanceSearch(effects, id);
    if (!more) return;
  }
  dirty.insert(id);
}

// One step of one of them. True: it was settled, or is to be measured again.
bool Core::State::AdvanceGenerations(Effects& effects, TrackId id) {
  const CoreTrack& entry = At(id);
  Search& search = searches.at(id);
  for (const auto& [generation, open] : entry.track.generations) {
    const Subject subject{id, OrderKind::kMeasure, generation};
    if (open.attempt) continue;
    // Nothing is new of what waits for its first batch; other reports may be superseded by now.
    if (open.reports.empty() && search.waiting.contains(subject)) continue;
    auto next = NextStep(entry.track, open, *entry.workshop.policy, Limits());
    if (const auto* ask = std::get_if<AskAttempt>(&next)) {
      const bool wanted = options.search || search.confirm_asked;
      if (wanted && !Held(id)) Want(subject, ask->fresh_process);
      continue;
    }
    Settle(effects, id, std::get<Decided>(std::move(next)));
    return true;
  }
  return false;
}

void Core::State::Settle(Effects& effects, TrackId id, Decided decided) {
  const Subject subject{id, OrderKind::kMeasure, decided.generation};
  Unwant(subject);
  const Decision& decision = decided.decision;
  const bool again = decided.again;
  Search& search = searches.at(id);
  if (decision.verdict == Verdict::kVoid && decision.reason != Reason::kSuperseded) {
    search.last_void = std::string(Name(decision.reason)) +
                       (decision.detail.empty() ? "" : ": " + decision.detail);
  }
  Emit(effects, id, std::move(decided));
  if (again) return;
  work.erase(subject);
  const Track& track = At(id).track;
  if (!track.generations.empty()) return;
  // Whatever else is open is decided first: it may still be measured, or have data.
  if (track.at_end) {
    Emit(effects, id, TrackClosed{AtEndOfReplay(*track.at_end)});
  } else if (track.broken) {
    Emit(effects, id, TrackPaused{"no generation can be measured: " + *track.broken});
  }
}

bool Core::State::AdvanceConfirmation(Effects& effects, TrackId id) {
  const CoreTrack& entry = At(id);
  const std::optional<OpenGeneration>& open = entry.track.confirmation;
  const Subject subject{
      id, OrderKind::kConfirm,
      open ? open->proposed.generation : Generation(entry.track.state.confirmations + 1)};
  if (open && open->attempt) return false;
  if (!open) {
    if (!Held(id)) Want(subject, true);
    return false;
  }
  auto next = NextConfirmStep(entry.workshop, entry.track, Limits());
  if (std::holds_alternative<AskAttempt>(next)) {
    if (!Held(id)) Want(subject, true);
    return false;
  }
  Unwant(subject);
  Emit(effects, id, std::get<Confirmed>(std::move(next)));
  work.erase(subject);
  searches.at(id).confirm_asked = false;
  return true;
}

// Of a track that has nothing open.
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
    Emit(effects, id, TrackPaused{Unstable(state.voids_in_row, searches.at(id).last_void)});
    return false;
  }
  auto proposed = NextProposal(id);
  if (!proposed) {
    Emit(effects, id,
         TrackPaused{"cannot render generation " + std::to_string(state.last.Next().value) + ": " +
                     proposed.error().message});
    return false;
  }
  if (!*proposed) {
    Emit(effects, id, TrackClosed{kNothingLeft});
    return true;
  }
  Emit(effects, id, **std::move(proposed));
  return true;
}

Result<std::optional<Proposed>> Core::State::NextProposal(TrackId id) {
  CoreTrack& entry = At(id);
  const Outlook outlook(entry.track);
  const auto proposal = entry.workshop.proposer->Propose(outlook.state(), *entry.workshop.space);
  if (!proposal) return std::optional<Proposed>();
  auto proposed = ProposedFrom(entry.workshop, outlook.state(), *proposal);
  if (!proposed) return proposed.error();
  return std::optional<Proposed>(*std::move(proposed));
}

bool Core::State::HasRoom(TrackId id) const {
  const CoreTrack& entry = tracks.at(id);
  const Track& track = entry.track;
  const Search& search = searches.at(id);
  const std::size_t open = track.generations.size();
  if (!options.search || draining || !search.further || search.confirm_asked) return false;
  if (Held(id)) return false;
  if (track.state.status != TrackStatus::kSearching) return false;
  if (open == 0 || open >= entry.in_flight) return false;  // the first is AdvanceSearch's
  if (track.at_end || track.broken || track.state.voids_in_row >= options.max_voids_in_row) {
    return false;  // what is open says whether it goes on
  }
  // So that a snapshot can be taken of it: what is read when the ledger is opened stays bounded.
  return track.last_applied.value - track.state.settled.value < options.max_unsettled;
}

bool Core::State::ProposeFurther(Effects& effects) {
  if (draining || free.empty()) return false;
  // Whatever still waits could have none of the workers that are free.
  std::vector<TrackId> room;
  for (const TrackId id : wide) {
    if (HasRoom(id)) room.push_back(id);
  }
  bool proposed = false;
  for (const TrackId id : InTurn(room)) {
    const bool served = std::any_of(free.begin(), free.end(), [&](const auto& entry) {
      return workers.at(entry.second).serves.contains(id);
    });
    if (!served || !ProposeFurther(effects, id)) continue;
    GrantWanted(effects);  // before another track is asked for the same worker
    proposed = true;
  }
  return proposed;
}

bool Core::State::ProposeFurther(Effects& effects, TrackId id) {
  for (int step = 0; step < kMostSteps && HasRoom(id); ++step) {
    Search& search = searches.at(id);
    {
      CoreTrack& entry = At(id);
      const Outlook outlook(entry.track);
      if (WhyEnds(outlook.state(), outlook.state().spec.budget)) {
        search.further = false;
        return false;
      }
    }
    auto proposed = NextProposal(id);
    if (!proposed || !*proposed) {
      search.further = false;  // when nothing is open AdvanceSearch says so
      return false;
    }
    const Generation generation = (*proposed)->generation;
    Emit(effects, id, **std::move(proposed));
    const CoreTrack& entry = At(id);
    auto next = NextStep(entry.track, entry.track.generations.at(generation),
                         *entry.workshop.policy, Limits());
    if (const auto* ask = std::get_if<AskAttempt>(&next)) {
      Want({id, OrderKind::kMeasure, generation}, ask->fresh_process);
      return true;
    }
    Settle(effects, id, std::get<Decided>(std::move(next)));  // refused before any build
  }
  dirty.insert(id);
  return false;
}

void Core::State::Want(const Subject& subject, bool fresh_process) {
  work[subject].fresh_process = fresh_process;
  Search& search = searches.at(subject.track);
  if (search.waiting.empty()) wanting.insert({search.last_grant, subject.track});
  search.waiting.insert(subject);
}

void Core::State::Unwant(const Subject& subject) {
  Search& search = searches.at(subject.track);
  if (search.waiting.erase(subject) == 0 || !search.waiting.empty()) return;
  wanting.erase({search.last_grant, subject.track});
}

}  // namespace pawl
