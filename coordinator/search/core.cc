#include "coordinator/search/core.h"

#include <algorithm>
#include <utility>

#include "coordinator/search/core_state.h"
#include "schema/check.h"

namespace pawl {

void Core::State::Emit(Effects& effects, TrackId id, EventBody body) {
  Event event;
  event.seq = last_seq.Next();
  event.track = id;
  event.body = std::move(body);
  Apply(At(id).track, event);
  last_seq = event.seq;
  unappended = true;
  // What was asked for in vain may be there after these.
  if (std::holds_alternative<Decided>(event.body) ||
      std::holds_alternative<TrackResumed>(event.body) ||
      std::holds_alternative<Confirmed>(event.body)) {
    searches.at(id).further = true;
  }
  effects.append.push_back(std::move(event));
}

void Core::State::Proceed(Effects& effects) {
  // Once each: what a track could not finish in one go waits for the next call, so that none blocks
  // the loop.
  const std::set<TrackId> todo = std::exchange(dirty, {});
  for (const TrackId id : todo) Advance(effects, id);
  GrantWanted(effects);
  while (ProposeFurther(effects)) GrantWanted(effects);
}

bool Core::State::Done() const {
  if (draining) {
    return std::none_of(work.begin(), work.end(), [](const auto& entry) {
      return entry.second.lease && entry.second.lease->connected;
    });
  }
  if (tracks.empty() || options.stay) return false;
  return std::all_of(tracks.begin(), tracks.end(), [this](const auto& entry) {
    const Track& track = entry.second.track;
    if (track.confirmation || searches.at(entry.first).confirm_asked) return false;
    if (!options.search) return true;
    return track.generations.empty() && track.state.status != TrackStatus::kSearching;
  });
}

Core::Core(CoreOptions options) : state_(std::make_shared<State>(std::move(options))) {}

void Core::AddTrack(CoreTrack track, std::int64_t now_ms) {
  State& state = *state_;
  const TrackId id = track.track.state.id;
  CHECK(!state.tracks.contains(id), "track", id.value);
  state.searches[id];
  const auto wait_for = [&](OrderKind kind, const OpenGeneration& open) {
    if (!open.attempt) return;
    const OpenAttempt& attempt = *open.attempt;
    Lease lease;
    lease.key = {kind, id, open.proposed.generation, attempt.attempt, attempt.batch};
    lease.worker = attempt.worker;
    lease.boot = attempt.boot;
    lease.granted_ms = now_ms;
    lease.lease_ms = attempt.lease_ms;
    lease.expires_ms = now_ms + attempt.lease_ms;
    state.Expect(lease.expires_ms);
    state.work[SubjectOf(lease.key)].lease = std::move(lease);
  };
  for (const auto& [generation, open] : track.track.generations) {
    wait_for(OrderKind::kMeasure, open);
  }
  if (track.track.confirmation) wait_for(OrderKind::kConfirm, *track.track.confirmation);
  if (track.in_flight > 1) state.wide.insert(id);
  state.tracks.emplace(id, std::move(track));
  state.dirty.insert(id);
  state.now_ms = now_ms;
  state.Match(id);
}

void Core::SetSeenLookup(SeenLookup lookup) { state_->seen = std::move(lookup); }

void Core::SetHeadLookup(HeadLookup lookup) { state_->holds = std::move(lookup); }

Effects Core::OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms) {
  State& state = *state_;
  state.now_ms = now_ms;
  Effects effects;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    state.OnHello(effects, peer, *hello);
    state.Proceed(effects);
    return effects;
  }
  const auto worker = state.workers.find(peer);
  if (worker == state.workers.end()) {
    // This coordinator is a new one, or has given the worker up.
    if (!std::holds_alternative<Bye>(message)) {
      state.Refuse(effects, peer, RefuseCode::kNotReady,
                   std::string(Name(message)) + " without HELLO; say HELLO first");
    }
    return effects;
  }
  worker->second.heard_ms = now_ms;
  if (const auto* ready = std::get_if<Ready>(&message)) {
    state.OnReady(effects, peer, *ready);
  } else if (const auto* beat = std::get_if<Beat>(&message)) {
    state.OnBeat(effects, peer, *beat);
  } else if (const auto* report = std::get_if<ReportMessage>(&message)) {
    state.OnReport(effects, peer, report->report);
  } else if (const auto* release = std::get_if<Release>(&message)) {
    state.OnRelease(effects, peer, *release);
  } else if (const auto* bye = std::get_if<Bye>(&message)) {
    state.OnBye(effects, peer, *bye);
  } else {
    effects.notes.push_back("worker " + worker->second.id.value + " sent " +
                            std::string(Name(message)) +
                            ", which only a coordinator sends; ignored");
  }
  state.Proceed(effects);
  return effects;
}

Effects Core::OnUndecodable(const PeerId& peer, const std::string& why, bool other_version,
                            std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  if (other_version) {
    state_->Refuse(effects, peer, RefuseCode::kVersion, why);
    return effects;
  }
  const auto worker = state_->workers.find(peer);
  effects.notes.push_back(
      "message of " +
      (worker == state_->workers.end() ? "an unknown peer" : "worker " + worker->second.id.value) +
      " dropped: " + why);
  return effects;
}

Effects Core::OnTick(std::int64_t now_ms) {
  State& state = *state_;
  state.now_ms = now_ms;
  Effects effects;
  if (now_ms >= state.next_deadline) {
    state.next_deadline = std::numeric_limits<std::int64_t>::max();
    state.LoseSilent(effects);
    state.LoseExpired(effects);
  }
  state.Proceed(effects);
  return effects;
}

Effects Core::OnDrain(std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  state_->StartDraining(effects);
  return effects;
}

Effects Core::OnConfirm(TrackId id, std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  if (!state_->tracks.contains(id)) {
    effects.notes.push_back("no track " + std::to_string(id.value) + " to confirm");
    return effects;
  }
  state_->searches.at(id).confirm_asked = true;
  state_->dirty.insert(id);
  state_->Proceed(effects);
  return effects;
}

Effects Core::OnOpenTrack(const TrackOpened& opened, Workshop workshop, std::int64_t now_ms,
                          TrackId highest_elsewhere) {
  State& state = *state_;
  state.now_ms = now_ms;
  TrackId highest = highest_elsewhere;
  if (!state.tracks.empty()) highest = std::max(highest, state.tracks.rbegin()->first);
  const TrackId id = highest.Next();
  state.last_seq = state.last_seq.Next();
  state.unappended = true;
  Effects effects;
  effects.append.push_back({state.last_seq, 0, id, opened});
  state.tracks.emplace(id,
                       CoreTrack{OpenTrack(id, opened, state.last_seq), std::move(workshop), 1});
  state.searches[id];
  state.dirty.insert(id);
  state.Match(id);
  state.Proceed(effects);
  return effects;
}

Effects Core::OnInFlight(TrackId id, std::uint32_t most, std::int64_t now_ms) {
  CHECK(most > 0, "track", id.value);
  state_->now_ms = now_ms;
  Effects effects;
  const auto found = state_->tracks.find(id);
  if (found == state_->tracks.end()) return effects;
  found->second.in_flight = most;
  state_->searches.at(id).further = true;
  if (most > 1) {
    state_->wide.insert(id);
  } else {
    state_->wide.erase(id);
  }
  state_->dirty.insert(id);
  state_->Proceed(effects);
  return effects;
}

Effects Core::OnResumeTrack(TrackId id, std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  const auto found = state_->tracks.find(id);
  if (found == state_->tracks.end()) return effects;
  const TrackState& track = found->second.track.state;
  if (track.status != TrackStatus::kPaused) return effects;
  state_->Emit(effects, id, TrackResumed{track.spec.budget});
  state_->dirty.insert(id);
  state_->Proceed(effects);
  return effects;
}

Effects Core::OnRebudget(TrackId id, const Budget& budget, std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  const auto found = state_->tracks.find(id);
  if (found == state_->tracks.end()) return effects;
  const Track& track = found->second.track;
  bool goes_on = track.state.status == TrackStatus::kPaused;
  if (track.state.status == TrackStatus::kClosed || track.closing) {
    // What ended for another reason (nothing left, no more data) would end again.
    goes_on = WhyEnds(track.state, track.state.spec.budget) && !WhyEnds(track.state, budget);
  } else if (budget != track.state.spec.budget) {
    goes_on = true;
  }
  if (!goes_on) return effects;
  state_->Emit(effects, id, TrackResumed{budget});
  state_->dirty.insert(id);
  state_->Proceed(effects);
  return effects;
}

void Core::OnAppended(const LedgerHead& head) {
  State& state = *state_;
  CHECK(!state.unappended || head.seq == state.last_seq, "the ledger's head is event",
        head.seq.value, "where core's newest is", state.last_seq.value);
  state.head = head;
  state.last_seq = head.seq;
  state.unappended = false;
  state.taken.clear();
}

void Core::OnStall(std::int64_t stalled_ms) {
  State& state = *state_;
  for (auto& [peer, worker] : state.workers) worker.heard_ms += stalled_ms;
  for (auto& [subject, work] : state.work) {
    if (work.lease) work.lease->expires_ms += stalled_ms;
  }
  if (state.next_deadline != std::numeric_limits<std::int64_t>::max()) {
    state.next_deadline += stalled_ms;
  }
}

std::optional<std::string> Core::WhyLedgerBehind(const LedgerHead& seen_head) const {
  return state_->WhyLedgerBehind(seen_head);
}

void Core::SetBoard(JobBoard board) { state_->board = std::move(board); }

const JobBoard& Core::board() const { return state_->board; }

bool Core::Done() const { return state_->Done(); }

const std::string& Core::Alarm() const { return state_->alarm; }

const std::map<TrackId, CoreTrack>& Core::tracks() const { return state_->tracks; }

std::vector<WorkerId> Core::Workers() const {
  std::vector<WorkerId> ids;
  for (const auto& [id, peer] : state_->peer_of) ids.push_back(id);
  return ids;
}

std::int64_t Core::NextDeadline() const {
  return state_->dirty.empty() ? state_->next_deadline : state_->now_ms;
}

Effects WithHead(Effects effects, const LedgerHead& head) {
  for (Outgoing& outgoing : effects.send) {
    if (auto* ack = std::get_if<Ack>(&outgoing.message)) ack->head = head;
  }
  return effects;
}

}  // namespace pawl
