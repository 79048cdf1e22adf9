// Grants and leases: which worker gets which track's attempt, and when it is given up.

#include <algorithm>
#include <utility>

#include "coordinator/search/core_state.h"
#include "schema/check.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::size_t kHints = 2;  // generations built ahead
// A GPU's kernel is measured in less time than one compiler takes for it: several build at once.
constexpr std::size_t kGpuHints = 16;
constexpr std::size_t kMostHintBytes = kMaxMessageBytes / 2;

// How long a unit of work of the order may take: no live worker is without progress for longer.
std::uint32_t LongestUnit(const Order& order) {
  const Deadlines& deadlines = order.deadlines;
  std::uint32_t longest = std::max(deadlines.check_ms, deadlines.run_ms);
  if (!order.sources.empty()) longest = std::max(longest, deadlines.build_ms);
  return longest;
}

}  // namespace

void Core::State::GrantWanted(Effects& effects) {
  if (draining || free.empty() || wanting.empty()) return;
  std::set<TrackId> passed;  // nobody who is free can serve them
  std::vector<TrackId> order = InTurn(Wanting());
  for (std::size_t next = 0; next < order.size() && !free.empty(); ++next) {
    const TrackId id = order[next];
    if (passed.contains(id)) continue;
    const Subject subject = *searches.at(id).waiting.begin();  // of its generations the oldest
    const auto peer = PickWorker(subject);
    if (!peer) {
      passed.insert(id);
      continue;
    }
    GrantTo(effects, subject, *peer);
    // Its own next attempt has to wait for the others' turn, and another job's may have come.
    if (searches.at(id).waiting.empty() && board.jobs().size() < 2) continue;
    order = InTurn(Wanting());
    next = static_cast<std::size_t>(-1);
  }
}

std::optional<PeerId> Core::State::PickWorker(const Subject& subject) const {
  const TrackId id = subject.track;
  const OpenGeneration* open = tracks.at(id).track.Find(subject.kind, subject.number);
  const WorkerId& avoid = work.at(subject).avoid;
  // A further batch goes where its build is.
  if (open != nullptr && !open->reports.empty() && subject.kind == OrderKind::kMeasure) {
    const auto peer = peer_of.find(open->reports.back().worker);
    const bool there = peer != peer_of.end() && workers.at(peer->second).free_since != 0 &&
                       workers.at(peer->second).serves.contains(id);
    if (there && open->faults == 0 && peer->first != avoid) return peer->second;
  }
  std::optional<PeerId> second_best;
  for (const auto& [since, peer] : free) {
    const Worker& worker = workers.at(peer);
    if (!worker.serves.contains(id)) continue;
    const bool faulted =
        open != nullptr && std::find(open->faulted_on.begin(), open->faulted_on.end(), worker.id) !=
                               open->faulted_on.end();
    if (!faulted && worker.id != avoid) return peer;
    if (!second_best) second_best = peer;
  }
  return second_best;
}

void Core::State::GrantTo(Effects& effects, const Subject& subject, const PeerId& peer) {
  const TrackId id = subject.track;
  CoreTrack& entry = At(id);
  Track& track = entry.track;
  Work& mine = work.at(subject);
  const bool measure = subject.kind == OrderKind::kMeasure;
  const OpenGeneration* open = track.Find(subject.kind, subject.number);
  const Attempt attempt = open != nullptr ? open->last_attempt.Next() : Attempt(1);
  auto order =
      measure ? MeasureOrder(entry.workshop, track, subject.number, attempt, mine.fresh_process)
              : ConfirmOrder(entry.workshop, track, attempt);
  std::string bytes;
  std::string problem;
  if (!order) {
    problem = order.error().message;
  } else if (bytes = EncodeOrder(*order); bytes.size() > kMostOrderBytes) {
    problem = "the order has " + std::to_string(bytes.size()) + " bytes, at most " +
              std::to_string(kMostOrderBytes) + " can be sent";
  }
  if (!problem.empty()) {
    Unwant(subject);
    FailOrder(effects, subject, problem);
    return;
  }
  Worker& worker = workers.at(peer);
  Lease lease;
  lease.key = {order->kind, id, order->generation, attempt, order->batch};
  lease.worker = worker.id;
  lease.boot = worker.boot;
  lease.granted_ms = now_ms;
  lease.lease_ms = std::max(options.lease_ms, LongestUnit(*order) + 2 * options.beat_ms);
  lease.expires_ms = now_ms + lease.lease_ms;
  lease.units = worker.units_done;
  lease.connected = true;
  Granted granted;
  granted.kind = order->kind;
  granted.generation = order->generation;
  granted.attempt = attempt;
  granted.batch = order->batch;
  granted.worker = worker.id;
  granted.boot = worker.boot;
  granted.order = Sha256(bytes);
  granted.lease_ms = lease.lease_ms;
  granted.incumbent = track.state.incumbent;
  Emit(effects, id, std::move(granted));
  effects.send.push_back({peer, Grant{*std::move(order), options.epoch, lease.lease_ms}});
  Unwant(subject);
  Expect(lease.expires_ms);
  const bool first_batch = lease.key.batch == 0;
  lease.charged = share.Went(JobOf(id));
  mine.lease = std::move(lease);
  Search& search = searches.at(id);
  const bool more = !search.waiting.empty();
  if (more) wanting.erase({search.last_grant, id});
  search.last_grant = ++grants;
  if (more) wanting.insert({search.last_grant, id});
  mine.avoid = WorkerId();
  worker.holds.insert(subject);
  Place(peer);
  if (measure && first_batch && worker.device.needs_source) SendHint(effects, id, peer);
}

void Core::State::FailOrder(Effects& effects, const Subject& subject, const std::string& problem) {
  const TrackId id = subject.track;
  const Track& track = At(id).track;
  if (subject.kind == OrderKind::kMeasure) {
    Settle(effects, id, WithoutOrder(track.generations.at(subject.number), problem));
    dirty.insert(id);
    return;
  }
  if (track.confirmation) {
    Emit(effects, id, ConfirmedWithoutOrder(*track.confirmation, problem));
  } else {
    effects.notes.push_back("track " + std::to_string(id.value) +
                            " cannot be confirmed: " + problem);
  }
  work.erase(subject);
  searches.at(id).confirm_asked = false;
  dirty.insert(id);
}

void Core::State::SendHint(Effects& effects, TrackId id, const PeerId& peer) {
  CoreTrack& entry = At(id);
  const std::size_t ahead = workers.at(peer).device.kind == "cuda" ? kGpuHints : kHints;
  Prepare hint = PrepareHint(entry.workshop, entry.track, ahead);
  std::size_t bytes = 0;
  for (const SourceText& source : hint.sources) bytes += source.text.size();
  if (hint.sources.empty() || bytes > kMostHintBytes) return;
  effects.send.push_back({peer, std::move(hint)});
}

void Core::State::DropLease(const Subject& subject, double seconds) {
  Work& mine = work.at(subject);
  if (mine.lease && mine.lease->charged > 0) {
    share.Took(JobOf(subject.track), mine.lease->charged, seconds);
  }
  if (mine.lease && mine.lease->connected) {
    const PeerId peer = peer_of.at(mine.lease->worker);
    workers.at(peer).holds.erase(subject);
    Place(peer);
  }
  mine.lease.reset();
}

void Core::State::LoseAttempt(Effects& effects, const Subject& subject, const std::string& why) {
  const TrackId id = subject.track;
  Work& mine = work.at(subject);
  CHECK(mine.lease, "track", id.value, "has no attempt out");
  const LeaseKey key = mine.lease->key;
  mine.avoid = mine.lease->worker;
  DropLease(subject, 0);
  Emit(effects, id, AttemptLost{key.kind, key.generation, key.attempt, why});
  dirty.insert(id);
}

void Core::State::LoseExpired(Effects& effects) {
  for (auto& [subject, mine] : work) {
    if (!mine.lease) continue;
    if (mine.lease->expires_ms > now_ms) {
      Expect(mine.lease->expires_ms);
      continue;
    }
    // Where its worker is there but stuck, it is to stop before it gets anything else.
    if (mine.lease->connected) {
      effects.send.push_back({peer_of.at(mine.lease->worker), Cancel{mine.lease->key}});
    }
    LoseAttempt(effects, subject, "lease expired");
  }
}

}  // namespace pawl
