// Reports: each is taken once, answered always.

#include <utility>

#include "coordinator/search/answers.h"
#include "coordinator/search/core_state.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::size_t kMostConflicts = 4'096;  // remembered, so that each is told once

LeaseKey KeyOf(const Report& report) {
  return {report.kind, report.track, report.generation, report.attempt, report.batch};
}

std::string Text(const Report& report) {
  return std::string(Name(report.kind)) + " attempt " + std::to_string(report.attempt.value) +
         " of track " + std::to_string(report.track.value) + " generation " +
         std::to_string(report.generation.value);
}

}  // namespace

void Core::State::OnReport(Effects& effects, const PeerId& peer, const Report& report) {
  const Digest digest = Sha256(EncodeReport(report));
  const auto known = tracks.find(report.track);
  // An audit is nothing that a search orders.
  if (known != tracks.end() && report.kind != OrderKind::kAudit) {
    const Track& track = known->second.track;
    const OpenGeneration* open = track.Find(report.kind, report.generation);
    if (open != nullptr) {
      const GrantedAttempt* granted = open->Find(report.attempt);
      if (granted != nullptr && !granted->taken.IsZero()) {
        return AnswerKnown(effects, peer, report, digest, granted->taken);
      }
      if (granted == nullptr || granted->grant.order != report.order ||
          granted->grant.worker != report.worker || granted->grant.batch != report.batch) {
        return RejectReport(effects, peer, report, digest, RejectCode::kUnknownAttempt,
                            Text(report) + " was not granted so by this ledger");
      }
      return TakeReport(effects, peer, report, digest);
    }
  }
  if (const auto recent = taken.find(KeyOf(report)); recent != taken.end()) {
    return AnswerKnown(effects, peer, report, digest, recent->second);
  }
  const Result<std::optional<Digest>> looked_up =
      seen ? seen(report.track, report.kind, report.generation, report.attempt)
           : std::optional<Digest>();
  if (!looked_up) {
    effects.send.push_back({peer, RejectMessage{KeyOf(report), digest, RejectCode::kNotOpenHere,
                                                looked_up.error().message, true}});
    return;
  }
  const std::optional<Digest>& recorded = *looked_up;
  if (!recorded) {
    return RejectReport(effects, peer, report, digest, RejectCode::kUnknownAttempt,
                        Text(report) + " was never granted by this ledger");
  }
  if (recorded->IsZero() && known == tracks.end()) {
    // Its attempt may still be open, in a track that this coordinator has not taken up (yet).
    effects.send.push_back(
        {peer, RejectMessage{KeyOf(report), digest, RejectCode::kNotOpenHere,
                             Text(report) + " is of a track not searched now", true}});
    return;
  }
  if (recorded->IsZero()) {
    return RejectReport(effects, peer, report, digest, RejectCode::kConflict,
                        Text(report) + " comes too late: it was decided without it");
  }
  AnswerKnown(effects, peer, report, digest, *recorded);
}

void Core::State::TakeReport(Effects& effects, const PeerId& peer, const Report& report,
                             const Digest& digest) {
  const TrackId id = report.track;
  CoreTrack& entry = At(id);
  const Subject subject = SubjectOf(KeyOf(report));
  Work& mine = work[subject];
  const OpenGeneration& open = *entry.track.Find(report.kind, report.generation);
  const bool awaited = mine.lease && mine.lease->key == KeyOf(report);
  if (report.batch != open.reports.size()) {
    return RejectReport(effects, peer, report, digest, RejectCode::kConflict,
                        Text(report) + " comes too late: batch " + std::to_string(report.batch) +
                            " was answered by another attempt");
  }
  if (const auto why = WhyTooLate(open, *open.Find(report.attempt))) {
    RejectReport(effects, peer, report, digest, RejectCode::kConflict,
                 Text(report) + " comes " + *why);
    if (awaited) LoseAttempt(effects, subject, "its report comes " + *why);
    return;
  }
  if (const auto why = WhyNotAnswer(PlanOf(entry, report), report)) {
    RejectReport(effects, peer, report, digest, RejectCode::kMalformed, Text(report) + " " + *why);
    if (awaited) LoseAttempt(effects, subject, "its report does not answer the order: " + *why);
    return;
  }
  if (mine.lease && !awaited && mine.lease->connected) {
    // A late report wins: what was granted in its place need not go on.
    effects.send.push_back({peer_of.at(mine.lease->worker), Cancel{mine.lease->key}});
  }
  DropLease(subject, report.build_seconds + report.check_seconds + report.run_seconds);
  Unwant(subject);
  mine.avoid = WorkerId();
  Emit(effects, id, Measured{report, digest});
  taken[KeyOf(report)] = digest;
  effects.send.push_back({peer, Ack{KeyOf(report), digest, head}});
  dirty.insert(id);
}

void Core::State::AnswerKnown(Effects& effects, const PeerId& peer, const Report& report,
                              const Digest& digest, const Digest& kept) {
  if (kept == digest) {
    effects.send.push_back({peer, Ack{KeyOf(report), digest, head}});
    return;
  }
  if (conflicts.size() >= kMostConflicts) conflicts.clear();
  if (conflicts.insert(digest).second && tracks.contains(report.track)) {
    Emit(effects, report.track,
         ReportConflict{report.generation, report.attempt, report.worker, kept, digest});
    effects.notes.push_back("conflict: " + Text(report) + " was reported as " + kept.Short() +
                            ", and now as " + digest.Short() + " by " + report.worker.value);
  }
  RejectReport(effects, peer, report, digest, RejectCode::kConflict,
               Text(report) + " was reported before, as " + kept.Short());
}

void Core::State::RejectReport(Effects& effects, const PeerId& peer, const Report& report,
                               const Digest& digest, RejectCode code, const std::string& why) {
  effects.send.push_back({peer, RejectMessage{KeyOf(report), digest, code, why, false}});
}

OrderPlan Core::State::PlanOf(const CoreTrack& track, const Report& report) const {
  if (report.kind == OrderKind::kConfirm) {
    return ConfirmPlanOf(track.workshop, track.track, report);
  }
  return MeasurePlan(track.workshop, track.track.state.spec, report.generation, report.batch);
}

}  // namespace pawl
