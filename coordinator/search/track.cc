#include "coordinator/search/track.h"

#include <algorithm>
#include <utility>

#include "schema/check.h"

namespace pawl {
namespace {

// The record of a knob that the incumbent has; of one that came with another structure, from its
// first try on.
KnobRecord& RecordOf(TrackState& state, const std::string& knob) {
  for (KnobRecord& record : state.knobs) {
    if (record.knob == knob) return record;
  }
  KnobRecord fresh;
  fresh.knob = knob;
  return state.knobs.emplace_back(std::move(fresh));
}

void Refuse(TrackState& state, const Proposed& proposed,
            const std::vector<const Change*>& changed) {
  ++state.stale;
  // With several at once nobody knows which one it was; of an earlier incumbent it is no refusal
  // under the present one.
  if (changed.size() != 1 || proposed.incumbent != state.incumbent) return;
  KnobRecord& record = RecordOf(state, changed.front()->knob);
  ++record.refusals;
  record.refused.push_back(changed.front()->to);
}

void Keep(TrackState& state, const Proposed& proposed, const Decision& decision,
          const std::vector<const Change*>& changed) {
  const double ratio = decision.ratio.value();
  for (const Change* change : changed) {
    KnobRecord& record = RecordOf(state, change->knob);
    record.payoff += (1 - ratio) / static_cast<double>(changed.size());
    ++record.keeps;
  }
  for (KnobRecord& record : state.knobs) {
    record.refusals = 0;
    record.refused.clear();
  }
  state.incumbent = proposed.candidate;
  state.incumbent_since = proposed.generation;
  state.gain *= ratio;
  state.stale = 0;
}

struct Folder {
  Track& track;

  void operator()(const LedgerCreated&) {}
  void operator()(const EpochStarted&) {}
  void operator()(const TailTorn&) {}
  void operator()(const JobSubmitted&) {}
  void operator()(const JobMoved&) {}
  void operator()(const TrackOpened&) {}
  void operator()(const ReportConflict&) {}

  void operator()(const Proposed& proposed) {
    track.generations[proposed.generation].proposed = proposed;
  }

  void operator()(const Granted& granted) {
    if (granted.kind == OrderKind::kConfirm && !track.confirmation) OpenConfirmation();
    OpenGeneration& open = Open(granted.kind, granted.generation);
    open.last_attempt = granted.attempt;
    open.attempt = OpenAttempt{
        granted.attempt, granted.batch,    granted.worker,    granted.boot,
        granted.order,   granted.lease_ms, granted.incumbent, track.state.incumbent_since,
        track.state.gain};
    open.granted.push_back({*open.attempt, Digest{}});
    open.fault.reset();
  }

  void operator()(const AttemptLost& lost) {
    OpenGeneration& open = Open(lost.kind, lost.generation);
    open.attempt.reset();
    ++open.lost;
  }

  void operator()(const Measured& measured) {
    const Report& report = measured.report;
    OpenGeneration& open = Open(report.kind, report.generation);
    open.granted[report.attempt.value - 1].taken = measured.digest;
    open.attempt.reset();  // also a newer one: its batch is answered
    open.seconds += report.build_seconds + report.check_seconds + report.run_seconds;
    const OutcomeKind kind = report.outcome.kind;
    if (kind != OutcomeKind::kCrashed && kind != OutcomeKind::kHung) {
      open.fault.reset();
      open.reports.push_back(report);
      return;
    }
    open.fault = report.outcome;
    if (report.kind == OrderKind::kConfirm || report.outcome.arm == ArmRole::kCandidate) {
      ++open.faults;
      open.faulted_on.push_back(report.worker);
    }
  }

  void operator()(const Decided& decided) {
    OpenGeneration& open = track.generations.at(decided.generation);
    if (decided.again) {
      if (decided.decision.reason == Reason::kSuperseded) {
        open.superseded = open.last_attempt;
      } else {
        ++open.voids;
      }
      open.reports.clear();
      open.fault.reset();
      return;
    }
    const OpenGeneration settled = std::move(open);
    track.generations.erase(decided.generation);
    if (!track.generations.empty() && !track.before) track.before = track.state;
    const bool at_end = decided.decision.reason == Reason::kNoData && DataExhausted(settled);
    if (at_end && !track.at_end) track.at_end = decided.generation;
    track.broken = WhyBroken(settled, decided.decision, track.state.incumbent);
    track.state.worker_seconds += settled.seconds;
    SettleInto(track.state, settled.proposed, decided.decision);
  }

  void operator()(const Confirmed&) {
    ++track.state.confirmations;
    track.state.worker_seconds += track.confirmation->seconds;
    track.confirmation.reset();
    if (track.closing) Close(*std::exchange(track.closing, std::nullopt));
  }

  void operator()(const TrackPaused& paused) {
    track.state.status = TrackStatus::kPaused;
    track.state.why = paused.why;
    Forget();
  }

  void operator()(const TrackResumed& resumed) {
    if (track.closing) {
      track.closing.reset();
      // One with attempts goes on: their numbers must never be granted a second time.
      if (track.confirmation->granted.empty()) track.confirmation.reset();
    }
    track.state.status = TrackStatus::kSearching;
    track.state.why.clear();
    track.state.voids_in_row = 0;
    track.state.spec.budget = resumed.budget;
    Forget();
  }

  void operator()(const TrackClosed& closed) {
    Forget();
    if (!track.state.spec.confirm) return Close(closed.why);
    track.closing = closed.why;
    OpenConfirmation();
  }

  // Why the search was to end, which it has now, or goes on in spite of.
  void Forget() {
    track.at_end.reset();
    track.broken.reset();
  }

  void Close(const std::string& why) {
    track.state.status = TrackStatus::kClosed;
    track.state.why = why;
  }

  void OpenConfirmation() {
    track.confirmation.emplace();
    track.confirmation->proposed.generation = Generation(track.state.confirmations + 1);
    track.confirmation->proposed.incumbent = track.state.incumbent;
  }

  OpenGeneration& Open(OrderKind kind, Generation number) {
    return kind == OrderKind::kMeasure ? track.generations.at(number) : *track.confirmation;
  }
};

}  // namespace

const GrantedAttempt* OpenGeneration::Find(Attempt wanted) const {
  if (wanted.value == 0 || wanted.value > granted.size()) return nullptr;
  return &granted[wanted.value - 1];
}

const OpenAttempt* OpenGeneration::Evidence() const {
  if (reports.empty()) return nullptr;
  return &Find(reports.front().attempt)->grant;
}

Generation Track::Newest() const {
  return generations.empty() ? state.last : std::max(state.last, generations.rbegin()->first);
}

const OpenGeneration* Track::Find(OrderKind kind, Generation number) const {
  if (kind == OrderKind::kMeasure) {
    const auto found = generations.find(number);
    return found == generations.end() ? nullptr : &found->second;
  }
  const bool open = confirmation && confirmation->proposed.generation == number;
  return open ? &*confirmation : nullptr;
}

bool DataExhausted(const OpenGeneration& open) {
  return !open.reports.empty() && open.reports.back().data_exhausted &&
         open.reports.back().outcome.kind == OutcomeKind::kNoData;
}

std::optional<std::string> WhyBroken(const OpenGeneration& open, const Decision& decision,
                                     const Configuration& incumbent) {
  if (decision.reason != Reason::kDeviceFault || open.reports.empty()) return std::nullopt;
  const Outcome& outcome = open.reports.back().outcome;
  if (!outcome.arm || *outcome.arm == ArmRole::kCandidate) return std::nullopt;
  const bool replaced =
      *outcome.arm == ArmRole::kIncumbent && open.Evidence()->incumbent != incumbent;
  if (replaced) return std::nullopt;
  switch (outcome.kind) {
    case OutcomeKind::kBuildFailed:
    case OutcomeKind::kLaunchFailed:
    case OutcomeKind::kWrongOutput:
      return decision.detail;
    default:
      return std::nullopt;
  }
}

Track OpenTrack(TrackId id, const TrackOpened& opened, Seq seq) {
  Track track;
  track.state.id = id;
  track.state.spec = opened.spec;
  track.state.forked_from = opened.forked_from;
  track.state.incumbent = opened.spec.start;
  for (const Setting& setting : opened.spec.start.settings) {
    KnobRecord record;
    record.knob = setting.knob;
    track.state.knobs.push_back(std::move(record));
  }
  track.state.tried.insert(opened.spec.start.Hash().Prefix64());
  track.state.settled = seq;
  track.last_applied = seq;
  return track;
}

bool VoidIsRefusal(const TrackSpec& spec) {
  const auto found = spec.policy_parameters.find("void_is_refusal");
  if (found == spec.policy_parameters.end()) return false;
  const double* number = std::get_if<double>(&found->second);
  return number != nullptr && *number != 0;
}

Configuration Unrepaired(const Proposed& proposed) {
  Configuration asked = proposed.candidate;
  for (const Change& change : proposed.changes) {
    if (change.repair && asked.Find(change.knob) != nullptr) asked.Set(change.knob, change.from);
  }
  return asked;
}

void SettleInto(TrackState& state, const Proposed& proposed, const Decision& decision) {
  std::vector<const Change*> changed;
  bool repaired = false;
  for (const Change& change : proposed.changes) {
    if (change.repair) {
      repaired = true;
      continue;
    }
    changed.push_back(&change);
    ++RecordOf(state, change.knob).tries;
  }
  state.last = std::max(state.last, proposed.generation);
  state.tried.insert(proposed.candidate.Hash().Prefix64());
  if (repaired) state.tried.insert(Unrepaired(proposed).Hash().Prefix64());
  switch (decision.verdict) {
    case Verdict::kKeep:
      ++state.kept;
      state.voids_in_row = 0;
      Keep(state, proposed, decision, changed);
      return;
    case Verdict::kReject:
      ++state.rejected;
      // What was refused before it ran says nothing about how steady the device is.
      if (decision.reason != Reason::kGeometry) state.voids_in_row = 0;
      Refuse(state, proposed, changed);
      return;
    case Verdict::kVoid:
      ++state.voided;
      if (decision.reason == Reason::kSuperseded) return;
      if (decision.reason != Reason::kNoData) ++state.voids_in_row;
      if (VoidIsRefusal(state.spec)) Refuse(state, proposed, changed);
      return;
  }
}

void Apply(Track& track, const Event& event) {
  const auto why = WhyNotApply(track, event);
  CHECK(!why, "event", event.seq.value, *why);
  std::visit(Folder{track}, event.body);
  track.last_applied = event.seq;
  if (track.generations.empty() && !track.confirmation) {
    track.state.settled = event.seq;
    track.before.reset();
  }
}

}  // namespace pawl
