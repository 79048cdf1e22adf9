#include "coordinator/commands/standing.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "coordinator/report/generation.h"
#include "coordinator/report/job_status.h"
#include "coordinator/report/text.h"
#include "coordinator/report/track_status.h"
#include "coordinator/search/binding.h"

namespace pawl {
namespace {

std::vector<const TrackState*> TracksOf(const std::string& job,
                                        const std::map<TrackId, const Track*>& tracks) {
  std::vector<const TrackState*> states;
  for (const auto& [id, track] : tracks) {
    if (track->state.spec.job == job) states.push_back(&track->state);
  }
  return states;
}

}  // namespace

Result<std::string> TracksStanding(const Ledger& ledger,
                                   const std::map<TrackId, const Track*>& tracks, bool json,
                                   bool colour) {
  TextTable table({{"track", Align::kRight, 0},
                   {"what", Align::kLeft, 0},
                   {"status", Align::kLeft, 0},
                   {"gens", Align::kRight, 0},
                   {"kept", Align::kRight, 0},
                   {"rejected", Align::kRight, 0},
                   {"void", Align::kRight, 0},
                   {"start/now", Align::kRight, 0},
                   {"worker time", Align::kRight, 0},
                   {"incumbent", Align::kLeft, 0}});
  std::vector<const TrackState*> states;
  for (const auto& [id, track] : tracks) states.push_back(&track->state);
  const auto confirmations = LastConfirmations(ledger, states);
  if (!confirmations) return confirmations.error();
  std::string confirmed_text;
  std::string lines;
  for (const auto& [id, track] : tracks) {
    const TrackState& state = track->state;
    const auto found = confirmations->find(id);
    const Confirmed* const confirmed = found != confirmations->end() ? &found->second : nullptr;
    if (confirmed != nullptr) {
      confirmed_text += "track " + std::to_string(id.value) +
                        " confirmed: " + ConfirmationText(*confirmed, state) + "\n";
    }
    if (json) {
      lines += TrackJson(state, track->generations.size(), confirmed, ledger.head().seq).dump();
      lines += '\n';
      continue;
    }
    std::string status(Name(state.status));
    if (!state.why.empty()) status += ": " + state.why;
    table.Add({{std::to_string(id.value)},
               {TrackTitle(state.spec)},
               {status, state.status == TrackStatus::kPaused ? Tone::kBad : Tone::kPlain},
               {std::to_string(Decisions(state))},
               {std::to_string(state.kept)},
               {std::to_string(state.rejected)},
               {std::to_string(state.voided)},
               {FormatRatio(1 / state.gain)},
               {FormatDuration(state.worker_seconds)},
               {state.incumbent.Text()}});
  }
  return json ? lines : table.Render(colour) + confirmed_text;
}

std::string JobsStanding(const JobBoard& board, const std::map<TrackId, const Track*>& tracks,
                         const std::map<std::string, std::string>& problems, bool json,
                         bool colour) {
  if (board.jobs().empty()) return "";
  std::string lines;
  TextTable table = JobTable();
  for (const auto& [name, job] : board.jobs()) {
    const auto found = problems.find(name);
    const std::string problem = found == problems.end() ? "" : found->second;
    const std::vector<const TrackState*> states = TracksOf(name, tracks);
    if (json) {
      lines += JobJson(job, states, problem).dump() + "\n";
    } else {
      table.Add(JobRow(job, states, problem));
    }
  }
  return json ? lines : "\n" + table.Render(colour);
}

std::string WorkersStanding(const Core& core, bool json, bool colour) {
  std::string lines;
  TextTable table = WorkerTable();
  const std::vector<WorkerView> workers = core.WorkerViews();
  for (const WorkerView& worker : workers) {
    const std::string why = core.WhyNotWanted(worker.id);
    if (json) {
      lines += WorkerJson(worker, why).dump() + "\n";
    } else {
      table.Add(WorkerRow(worker, why));
    }
  }
  if (json) return lines;
  return workers.empty() ? "\nno worker is connected\n" : "\n" + table.Render(colour);
}

void SayStanding(Service& service, const PeerId& peer, const Ask& ask) {
  std::map<TrackId, const Track*> tracks = service.Tracks();
  const auto other = [&](const std::string& job) { return !ask.job.empty() && ask.job != job; };
  std::erase_if(tracks, [&](const auto& entry) { return other(entry.second->state.spec.job); });
  std::vector<JobState> jobs;
  for (const auto& [name, job] : service.core().board().jobs()) {
    if (!other(name)) jobs.push_back(job);
  }
  auto text = TracksStanding(service.ledger(), tracks, ask.json, false);
  if (!text) {
    service.Say(peer, {ReplyCode::kWrong, true, text.error().message + "\n"});
    return;
  }
  *text += JobsStanding(JobBoard(jobs), tracks, service.Problems(), ask.json, false);
  *text += WorkersStanding(service.core(), ask.json, false);
  service.Say(peer, {ReplyCode::kOk, true, *std::move(text)});
}

}  // namespace pawl
