#include "tests/search/core_bench.h"

#include <gtest/gtest.h>

#include <utility>

#include "schema/check.h"

namespace pawl::fakes {
namespace {

std::string Text(const LeaseKey& key) {
  return (key.kind == OrderKind::kConfirm ? "confirm " : "") + std::string("t") +
         std::to_string(key.track.value) + " g" + std::to_string(key.generation.value) + " a" +
         std::to_string(key.attempt.value) + " b" + std::to_string(key.batch);
}

struct EventText {
  std::string operator()(const LedgerCreated&) const { return "ledger created"; }
  std::string operator()(const EpochStarted&) const { return "epoch started"; }
  std::string operator()(const TailTorn&) const { return "tail torn"; }
  std::string operator()(const JobSubmitted& job) const { return "job " + job.job + " submitted"; }
  std::string operator()(const JobMoved& job) const {
    return "job " + job.job + " " + std::string(Name(job.status));
  }
  std::string operator()(const TrackOpened&) const { return "opened"; }
  std::string operator()(const Proposed& event) const {
    return "proposed g" + std::to_string(event.generation.value);
  }
  std::string operator()(const Granted& event) const {
    return "granted " + std::string(event.kind == OrderKind::kConfirm ? "confirm " : "") + "g" +
           std::to_string(event.generation.value) + " a" + std::to_string(event.attempt.value) +
           " b" + std::to_string(event.batch) + " to " + event.worker.value;
  }
  std::string operator()(const AttemptLost& event) const {
    return "lost a" + std::to_string(event.attempt.value) + ": " + event.why;
  }
  std::string operator()(const Measured& event) const {
    return "measured g" + std::to_string(event.report.generation.value) + " a" +
           std::to_string(event.report.attempt.value) + " " +
           std::string(Name(event.report.outcome.kind));
  }
  std::string operator()(const ReportConflict& event) const {
    return "conflict g" + std::to_string(event.generation.value) + " a" +
           std::to_string(event.attempt.value);
  }
  std::string operator()(const Decided& event) const {
    return "decided g" + std::to_string(event.generation.value) + " " +
           std::string(Name(event.decision.verdict)) + " " +
           std::string(Name(event.decision.reason)) + (event.again ? " again" : "");
  }
  std::string operator()(const Confirmed& event) const {
    return "confirmed " + std::to_string(event.number) +
           (event.valid ? "" : " invalid: " + event.detail);
  }
  std::string operator()(const TrackPaused& event) const { return "paused: " + event.why; }
  std::string operator()(const TrackResumed&) const { return "resumed"; }
  std::string operator()(const TrackClosed& event) const { return "closed: " + event.why; }
};

std::string Details(const Message& message) {
  if (const auto* refuse = std::get_if<Refuse>(&message)) {
    return " " + std::string(Name(refuse->code)) + ": " + refuse->why;
  }
  if (const auto* grant = std::get_if<Grant>(&message)) {
    return " " + Text(KeyOf(grant->order)) + (grant->order.fresh_process ? " fresh" : "");
  }
  if (const auto* prepare = std::get_if<Prepare>(&message)) {
    return " " + std::to_string(prepare->sources.size());
  }
  if (const auto* ack = std::get_if<BeatAck>(&message)) {
    std::string text;
    for (const LeaseKey& key : ack->unknown) text += " unknown " + Text(key);
    return text;
  }
  if (const auto* ack = std::get_if<Ack>(&message)) return " " + Text(ack->key);
  if (const auto* reject = std::get_if<RejectMessage>(&message)) {
    return " " + Text(reject->key) + " " + std::string(Name(reject->code));
  }
  if (const auto* cancel = std::get_if<Cancel>(&message)) return " " + Text(cancel->key);
  return "";
}

}  // namespace

std::vector<std::string> Told(const Effects& effects) {
  std::vector<std::string> lines;
  for (const Event& event : effects.append) {
    lines.push_back(
        (event.track == TrackId(1) ? "+ " : "+ t" + std::to_string(event.track.value) + " ") +
        std::visit(EventText{}, event.body));
  }
  for (const Outgoing& outgoing : effects.send) {
    lines.push_back(outgoing.peer + " < " + std::string(Name(outgoing.message)) +
                    Details(outgoing.message));
  }
  return lines;
}

Hello HelloOf(const std::string& worker, const std::string& boot) {
  Hello hello;
  hello.worker = WorkerId(worker);
  hello.boot = BootId(boot);
  hello.version = "0.1.0";
  hello.host = "here";
  hello.device = Bench();
  return hello;
}

CoreOptions CoreBench::DefaultOptions() {
  CoreOptions options;
  options.ledger = LedgerId("ledger");
  return options;
}

Workshop CoreBench::PlainWorkshop(const TrackSpec& spec) {
  return CopyWorkshop(spec, std::make_unique<PlainPolicy>(), Everything());
}

CoreBench::CoreBench(CoreOptions options) {
  log_.push_back({Seq(1), 0, TrackId(0), LedgerCreated{options.ledger, 1}});
  Start(std::move(options));
}

void CoreBench::Start(CoreOptions options) {
  log_.push_back({Seq(log_.size() + 1), 0, TrackId(0), EpochStarted{Epoch(++epoch_), "0.1.0"}});
  options.epoch = Epoch(epoch_);
  options.head = {options.ledger, Seq(log_.size()), Sha256(std::to_string(log_.size()))};
  core_ = std::make_unique<Core>(options);
  core_->SetSeenLookup([this](TrackId track, OrderKind kind, Generation generation,
                              Attempt attempt) -> std::optional<Digest> {
    std::optional<Digest> seen;
    for (const Event& event : log_) {
      if (event.track != track) continue;
      if (const auto* granted = std::get_if<Granted>(&event.body)) {
        if (granted->kind == kind && granted->generation == generation &&
            granted->attempt == attempt) {
          seen = Digest{};
        }
      }
      if (const auto* measured = std::get_if<Measured>(&event.body)) {
        const pawl::Report& report = measured->report;
        if (report.kind == kind && report.generation == generation && report.attempt == attempt) {
          seen = measured->digest;
        }
      }
    }
    return seen;
  });
}

Effects CoreBench::Carry(Effects effects) {
  for (const Event& event : effects.append) {
    EXPECT_EQ(event.seq, Seq(log_.size() + 1)) << "events are numbered in the order of the ledger";
    log_.push_back(event);
    if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
      folded_.emplace(event.track, OpenTrack(event.track, *opened, event.seq));
    } else if (event.track == TrackId{}) {
      board_.Apply(event);
    } else {
      Apply(folded_.at(event.track), event);
    }
  }
  EXPECT_TRUE(core_->board() == board_) << "the job board is not the ledger's fold";
  if (!effects.append.empty()) {
    core_->OnAppended(
        {DefaultOptions().ledger, Seq(log_.size()), Sha256(std::to_string(log_.size()))});
  }
  for (const auto& [id, entry] : core_->tracks()) {
    EXPECT_TRUE(entry.track == folded_.at(id))
        << "track " << id.value << " is not the ledger's fold";
  }
  for (const Outgoing& outgoing : effects.send) {
    if (const auto* given = std::get_if<Grant>(&outgoing.message)) {
      grant_ = *given;
      granted_ = given->order;
    }
  }
  return effects;
}

Effects CoreBench::Open(const TrackSpec& spec, MakeWorkshopOf make) {
  const TrackId id(folded_.empty() ? 1 : folded_.rbegin()->first.value + 1);
  makers_[id] = make;
  return Carry(core_->OnOpenTrack(TrackOpened{spec, TrackId(0)}, make(spec), now_ms));
}

Effects CoreBench::InFlight(TrackId id, std::uint32_t most) {
  in_flight_[id] = most;
  return Carry(core_->OnInFlight(id, most, now_ms));
}

Effects CoreBench::Send(const PeerId& peer, const Message& message) {
  return Carry(core_->OnMessage(peer, message, now_ms));
}

Effects CoreBench::Tick(std::int64_t forward_ms) {
  now_ms += forward_ms;
  return Carry(core_->OnTick(now_ms));
}

Effects CoreBench::Join(const std::string& name, std::uint32_t credit) {
  Send(name, HelloOf(name));
  return Send(name, Ready{credit});
}

void CoreBench::Restart(CoreOptions options) {
  Start(std::move(options));
  core_->SetBoard(board_);
  for (const auto& [id, track] : folded_) {
    const auto most = in_flight_.find(id);
    core_->AddTrack(CoreTrack{track, makers_.at(id)(track.state.spec),
                              most == in_flight_.end() ? 1 : most->second},
                    now_ms);
  }
}

}  // namespace pawl::fakes
