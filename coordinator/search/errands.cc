#include "coordinator/search/errands.h"

#include <algorithm>
#include <utility>

#include "coordinator/search/answers.h"
#include "schema/check.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::uint32_t kLeaseMs = 600'000;

// Work is counted as it advances, a build, check or visit at a time: a lease outlasts the longest.
std::uint32_t LeaseFor(const Deadlines& deadlines) {
  const std::uint32_t longest =
      std::max({deadlines.build_ms, deadlines.check_ms, deadlines.run_ms});
  return std::max(kLeaseMs, longest + kLeaseMs / 10);
}

OrderPlan PlanOf(const Order& order) {
  OrderPlan plan;
  for (const Arm& arm : order.arms) {
    plan.arms.push_back(arm.role);
    plan.labels.push_back(arm.label);
  }
  plan.rounds = order.rounds;
  return plan;
}

bool IsNobodysFault(OutcomeKind outcome) {
  return outcome == OutcomeKind::kDeviceFault || outcome == OutcomeKind::kThrottled;
}

}  // namespace

Errands::Errands(ErrandList list, LedgerId id)
    : list_(std::move(list)), id_(std::move(id)), open_ended_(list_.open) {
  items_.resize(list_.count);
  for (std::size_t item = list_.count; item > 0; --item) open_.push_back(item - 1);
}

void Errands::Add(std::size_t count) {
  CHECK(open_ended_);
  for (; count > 0; --count) {
    open_.insert(open_.begin(), items_.size());
    items_.emplace_back();
  }
}

ErrandEffects Errands::Close() {
  ErrandEffects effects;
  open_ended_ = false;
  DrainWhenDone(effects);
  return effects;
}

void Errands::DrainWhenDone(ErrandEffects& effects) {
  if (!Done()) return;
  for (const auto& [peer, worker] : workers_) effects.send.push_back({peer, Drain{}});
}

LeaseKey Errands::KeyOf(std::size_t item) const {
  return {list_.kind, TrackId(1), Generation(static_cast<std::uint32_t>(item + 1)),
          Attempt(items_[item].tries), 0};
}

ErrandEffects Errands::OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms) {
  ErrandEffects effects;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    OnHello(effects, peer, *hello, now_ms);
    return effects;
  }
  const auto known = workers_.find(peer);
  if (known == workers_.end()) {
    effects.send.push_back({peer, Refuse{RefuseCode::kNotReady, "say HELLO first"}});
    return effects;
  }
  Worker& worker = known->second;
  worker.heard_ms = now_ms;
  if (const auto* ready = std::get_if<Ready>(&message)) {
    worker.places = ready->credit;
    Grant(effects, peer);
  } else if (const auto* beat = std::get_if<Beat>(&message)) {
    OnBeat(effects, peer, *beat);
  } else if (const auto* report = std::get_if<ReportMessage>(&message)) {
    OnReport(effects, peer, report->report);
  } else if (const auto* release = std::get_if<Release>(&message)) {
    worker.places = 0;
    for (const std::size_t item : std::vector<std::size_t>(worker.holds)) {
      if (KeyOf(item) == release->key) GiveBack(effects, worker, item, release->why);
    }
    GrantAll(effects);
  } else if (const auto* bye = std::get_if<Bye>(&message)) {
    Forget(effects, peer, "the worker left: " + bye->why);
  }
  return effects;
}

ErrandEffects Errands::OnUndecodable(const PeerId& peer, const std::string& why,
                                     bool other_version) {
  ErrandEffects effects;
  if (other_version) effects.send.push_back({peer, Refuse{RefuseCode::kVersion, why}});
  effects.notes.push_back(why);
  return effects;
}

ErrandEffects Errands::OnTick(std::int64_t now_ms) {
  ErrandEffects effects;
  std::vector<PeerId> silent;
  for (const auto& [peer, worker] : workers_) {
    if (now_ms - worker.heard_ms > kLostMs) silent.push_back(peer);
  }
  for (const PeerId& peer : silent) Forget(effects, peer, "the worker fell silent");
  GrantAll(effects);
  return effects;
}

void Errands::OnHello(ErrandEffects& effects, const PeerId& peer, const Hello& hello,
                      std::int64_t now_ms) {
  if (workers_.contains(peer)) Forget(effects, peer, "the worker started again");
  if (const auto why = list_.why_not(hello.device)) {
    effects.send.push_back({peer, Refuse{RefuseCode::kNotWanted, *why}});
    effects.notes.push_back(*why);
    return;
  }
  workers_[peer] = {hello.device, 0, {}, now_ms};
  if (toolchain_.empty()) toolchain_ = hello.device.toolchain;
  effects.send.push_back({peer, Welcome{id_, Epoch(1), kBeatMs, kLostMs}});
}

void Errands::OnBeat(ErrandEffects& effects, const PeerId& peer, const Beat& beat) {
  const Worker& worker = workers_.at(peer);
  BeatAck answer;
  for (const LeaseKey& key : beat.held) {
    const bool ours = std::any_of(worker.holds.begin(), worker.holds.end(),
                                  [&](std::size_t item) { return KeyOf(item) == key; });
    if (!ours) answer.unknown.push_back(key);
  }
  effects.send.push_back({peer, std::move(answer)});
}

void Errands::Forget(ErrandEffects& effects, const PeerId& peer, const std::string& why) {
  const auto known = workers_.find(peer);
  if (known == workers_.end()) return;
  Worker worker = std::move(known->second);
  workers_.erase(known);
  for (const std::size_t item : std::vector<std::size_t>(worker.holds)) {
    GiveBack(effects, worker, item, why);
  }
  GrantAll(effects);
}

void Errands::GiveBack(ErrandEffects& effects, Worker& worker, std::size_t item,
                       const std::string& why) {
  std::erase(worker.holds, item);
  Item& asked = items_[item];
  if (asked.answered) return;
  if (asked.tries < kMostTries) {
    open_.push_back(item);
    return;
  }
  ErrandResult result;
  result.item = item;
  result.given_up = true;
  result.why = "could not be answered in " + std::to_string(kMostTries) + " tries: " + why;
  if (asked.fault) {
    const Granted& granted = asked.granted[asked.fault->attempt.value - 1];
    result.report = asked.fault;
    result.order = granted.order;
    result.device = granted.device;
  }
  Finish(effects, std::move(result));
}

void Errands::GrantAll(ErrandEffects& effects) {
  std::vector<PeerId> peers;
  for (const auto& [peer, worker] : workers_) peers.push_back(peer);
  for (const PeerId& peer : peers) Grant(effects, peer);
}

void Errands::Grant(ErrandEffects& effects, const PeerId& peer) {
  Worker& worker = workers_.at(peer);
  while (worker.places > worker.holds.size() && !open_.empty()) {
    const std::size_t item = open_.back();
    open_.pop_back();
    Item& asked = items_[item];
    ++asked.tries;
    Result<Order> order = list_.make(item, Attempt(asked.tries), worker.device);
    const LeaseKey key = KeyOf(item);
    if (order) {
      order->kind = key.kind;
      order->track = key.track;
      order->generation = key.generation;
      order->attempt = key.attempt;
      order->batch = key.batch;
      if (auto why = WhyNotSent(*order)) order = Error{*std::move(why)};
    }
    if (!order) {
      ErrandResult result;
      result.item = item;
      result.why = order.error().message;
      result.device = worker.device;
      Finish(effects, std::move(result));
      continue;
    }
    asked.granted.push_back({*order, Sha256(EncodeOrder(*order)), worker.device});
    worker.holds.push_back(item);
    const std::uint32_t lease_ms = LeaseFor(order->deadlines);
    effects.send.push_back({peer, pawl::Grant{*std::move(order), Epoch(1), lease_ms}});
  }
}

void Errands::Finish(ErrandEffects& effects, ErrandResult result) {
  Item& asked = items_[result.item];
  if (std::exchange(asked.answered, true)) return;
  result.tries = asked.tries;
  std::erase(open_, result.item);  // asked for again before a late answer came
  asked.fault.reset();
  for (Granted& granted : asked.granted) granted.order = Order{};  // the digests are enough now
  effects.results.push_back(std::move(result));
  ++done_;
  DrainWhenDone(effects);
}

void Errands::Take(ErrandEffects& effects, std::size_t item, const Report& report,
                   const std::string& why) {
  if (items_[item].answered) return;
  const Granted& granted = items_[item].granted[report.attempt.value - 1];
  ErrandResult result;
  result.item = item;
  result.why = why;
  result.report = report;
  result.order = granted.order;
  result.device = granted.device;
  Finish(effects, std::move(result));
}

void Errands::OnReport(ErrandEffects& effects, const PeerId& peer, const Report& report) {
  Worker& worker = workers_.at(peer);
  const LeaseKey key{report.kind, report.track, report.generation, report.attempt, report.batch};
  const Digest digest = Sha256(EncodeReport(report));
  const std::size_t item = static_cast<std::size_t>(report.generation.value) - 1;
  const std::size_t attempt = static_cast<std::size_t>(report.attempt.value) - 1;
  const auto reject = [&](RejectCode code, const std::string& why) {
    effects.send.push_back({peer, RejectMessage{key, digest, code, why, false}});
  };
  if (report.kind != list_.kind || item >= items_.size() ||
      attempt >= items_[item].granted.size() ||
      items_[item].granted[attempt].digest != report.order) {
    return reject(RejectCode::kUnknownAttempt, "no order that was sent out is answered by it");
  }
  Item& asked = items_[item];
  const bool held = key == KeyOf(item) && std::erase(worker.holds, item) > 0;
  if (!asked.answered) {
    if (const auto why = WhyNotAnswer(PlanOf(asked.granted[attempt].order), report)) {
      reject(RejectCode::kMalformed, *why);
      if (held) GiveBack(effects, worker, item, "a report that is no answer: " + *why);
      return GrantAll(effects);
    }
  }
  // There is no ledger; the head says that this list is where the report lies.
  effects.send.push_back({peer, Ack{key, digest, LedgerHead{id_, Seq(1), Sha256(id_.value)}}});
  if (report.outcome.kind == OutcomeKind::kNoData) {
    Take(effects, item, report, report.outcome.detail);
  } else if (!IsNobodysFault(report.outcome.kind)) {
    Take(effects, item, report, "");
  } else if (held) {
    asked.fault = report;
    GiveBack(effects, worker, item, report.outcome.detail);
  }
  GrantAll(effects);
}

}  // namespace pawl
