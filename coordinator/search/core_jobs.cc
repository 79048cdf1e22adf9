// Jobs: what a person wants of them, and whose turn it is.

#include <algorithm>
#include <tuple>
#include <utility>

#include "coordinator/search/core_state.h"

namespace pawl {

void Core::State::EmitJob(Effects& effects, EventBody body) {
  Event event;
  event.seq = last_seq.Next();
  event.body = std::move(body);
  board.Apply(event);
  last_seq = event.seq;
  unappended = true;
  effects.append.push_back(std::move(event));
}

bool Core::State::Held(TrackId id) const {
  if (!options.stay) return false;
  const JobState* job = board.Find(JobOf(id));
  return job != nullptr && job->status != JobStatus::kGoing;
}

std::int32_t Core::State::PriorityOf(TrackId id) const {
  const JobState* job = board.Find(JobOf(id));
  return job == nullptr ? 0 : job->submitted.priority;
}

bool Core::State::Gathering(TrackId id) const {
  const std::string& job = JobOf(id);
  const auto found = terms.find(job);
  if (found == terms.end() || found->second.min_workers <= 1) return false;
  const auto of_job = [&](TrackId track) { return JobOf(track) == job; };
  for (const auto& [track, entry] : tracks) {
    if (!of_job(track)) continue;
    if (entry.track.state.last.value > 0) return false;
    for (const auto& [generation, open] : entry.track.generations) {
      if (open.last_attempt.value > 0) return false;
    }
  }
  const auto there = std::count_if(workers.begin(), workers.end(), [&](const auto& worker) {
    const std::set<TrackId>& serves = worker.second.serves;
    return std::any_of(serves.begin(), serves.end(), of_job);
  });
  return static_cast<std::uint32_t>(there) < found->second.min_workers;
}

std::vector<TrackId> Core::State::Wanting() const {
  std::vector<TrackId> ids;
  for (const auto& [last, id] : wanting) ids.push_back(id);
  return ids;
}

std::vector<TrackId> Core::State::InTurn(const std::vector<TrackId>& ids) const {
  std::vector<std::tuple<std::int32_t, double, std::uint64_t, TrackId>> turns;
  for (const TrackId id : ids) {
    if (Gathering(id)) continue;
    turns.emplace_back(-PriorityOf(id), share.Turn(JobOf(id)), searches.at(id).last_grant, id);
  }
  std::sort(turns.begin(), turns.end());
  std::vector<TrackId> order;
  for (const auto& turn : turns) order.push_back(std::get<TrackId>(turn));
  return order;
}

void Core::State::TakeBack(Effects& effects, TrackId id, const std::string& why) {
  std::vector<Subject> out;
  for (const auto& [subject, mine] : work) {
    if (subject.track == id && mine.lease) out.push_back(subject);
  }
  for (const Subject& subject : out) {
    const Lease& lease = *work.at(subject).lease;
    if (lease.connected) effects.send.push_back({peer_of.at(lease.worker), Cancel{lease.key}});
    LoseAttempt(effects, subject, why);
  }
}

void Core::SetTerms(const std::string& job, JobTerms terms) {
  State& state = *state_;
  state.terms[job] = std::move(terms);
  for (auto& [peer, worker] : state.workers) {
    for (const auto& [id, track] : state.tracks) {
      if (track.track.state.spec.job == job) worker.serves.erase(id);
    }
  }
  for (const auto& [id, track] : state.tracks) {
    if (track.track.state.spec.job == job) state.Match(id);
  }
}

Effects Core::OnSubmit(JobSubmitted submitted, std::int64_t now_ms) {
  state_->now_ms = now_ms;
  Effects effects;
  const std::string job = submitted.job;
  state_->EmitJob(effects, std::move(submitted));
  for (const auto& [id, track] : state_->tracks) {
    if (track.track.state.spec.job == job) state_->dirty.insert(id);
  }
  state_->Proceed(effects);
  return effects;
}

Effects Core::OnMoveJob(JobMoved moved, std::int64_t now_ms) {
  State& state = *state_;
  state.now_ms = now_ms;
  Effects effects;
  const std::string job = moved.job;
  const JobStatus status = moved.status;
  const std::string why = "job " + job + " was " + std::string(Name(status)) +
                          (moved.by.empty() ? "" : " by " + moved.by);
  state.EmitJob(effects, std::move(moved));
  for (const auto& [id, track] : state.tracks) {
    if (track.track.state.spec.job != job) continue;
    state.dirty.insert(id);
    if (status == JobStatus::kGoing) continue;
    const std::set<Subject> waiting = state.searches.at(id).waiting;
    for (const Subject& subject : waiting) state.Unwant(subject);
    if (status == JobStatus::kCancelled) state.TakeBack(effects, id, why);
  }
  effects.notes.push_back(why);
  state.Proceed(effects);
  return effects;
}

std::vector<WorkerView> Core::WorkerViews() const {
  std::vector<WorkerView> views;
  for (const auto& [id, peer] : state_->peer_of) {
    const Worker& worker = state_->workers.at(peer);
    std::set<TrackId> holds;
    for (const Subject& subject : worker.holds) holds.insert(subject.track);
    views.push_back({id, worker.host, worker.device, worker.serves, holds, worker.heard_ms});
  }
  return views;
}

std::string Core::WhyNotWanted(const WorkerId& id) const {
  const auto peer = state_->peer_of.find(id);
  if (peer == state_->peer_of.end()) return "not connected";
  const Worker& worker = state_->workers.at(peer->second);
  return worker.serves.empty() ? state_->WhyNotWanted(worker.device, worker.host) : "";
}

}  // namespace pawl
