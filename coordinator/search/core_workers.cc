// Workers: who is there, what they can serve, what they hold, and when they are given up.

#include <algorithm>
#include <utility>

#include "coordinator/search/answers.h"
#include "coordinator/search/core_state.h"
#include "schema/check.h"

namespace pawl {
namespace {

constexpr std::uint32_t kAbsentBeats =
    2;  // that do not name a lease: its grant was lost on the way
constexpr char kNotHeld[] = "not held by its worker any more";

std::string Seconds(std::int64_t ms) {
  return std::to_string(ms / 1'000) + "." + std::to_string(ms % 1'000 / 100) + " s";
}

bool Contains(const std::vector<LeaseKey>& keys, const LeaseKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

void Core::State::OnHello(Effects& effects, const PeerId& peer, const Hello& hello) {
  if (const auto behind = WhyLedgerBehind(hello.head)) {
    alarm = "worker " + hello.worker.value + " " + *behind;
    StartDraining(effects);
    Refuse(effects, peer, RefuseCode::kLedgerBehind, *behind);
    return;
  }
  Worker worker;
  for (const auto& [id, track] : tracks) {
    if (!WhyNotServes(hello.device, hello.host, track)) {
      worker.serves.insert(id);
    }
  }
  if (worker.serves.empty() && !options.stay) {
    const bool early = tracks.empty();
    Refuse(effects, peer, early ? RefuseCode::kNotReady : RefuseCode::kNotWanted,
           early ? "no track is open yet" : WhyNotWanted(hello.device, hello.host));
    return;
  }
  Forget(peer);
  if (const auto before = peer_of.find(hello.worker); before != peer_of.end()) {
    const PeerId old =
        before->second;  // the same worker over a new connection, or its next process
    Forget(old);
  }
  worker.id = hello.worker;
  worker.boot = hello.boot;
  worker.host = hello.host;
  worker.device = hello.device;
  worker.heard_ms = now_ms;
  Expect(now_ms + options.lost_ms);
  peer_of[hello.worker] = peer;
  Worker& joined = workers[peer] = std::move(worker);
  effects.send.push_back(
      {peer, Welcome{options.ledger, options.epoch, options.beat_ms, options.lost_ms}});
  for (auto& [subject, entry] : work) {
    if (!entry.lease || entry.lease->worker != hello.worker) continue;
    if (entry.lease->boot != hello.boot) {
      LoseAttempt(effects, subject, "worker restarted");
      continue;
    }
    entry.lease->connected = true;
    entry.lease->unheld = !Contains(hello.held, entry.lease->key);
    entry.lease->absent = 0;
    joined.holds.insert(subject);
  }
  for (const LeaseKey& key : hello.held) {
    const auto found = work.find(SubjectOf(key));
    const bool known = found != work.end() && found->second.lease &&
                       found->second.lease->key == key && joined.holds.contains(found->first);
    if (!known) effects.send.push_back({peer, Cancel{key}});
  }
  if (draining) effects.send.push_back({peer, Drain{}});
  std::string clocks;
  if (hello.device.pinned_mhz != 0) {
    clocks = ", clocks pinned at " + std::to_string(hello.device.pinned_mhz) + " MHz";
  } else if (hello.device.kind == "cuda") {
    clocks = ", clocks observed";
  }
  const std::string idle =
      joined.serves.empty() ? "; " + WhyNotWanted(hello.device, hello.host) : "";
  effects.notes.push_back("worker " + hello.worker.value + " joined: " + hello.device.model +
                          clocks + idle);
}

std::optional<std::string> Core::State::WhyNotServes(const DeviceFacts& device,
                                                     const std::string& host,
                                                     const CoreTrack& track) const {
  const TrackSpec& spec = track.track.state.spec;
  if (auto why = WhyNotServe(device, spec, *track.workshop.structure)) return why;
  const auto found = terms.find(spec.job);
  if (found == terms.end() || found->second.hosts.empty()) return std::nullopt;
  const std::vector<std::string>& hosts = found->second.hosts;
  if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) return std::nullopt;
  return "wants a worker of host " + hosts.front() + (hosts.size() > 1 ? " or another" : "") +
         ", this one is of " + host;
}

std::optional<std::string> Core::State::WhyLedgerBehind(const LedgerHead& seen_head) const {
  if (seen_head.ledger != options.ledger) return std::nullopt;
  const std::string event = "has seen event " + std::to_string(seen_head.seq.value);
  const std::string advice =
      "; the ledger is an old copy, or another one went on: bring the newer one back";
  if (seen_head.seq > head.seq) {
    return event + " of this ledger, which ends at " + std::to_string(head.seq.value) + advice;
  }
  if (seen_head.seq.value > 0 && holds && !holds(seen_head)) {
    return event + " of this ledger as " + seen_head.digest.Short() + ", which it is not" + advice;
  }
  return std::nullopt;
}

std::string Core::State::WhyNotWanted(const DeviceFacts& device, const std::string& host) const {
  if (tracks.empty()) return "no track is open yet";
  std::string text = "no track can use this device";
  int told = 0;
  for (const auto& [id, track] : tracks) {
    if (++told > 3) return text + "; ...";
    const TrackSpec& spec = track.track.state.spec;
    text += "; track " + std::to_string(id.value) + " (" + spec.label + ") " +
            *WhyNotServes(device, host, track);
  }
  return text;
}

void Core::State::Refuse(Effects& effects, const PeerId& peer, RefuseCode code,
                         const std::string& why) {
  effects.send.push_back({peer, pawl::Refuse{code, why}});
  if (code != RefuseCode::kNotReady) {
    effects.notes.push_back("worker refused (" + std::string(Name(code)) + "): " + why);
  }
}

void Core::State::StartDraining(Effects& effects) {
  if (std::exchange(draining, true)) return;
  for (const auto& [peer, worker] : workers) effects.send.push_back({peer, Drain{}});
}

void Core::State::Forget(const PeerId& peer) {
  const auto found = workers.find(peer);
  if (found == workers.end()) return;
  Worker& worker = found->second;
  for (const Subject& subject : worker.holds) work.at(subject).lease->connected = false;
  if (worker.free_since != 0) free.erase({worker.free_since, peer});
  const auto named = peer_of.find(worker.id);
  if (named != peer_of.end() && named->second == peer) peer_of.erase(named);
  workers.erase(found);
}

void Core::State::OnReady(Effects& effects, const PeerId& peer, const Ready& ready) {
  Worker& worker = workers.at(peer);
  worker.places = ready.credit;
  // It has sent its spool and wants work: what it came back without will not come any more.
  for (const Subject& subject : std::set<Subject>(worker.holds)) {
    if (work.at(subject).lease->unheld) LoseAttempt(effects, subject, kNotHeld);
  }
  Place(peer);
}

void Core::State::OnBeat(Effects& effects, const PeerId& peer, const Beat& beat) {
  Worker& worker = workers.at(peer);
  worker.units_done = beat.units_done;
  BeatAck answer;
  for (const LeaseKey& key : beat.held) {
    const auto found = work.find(SubjectOf(key));
    if (found == work.end() || !worker.holds.contains(found->first) ||
        found->second.lease->key != key) {
      answer.unknown.push_back(key);
      continue;
    }
    Lease& lease = *found->second.lease;
    lease.absent = 0;
    lease.unheld = false;
    if (beat.units_done <= lease.units) continue;  // alive, but getting nowhere
    lease.units = beat.units_done;
    lease.expires_ms = now_ms + lease.lease_ms;
  }
  for (const Subject& subject : std::set<Subject>(worker.holds)) {
    Lease& lease = *work.at(subject).lease;
    if (Contains(beat.held, lease.key)) continue;
    // Beats that crossed the grant do not name it yet.
    if (++lease.absent < kAbsentBeats || now_ms - lease.granted_ms < options.beat_ms) continue;
    LoseAttempt(effects, subject, kNotHeld);
  }
  effects.send.push_back({peer, std::move(answer)});
}

void Core::State::OnRelease(Effects& effects, const PeerId& peer, const Release& release) {
  Worker& worker = workers.at(peer);
  const Subject subject = SubjectOf(release.key);
  if (!worker.holds.contains(subject) || work.at(subject).lease->key != release.key) {
    return;  // too late
  }
  worker.places = 0;  // until it is READY again
  LoseAttempt(effects, subject, "released: " + release.why);
}

void Core::State::OnBye(Effects& effects, const PeerId& peer, const Bye& bye) {
  effects.notes.push_back("worker " + workers.at(peer).id.value + " left: " + bye.why);
  LoseAllOf(effects, peer, "worker left: " + bye.why);
}

void Core::State::LoseAllOf(Effects& effects, const PeerId& peer, const std::string& why) {
  for (const Subject& subject : std::set<Subject>(workers.at(peer).holds)) {
    LoseAttempt(effects, subject, why);
  }
  Forget(peer);
}

void Core::State::LoseSilent(Effects& effects) {
  std::vector<PeerId> silent;
  for (const auto& [peer, worker] : workers) {
    if (worker.heard_ms + options.lost_ms <= now_ms) {
      silent.push_back(peer);
    } else {
      Expect(worker.heard_ms + options.lost_ms);
    }
  }
  for (const PeerId& peer : silent) {
    const Worker& worker = workers.at(peer);
    const std::string why = "worker silent for " + Seconds(now_ms - worker.heard_ms);
    effects.notes.push_back("worker " + worker.id.value + " lost: " + why);
    LoseAllOf(effects, peer, why);
  }
}

void Core::State::Place(const PeerId& peer) {
  Worker& worker = workers.at(peer);
  const bool has_place = worker.places > worker.holds.size();
  if (has_place == (worker.free_since != 0)) return;
  if (has_place) {
    worker.free_since = ++frees;
    free.insert({worker.free_since, peer});
  } else {
    free.erase({worker.free_since, peer});
    worker.free_since = 0;
  }
}

void Core::State::Match(TrackId id) {
  const CoreTrack& track = At(id);
  for (auto& [peer, worker] : workers) {
    if (!WhyNotServes(worker.device, worker.host, track)) {
      worker.serves.insert(id);
    }
  }
}

}  // namespace pawl
