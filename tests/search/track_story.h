#pragma once
// The events of one small track, made, numbered and folded in: what the tests of track tell.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/search/track.h"

namespace pawl {

inline Configuration Knobs(std::int64_t tile, bool packed, const std::string& staging) {
  return Configuration{{{"tile", tile}, {"packed", packed}, {"staging", staging}}};
}

inline TrackSpec Spec() {
  TrackSpec spec;
  spec.job = "unit";
  spec.operation = "matmul";
  spec.start = Knobs(32, false, "shared");
  spec.budget.generations = 20;
  spec.confirm = false;
  return spec;
}

// Makes events of one track, numbers them and folds them in.
class Story {
 public:
  explicit Story(const TrackSpec& spec = Spec())
      : track_(OpenTrack(TrackId(1), TrackOpened{spec, TrackId(0)}, Seq(5))) {
    history_.push_back({Seq(5), 0, TrackId(1), TrackOpened{spec, TrackId(0)}});
  }

  const Track& track() const { return track_; }
  const TrackState& state() const { return track_.state; }
  const std::vector<Event>& history() const { return history_; }

  std::optional<std::string> Why(const EventBody& body) const {
    return WhyNotApply(track_, Next(body));
  }

  Story& Tell(const EventBody& body) {
    history_.push_back(Next(body));
    Apply(track_, history_.back());
    return *this;
  }

  Story& Propose(std::vector<Change> changes, std::vector<std::string> violations = {}) {
    return Tell(Proposal(std::move(changes), std::move(violations)));
  }

  Proposed Proposal(std::vector<Change> changes, std::vector<std::string> violations = {}) const {
    Proposed proposed;
    proposed.generation = track_.Newest().Next();
    proposed.incumbent = state().incumbent;
    proposed.candidate = state().incumbent;
    for (const Change& change : changes) proposed.candidate.Set(change.knob, change.to);
    proposed.changes = std::move(changes);
    proposed.violations = std::move(violations);
    return proposed;
  }

  Granted Grant(OrderKind kind = OrderKind::kMeasure) const {
    const OpenGeneration* open = Open(kind);
    Granted granted;
    granted.kind = kind;
    granted.generation = open ? open->proposed.generation : Generation(state().confirmations + 1);
    granted.attempt = open ? open->last_attempt.Next() : Attempt(1);
    granted.batch = open ? open->reports.size() : 0;
    granted.worker = WorkerId("w1");
    granted.boot = BootId("b1");
    granted.order = Sha256("order");
    granted.lease_ms = 60'000;
    granted.incumbent = state().incumbent;
    return granted;
  }

  Measured Measure(Attempt attempt, OutcomeKind kind = OutcomeKind::kMeasured,
                   std::optional<ArmRole> arm = std::nullopt) const {
    const bool measure = !track_.generations.empty();
    Report report;
    report.kind = measure ? OrderKind::kMeasure : OrderKind::kConfirm;
    const OpenGeneration& open = *Open(report.kind);
    report.track = TrackId(1);
    report.generation = open.proposed.generation;
    report.attempt = attempt;
    report.batch = open.reports.size();
    report.worker = WorkerId("w1");
    report.outcome = {kind, arm, kind == OutcomeKind::kMeasured ? "" : "detail"};
    report.build_seconds = 1;
    report.check_seconds = 0.5;
    report.run_seconds = 0.25;
    return {report, Sha256("report " + std::to_string(attempt.value))};
  }

  Decided Decide(Reason reason, std::optional<double> ratio = std::nullopt,
                 bool again = false) const {
    Decided decided;
    decided.generation = track_.generations.begin()->first;
    decided.decision.reason = reason;
    decided.decision.verdict = VerdictOf(reason);
    decided.decision.ratio = ratio;
    decided.again = again;
    return decided;
  }

  // One whole generation.
  Story& Run(std::vector<Change> changes, Reason reason,
             std::optional<double> ratio = std::nullopt) {
    Propose(std::move(changes));
    Tell(Grant());
    Tell(Measure(Attempt(1)));
    return Tell(Decide(reason, ratio));
  }

  const KnobRecord& Knob(const std::string& name) const {
    for (const KnobRecord& record : state().knobs) {
      if (record.knob == name) return record;
    }
    ADD_FAILURE() << "no knob " << name;
    return state().knobs.front();
  }

 private:
  // The confirmation, or the oldest open generation.
  const OpenGeneration* Open(OrderKind kind) const {
    if (kind == OrderKind::kConfirm) return track_.confirmation ? &*track_.confirmation : nullptr;
    return track_.generations.empty() ? nullptr : &track_.generations.begin()->second;
  }

  Event Next(const EventBody& body) const {
    return {track_.last_applied.Next(), 0, TrackId(1), body};
  }

  Track track_;
  std::vector<Event> history_;
};

inline Change To(const std::string& knob, KnobValue from, KnobValue to, bool repair = false) {
  return {knob, std::move(from), std::move(to), repair};
}

inline const Change kTile64 = To("tile", std::int64_t{32}, std::int64_t{64});
inline const Change kTile16 = To("tile", std::int64_t{32}, std::int64_t{16});
inline const Change kPacked = To("packed", false, true);
inline const Change kExact = To("staging", std::string("shared"), std::string("exact"), true);

inline std::uint64_t Name64(const Configuration& configuration) {
  return configuration.Hash().Prefix64();
}

}  // namespace pawl
