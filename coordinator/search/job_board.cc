#include "coordinator/search/job_board.h"

#include "schema/check.h"

namespace pawl {

JobBoard::JobBoard(const std::vector<JobState>& snapshot) {
  for (const JobState& job : snapshot) jobs_.emplace(job.submitted.job, job);
}

std::optional<std::string> JobBoard::WhyNotApply(const Event& event) const {
  const auto* moved = std::get_if<JobMoved>(&event.body);
  const bool about_jobs = moved != nullptr || std::holds_alternative<JobSubmitted>(event.body);
  if (about_jobs && event.track != TrackId{}) {
    return "a job's event is about track " + std::to_string(event.track.value) + ", not the ledger";
  }
  if (moved == nullptr) return std::nullopt;
  if (Find(moved->job) == nullptr) {
    return "job '" + moved->job + "' is " + std::string(Name(moved->status)) +
           ", and was never submitted";
  }
  return std::nullopt;
}

void JobBoard::Apply(const Event& event) {
  const auto why = WhyNotApply(event);
  CHECK(!why, "event", event.seq.value, *why);
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
    jobs_[submitted->job] = {*submitted, JobStatus::kGoing, submitted->by, event.seq};
  } else if (const auto* moved = std::get_if<JobMoved>(&event.body)) {
    JobState& job = jobs_.at(moved->job);
    job.status = moved->status;
    job.by = moved->by;
    job.at = event.seq;
  }
}

const JobState* JobBoard::Find(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<JobState> JobBoard::Snapshot() const {
  std::vector<JobState> jobs;
  for (const auto& [name, job] : jobs_) jobs.push_back(job);
  return jobs;
}

}  // namespace pawl
