#include "coordinator/report/job_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pawl {
namespace {

template <typename Ids>
std::string Joined(const Ids& ids) {
  std::string text;
  for (const TrackId id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id.value);
  return text;
}

std::vector<TrackId> IdsOf(const std::vector<const TrackState*>& tracks) {
  std::vector<TrackId> ids;
  for (const TrackState* track : tracks) ids.push_back(track->id);
  return ids;
}

template <typename Ids>
nlohmann::json NumbersOf(const Ids& ids) {
  nlohmann::json numbers = nlohmann::json::array();
  for (const TrackId id : ids) numbers.push_back(id.value);
  return numbers;
}

}  // namespace

std::string JobStanding(const JobState& job, const std::vector<const TrackState*>& tracks) {
  if (job.status != JobStatus::kGoing) return std::string(Name(job.status));
  if (tracks.empty()) return "waiting";
  const auto is = [](TrackStatus status) {
    return [status](const TrackState* track) { return track->status == status; };
  };
  if (std::any_of(tracks.begin(), tracks.end(), is(TrackStatus::kSearching))) return "going";
  if (std::any_of(tracks.begin(), tracks.end(), is(TrackStatus::kPaused))) return "stopped";
  return "done";
}

nlohmann::json JobJson(const JobState& job, const std::vector<const TrackState*>& tracks,
                       const std::string& problem) {
  return {{"job", job.submitted.job},
          {"status", JobStanding(job, tracks)},
          {"priority", job.submitted.priority},
          {"tracks", NumbersOf(IdsOf(tracks))},
          {"file", job.submitted.file},
          {"submitted_by", job.submitted.by},
          {"moved_by", job.by},
          {"problem", problem}};
}

nlohmann::json WorkerJson(const WorkerView& worker, const std::string& why_idle) {
  return {{"worker", worker.id.value},
          {"host", worker.host},
          {"device", worker.device.model},
          {"uuid", worker.device.uuid},
          {"toolchain", worker.device.toolchain},
          {"pinned_mhz", worker.device.pinned_mhz},
          {"measures", NumbersOf(worker.holds)},
          {"can_measure", NumbersOf(worker.serves)},
          {"why_idle", why_idle}};
}

TextTable JobTable() {
  return TextTable({{"job", Align::kLeft, 0},
                    {"status", Align::kLeft, 0},
                    {"priority", Align::kRight, 0},
                    {"tracks", Align::kLeft, 0},
                    {"submitted by", Align::kLeft, 0},
                    {"problem", Align::kLeft, 0}});
}

std::vector<Cell> JobRow(const JobState& job, const std::vector<const TrackState*>& tracks,
                         const std::string& problem) {
  const std::string standing = JobStanding(job, tracks);
  return {{job.submitted.job},
          {standing, standing == "stopped" ? Tone::kBad : Tone::kPlain},
          {std::to_string(job.submitted.priority)},
          {tracks.empty() ? "-" : Joined(IdsOf(tracks))},
          {job.submitted.by},
          {problem, Tone::kBad}};
}

TextTable WorkerTable() {
  return TextTable({{"worker", Align::kLeft, 0},
                    {"device", Align::kLeft, 0},
                    {"measures", Align::kLeft, 0},
                    {"can measure", Align::kLeft, 0},
                    {"why not", Align::kLeft, 0}});
}

std::vector<Cell> WorkerRow(const WorkerView& worker, const std::string& why_idle) {
  return {{worker.id.value},
          {worker.device.model},
          {worker.holds.empty() ? "-" : Joined(worker.holds)},
          {worker.serves.empty() ? "-" : Joined(worker.serves)},
          {why_idle, Tone::kDim}};
}

}  // namespace pawl
