// What may follow what in a track: WhyNotApply, the other half of the fold.

#include <cmath>

#include "coordinator/search/track.h"
#include "kernels/compound.h"

namespace pawl {
namespace {

using Why = std::optional<std::string>;

std::string Text(Generation generation) { return "generation " + std::to_string(generation.value); }
std::string Text(Attempt attempt) { return "attempt " + std::to_string(attempt.value); }

// The changes, one after another, lead from the incumbent to the candidate: a repair starts from
// what was proposed. With another structure come other knobs; which, and at what values, is the
// package's to say, so that the candidate's own are taken for it. `structure`: the track's.
Why WhyNotChanges(const Proposed& proposed, const std::string& structure) {
  const bool compound = structure.find(kStructureJoint) != std::string::npos;
  Configuration now = proposed.incumbent;
  for (const Change& change : proposed.changes) {
    const KnobValue* value = now.Find(change.knob);
    if (value == nullptr)
      return "changes name knob '" + change.knob + "', which the incumbent does not have";
    if (*value != change.from) {
      return "a change of knob '" + change.knob + "' starts from " + ToText(change.from) +
             ", it is " + ToText(*value);
    }
    if (compound && change.knob == kStructureKnob) now = Unrepaired(proposed);
    if (now.Find(change.knob) == nullptr) return "the candidate has no knob '" + change.knob + "'";
    now.Set(change.knob, change.to);
  }
  if (now == proposed.candidate) return std::nullopt;
  return "changes do not lead from the incumbent to the candidate: they give " + now.Text();
}

struct Follower {
  const Track& track;

  Why operator()(const LedgerCreated&) const { return "it is about the ledger, not a track"; }
  Why operator()(const EpochStarted&) const { return "it is about the ledger, not a track"; }
  Why operator()(const TailTorn&) const { return "it is about the ledger, not a track"; }
  Why operator()(const JobSubmitted&) const { return "it is about a job, not a track"; }
  Why operator()(const JobMoved&) const { return "it is about a job, not a track"; }
  Why operator()(const TrackOpened&) const { return "the track is open already"; }
  Why operator()(const ReportConflict&) const { return std::nullopt; }

  Why operator()(const Proposed& proposed) const {
    if (const Why why = WhyNotSearching(Text(proposed.generation) + " proposed")) return why;
    if (const Generation next = track.Newest().Next(); proposed.generation != next) {
      return Text(proposed.generation) + " proposed, " + Text(next) + " is next";
    }
    if (proposed.incumbent != track.state.incumbent) {
      return Text(proposed.generation) + " is proposed against " + proposed.incumbent.Text() +
             ", the incumbent is " + track.state.incumbent.Text();
    }
    if (const Why why = WhyNotChanges(proposed, track.state.spec.structure))
      return Text(proposed.generation) + ": " + *why;
    return std::nullopt;
  }

  Why operator()(const Granted& granted) const {
    if (granted.kind == OrderKind::kConfirm && !track.confirmation) {
      if (!track.generations.empty()) return "confirmation granted while a generation is open";
      if (granted.generation.value != track.state.confirmations + 1) {
        return "confirmation " + std::to_string(granted.generation.value) + " granted after " +
               std::to_string(track.state.confirmations);
      }
      return WhyNotGrant(granted, OpenGeneration{});
    }
    const OpenGeneration* open = track.Find(granted.kind, granted.generation);
    if (open == nullptr) return NotOpen(granted.kind, granted.generation, "granted");
    return WhyNotGrant(granted, *open);
  }

  Why operator()(const AttemptLost& lost) const {
    const OpenGeneration* open = track.Find(lost.kind, lost.generation);
    if (open == nullptr) return NotOpen(lost.kind, lost.generation, "lost an attempt");
    if (!open->attempt || open->attempt->attempt != lost.attempt) {
      return Text(lost.attempt) + " of " + Text(lost.generation) + " lost, which is not out";
    }
    return std::nullopt;
  }

  Why operator()(const Measured& measured) const {
    const Report& report = measured.report;
    const OpenGeneration* open = track.Find(report.kind, report.generation);
    if (open == nullptr) return NotOpen(report.kind, report.generation, "measured");
    const std::string text = Text(report.attempt) + " of " + Text(report.generation);
    const GrantedAttempt* granted = open->Find(report.attempt);
    if (granted == nullptr) return text + " measured, which was never granted";
    if (!granted->taken.IsZero()) return text + " measured twice";
    if (granted->grant.batch != report.batch || report.batch != open->reports.size()) {
      return text + " measured batch " + std::to_string(report.batch) + ", batch " +
             std::to_string(open->reports.size()) + " is awaited";
    }
    if (const Why why = WhyTooLate(*open, *granted)) return text + " measured " + *why;
    return std::nullopt;
  }

  Why operator()(const Decided& decided) const {
    const std::string text = Text(decided.generation);
    const OpenGeneration* found = track.Find(OrderKind::kMeasure, decided.generation);
    if (found == nullptr) return NotOpen(OrderKind::kMeasure, decided.generation, "decided");
    const OpenGeneration& open = *found;
    const Decision& decision = decided.decision;
    const Verdict usual = VerdictOf(decision.reason);
    const bool refused_void = usual == Verdict::kVoid && decision.verdict == Verdict::kReject &&
                              VoidIsRefusal(track.state.spec);
    if (usual != decision.verdict && !refused_void) {
      return text + " decided " + std::string(Name(decision.verdict)) + " for the reason " +
             std::string(Name(decision.reason));
    }
    if (open.attempt) return text + " decided while " + Text(open.attempt->attempt) + " is out";
    if (decided.again && decision.verdict != Verdict::kVoid) {
      return text + " is to be measured again, but is no void";
    }
    if (!open.proposed.violations.empty() && decision.reason != Reason::kGeometry) {
      return text + " violates constraints and is decided " + std::string(Name(decision.reason));
    }
    if (decision.verdict == Verdict::kKeep) {
      if (open.reports.empty()) return text + " kept without a report";
      if (!decision.ratio || !std::isfinite(*decision.ratio) || *decision.ratio <= 0) {
        return text + " kept without a ratio";
      }
      const Configuration& against = open.Evidence()->incumbent;
      if (against != track.state.incumbent) {
        return text + " kept against " + against.Text() + ", the incumbent is " +
               track.state.incumbent.Text();
      }
    }
    return std::nullopt;
  }

  Why operator()(const Confirmed& confirmed) const {
    if (!track.confirmation) return "confirmed without a confirmation being open";
    if (confirmed.number != track.state.confirmations + 1) {
      return "confirmation " + std::to_string(confirmed.number) + " follows " +
             std::to_string(track.state.confirmations);
    }
    if (track.confirmation->attempt) return "confirmed while an attempt is out";
    if (confirmed.valid && track.confirmation->reports.empty()) return "confirmed without a report";
    if (confirmed.incumbent != track.state.incumbent) {
      return "confirmed " + confirmed.incumbent.Text() + ", the incumbent is " +
             track.state.incumbent.Text();
    }
    return std::nullopt;
  }

  Why operator()(const TrackPaused&) const { return WhyBusy("paused"); }
  Why operator()(const TrackClosed&) const { return WhyBusy("closed"); }
  Why operator()(const TrackResumed&) const { return std::nullopt; }

  // Only a track that searches and has no confirmation open.
  Why WhyNotSearching(const std::string& what) const {
    if (track.state.status != TrackStatus::kSearching) {
      return what + " while the track is " + std::string(Name(track.state.status));
    }
    if (track.closing) return what + " while the track is closing";
    if (track.confirmation) return what + " while a confirmation is open";
    return std::nullopt;
  }

  // Only one that has nothing open at all.
  Why WhyBusy(const std::string& what) const {
    if (const Why why = WhyNotSearching(what)) return why;
    if (track.generations.empty()) return std::nullopt;
    return what + " while " + Text(track.generations.begin()->first) + " is open";
  }

  std::string NotOpen(OrderKind kind, Generation number, const std::string& what) const {
    std::string open;
    if (kind == OrderKind::kConfirm) {
      if (track.confirmation) open = Text(track.confirmation->proposed.generation);
    } else {
      for (const auto& [generation, entry] : track.generations) {
        open += (open.empty() ? "" : ", ") + Text(generation);
      }
    }
    return Text(number) + " " + what + ", " + (open.empty() ? "none" : open) + " is open";
  }

  Why WhyNotGrant(const Granted& granted, const OpenGeneration& open) const {
    const std::string text = Text(granted.attempt) + " of " + Text(granted.generation) + " granted";
    if (open.attempt) return text + " while " + Text(open.attempt->attempt) + " is out";
    if (granted.attempt != open.last_attempt.Next()) {
      return text + ", " + Text(open.last_attempt.Next()) + " is next";
    }
    if (granted.batch != open.reports.size()) {
      return text + " for batch " + std::to_string(granted.batch) + ", batch " +
             std::to_string(open.reports.size()) + " is next";
    }
    if (const OpenAttempt* evidence = open.Evidence();
        evidence != nullptr && evidence->incumbent != granted.incumbent) {
      return text + " against " + granted.incumbent.Text() + ", its reports are against " +
             evidence->incumbent.Text();
    }
    if (!open.proposed.violations.empty()) return text + ", which violates constraints";
    if (granted.incumbent != track.state.incumbent) {
      return text + " against " + granted.incumbent.Text() + ", the incumbent is " +
             track.state.incumbent.Text();
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::string> WhyTooLate(const OpenGeneration& open, const GrantedAttempt& granted) {
  if (granted.grant.attempt <= open.superseded) {
    return "too late: its measurement was against an earlier incumbent and is superseded";
  }
  const OpenAttempt* evidence = open.Evidence();
  if (evidence != nullptr && evidence->incumbent != granted.grant.incumbent) {
    return "too late: it is against " + granted.grant.incumbent.Text() +
           ", the reports before it are against " + evidence->incumbent.Text();
  }
  return std::nullopt;
}

std::optional<std::string> WhyNotApply(const Track& track, const Event& event) {
  if (event.track != track.state.id) {
    return "it is about track " + std::to_string(event.track.value) + ", not " +
           std::to_string(track.state.id.value);
  }
  if (event.seq <= track.last_applied) {
    return "it does not come after event " + std::to_string(track.last_applied.value);
  }
  return std::visit(Follower{track}, event.body);
}

}  // namespace pawl
