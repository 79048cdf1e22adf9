#include "coordinator/service/resume.h"

#include <algorithm>

namespace pawl {

Result<FoldedLedger> FoldLedger(const Ledger& ledger, bool use_snapshot) {
  FoldedLedger folded;
  Seq from{1};
  Seq jobs_from{1};
  if (use_snapshot) {
    auto snapshot = ledger.LatestSnapshot();
    if (!snapshot) return snapshot.error();
    if (*snapshot) {
      from = (*snapshot)->seq.Next();
      folded.board = JobBoard((*snapshot)->jobs);
      for (const JobState& job : (*snapshot)->jobs) jobs_from = std::max(jobs_from, job.at.Next());
      for (TrackState& state : (*snapshot)->tracks) {
        Track track;
        track.last_applied = state.settled;
        track.state = std::move(state);
        folded.tracks.emplace(track.state.id, std::move(track));
      }
    }
  }
  std::string problem;
  Status scanned = ledger.Scan(from, [&](const Event& event) {
    ++folded.events_read;
    if (event.track == TrackId{}) {
      if (event.seq < jobs_from) return true;  // the snapshot has it
      if (const auto why = folded.board.WhyNotApply(event)) {
        problem = "ledger " + ledger.folder() + ": event " + std::to_string(event.seq.value) +
                  ": " + *why;
        return false;
      }
      folded.board.Apply(event);
      return true;
    }
    if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
      if (!folded.tracks.contains(event.track)) {
        folded.tracks.emplace(event.track, OpenTrack(event.track, *opened, event.seq));
      }
      return true;
    }
    const auto found = folded.tracks.find(event.track);
    if (found == folded.tracks.end()) {
      problem = "ledger " + ledger.folder() + ": event " + std::to_string(event.seq.value) +
                " is about track " + std::to_string(event.track.value) + ", which was never opened";
      return false;
    }
    Track& track = found->second;
    if (event.seq <= track.last_applied) return true;  // the snapshot has it
    if (const auto why = WhyNotApply(track, event)) {
      problem =
          "ledger " + ledger.folder() + ": event " + std::to_string(event.seq.value) + ": " + *why;
      return false;
    }
    Apply(track, event);
    return true;
  });
  if (!scanned) return scanned.error();
  if (!problem.empty()) return Error{problem + "; see `pawl verify`", Advice::kHalt};
  return folded;
}

Snapshot TakeSnapshot(const std::map<TrackId, const Track*>& tracks, const JobBoard& board,
                      const Ledger& ledger) {
  Snapshot snapshot;
  snapshot.ledger = ledger.id();
  snapshot.epoch = ledger.epoch();
  snapshot.seq = ledger.head().seq;
  snapshot.jobs = board.Snapshot();
  for (const auto& [id, track] : tracks) {
    const TrackState& settled = track->Settled();
    if (!track->generations.empty() || track->confirmation) {
      snapshot.seq = std::min(snapshot.seq, settled.settled);
    }
    snapshot.tracks.push_back(settled);
  }
  return snapshot;
}

Result<std::shared_ptr<const Operation>> PackageOf(const Ledger& ledger, const TrackSpec& spec) {
  std::map<std::string, std::string> files;
  for (const auto& [file, digest] : spec.package) {
    auto bytes = ledger.Blob(digest);
    if (!bytes) return bytes.error();
    if (!*bytes) {
      return Error{"ledger " + ledger.folder() + ": file " + spec.operation + "/" + file +
                   " (digest " + digest.Short() + ") is missing from it; restore it from a backup"};
    }
    files.emplace(file, **std::move(bytes));
  }
  auto operation = LoadOperation(files, spec.operation);
  if (!operation) return operation.error();
  return std::shared_ptr<const Operation>(std::make_shared<Operation>(*std::move(operation)));
}

Status KeepPackage(Ledger& ledger, const Operation& operation, const TrackSpec& spec) {
  for (const auto& [file, digest] : spec.package) {
    const auto bytes = operation.files.find(file);
    CHECK(bytes != operation.files.end(), file);
    if (Status kept = ledger.PutBlob(digest, bytes->second); !kept) return kept;
  }
  return {};
}

}  // namespace pawl
