#pragma once
// An agent with a fake link, a fake runner and a fake clock, on a real spool. What it does is
// written down in the order in which it does it, so that tests compare all of it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schema/codec.h"
#include "tests/support/places.h"
#include "worker/agent.h"

namespace pawl {

inline std::string Text(const std::vector<LeaseKey>& keys) {
  std::string text;
  for (const LeaseKey& key : keys) {
    text += " " + std::to_string(key.generation.value) + "." + std::to_string(key.attempt.value);
  }
  return text.empty() ? " nothing" : text;
}

// "HELLO holding nothing", "READY 1", "REPORT 7.1 measured", ...
inline std::string Text(const Message& message) {
  const std::string name(Name(message));
  if (const auto* hello = std::get_if<Hello>(&message)) {
    std::string text = name + " holding" + Text(hello->held);
    if (!hello->head.ledger.value.empty()) {
      text += ", seen " + hello->head.ledger.value + " " + std::to_string(hello->head.seq.value);
    }
    return text;
  }
  if (const auto* ready = std::get_if<Ready>(&message))
    return name + " " + std::to_string(ready->credit);
  if (const auto* beat = std::get_if<Beat>(&message)) {
    return name + " holding" + Text(beat->held) + ", " + std::to_string(beat->units_done) +
           " done" + (beat->runner_alive ? "" : ", no runner");
  }
  if (const auto* sent = std::get_if<ReportMessage>(&message)) {
    const Report& report = sent->report;
    return name + " " + std::to_string(report.generation.value) + "." +
           std::to_string(report.attempt.value) + " " + std::string(Name(report.outcome.kind)) +
           (report.outcome.arm ? " " + std::string(Name(*report.outcome.arm)) : "") +
           (report.outcome.detail.empty() ? "" : ": " + report.outcome.detail);
  }
  if (const auto* release = std::get_if<Release>(&message)) {
    return name + Text(std::vector<LeaseKey>{release->key}) + ": " + release->why;
  }
  if (const auto* bye = std::get_if<Bye>(&message)) return name + ": " + bye->why;
  return name;
}

using Acts = std::vector<std::string>;

class FakeLink final : public Link {
 public:
  explicit FakeLink(Acts& acts) : acts_(acts) {}

  bool Send(const Message& message) override {
    if (!connected) return false;
    acts_.push_back(Text(message));
    sent.push_back(message);
    return true;
  }
  std::vector<Result<Message>> Receive() override { return std::exchange(inbox, {}); }
  std::uint64_t Connections() override { return connections; }
  int fd() const override { return -1; }
  bool Ready() override { return !inbox.empty(); }
  void Reconnect() override {
    connected = false;
    acts_.push_back("reconnect");
  }

  std::optional<Error> Trouble() override { return std::exchange(trouble, std::nullopt); }

  std::optional<Error> trouble;
  std::vector<Message> sent;
  std::vector<Result<Message>> inbox;
  std::uint64_t connections = 0;
  bool connected = false;

 private:
  Acts& acts_;
};

class FakeChild final : public Child {
 public:
  explicit FakeChild(Acts& acts) : acts_(acts) {}

  Result<DeviceFacts> Start() override {
    acts_.push_back("start runner");
    if (!start_error.empty()) return Error{start_error};
    running = true;
    return facts;
  }
  bool Running() const override { return running; }
  Status Send(const Order& order) override {
    acts_.push_back("run " + std::to_string(order.generation.value) + "." +
                    std::to_string(order.attempt.value));
    if (!send_error.empty()) return Error{send_error};
    return {};
  }
  void Hint(const pawl::Prepare& hint) override {
    acts_.push_back("hint of " + std::to_string(hint.sources.size()));
  }
  int fd() const override { return -1; }
  std::optional<ChildEvent> Next() override {
    if (events.empty()) return std::nullopt;
    ChildEvent event = std::move(events.front());
    events.pop_front();
    if (std::holds_alternative<ChildExit>(event)) running = false;
    return event;
  }
  void Kill() override {
    if (!running) return;
    acts_.push_back("kill runner");
    running = false;
    events.clear();
  }

  DeviceFacts facts;
  std::string start_error, send_error;
  bool running = false;
  std::deque<ChildEvent> events;

 private:
  Acts& acts_;
};

class AgentWorld : public ::testing::Test {
 protected:
  AgentWorld() : link(acts), child(acts) {
    OpenSpool();
    child.facts.kind = "host";
    child.facts.model = "a CPU";
    child.facts.toolchain = "g++ 12";
    child.facts.backend = "host";
    options.worker = WorkerId("host/cpu/0");
    options.boot = BootId("boot");
    options.version = "0.1.0";
    options.host = "host";
  }
  ~AgentWorld() override {
    agent.reset();
    spool.reset();
  }

  void OpenSpool() {
    spool.reset();
    Result<std::unique_ptr<Spool>> opened = Spool::Open(folder / "spool");
    CHECK(opened.has_value(), opened.error().message);
    spool = std::move(*opened);
  }

  void StartAgent(Evidence* evidence = nullptr) {
    agent = std::make_unique<Agent>(options, link, child, *spool, evidence);
    agent->Start(now);
  }
  void Connect() {
    link.connected = true;
    ++link.connections;
    agent->OnReadable(now);
  }
  void Hear(Message message) {
    link.inbox.push_back(std::move(message));
    agent->OnReadable(now);
  }
  void Welcomed(const LedgerId& ledger = kLedger) {
    Hear(Welcome{ledger, Epoch(1), kBeatMs, kLostMs});
  }
  // An agent that has said READY.
  void Serve() {
    StartAgent();
    Connect();
    Welcomed();
    Take();
  }
  void Runner(ChildEvent event) {
    child.events.push_back(std::move(event));
    agent->OnReadable(now);
  }
  void RunnerAt(Stage stage, ArmRole arm) { Runner(ChildStage{stage, arm}); }

  // As the loop of main does: calls at every deadline on the way.
  void PassTime(std::int64_t ms) {
    const std::int64_t end = now + ms;
    while (agent->ended() == AgentEnd::kRunning && agent->NextDeadline() <= end) {
      now = std::max(now, agent->NextDeadline());
      agent->OnTick(now);
    }
    now = end;
  }
  // The same with a coordinator that answers every beat.
  void PassTimeAnswered(std::int64_t ms) {
    const std::int64_t end = now + ms;
    while (agent->ended() == AgentEnd::kRunning && agent->NextDeadline() <= end) {
      now = std::max(now, agent->NextDeadline());
      const std::size_t before = link.sent.size();
      agent->OnTick(now);
      for (std::size_t i = before; i < link.sent.size(); ++i) {
        if (std::holds_alternative<Beat>(link.sent[i])) link.inbox.push_back(Message(BeatAck{}));
      }
      if (!link.inbox.empty()) agent->OnReadable(now);
    }
    now = end;
  }

  // What was done since the last call.
  Acts Take() {
    link.sent.clear();
    return std::exchange(acts, {});
  }

  static Order AnOrder(std::uint32_t generation, std::uint32_t attempt = 1) {
    Order order;
    order.track = TrackId(1);
    order.generation = Generation(generation);
    order.attempt = Attempt(attempt);
    order.backend = "host";
    order.operation = "matmul";
    order.device_model = "a CPU";
    order.arms = {Arm{ArmRole::kCommitted, "committed", {}, std::nullopt, {}, {}},
                  Arm{ArmRole::kCandidate, "candidate", {}, std::nullopt, {}, {}},
                  Arm{ArmRole::kIncumbent, "incumbent", {}, std::nullopt, {}, {}}};
    order.rounds = {RoundPlan{true, {{0, 0}, {1, 0}, {2, 0}}}};
    order.input_seeds = {1};
    order.deadlines = Deadlines{20'000, 10'000, 5'000};
    return order;
  }
  static LeaseKey KeyOf(const Order& order) {
    return {order.kind, order.track, order.generation, order.attempt, order.batch};
  }
  static Grant AGrant(const Order& order, std::uint32_t lease_ms = kLeaseMs) {
    return Grant{order, Epoch(1), lease_ms};
  }
  // What a runner makes of AnOrder.
  static Execution Measured() {
    Execution execution;
    execution.report.rounds = {RoundMedians{{{0, 0, 3, 0}, {1, 0, 2, 0}, {2, 0, 2.5, 0}}}};
    execution.report.build_seconds = 1;
    execution.report.run_seconds = 2;
    return execution;
  }
  // The report that Measured is sent as.
  Report MeasuredReport(const Order& order) const {
    Report report = Measured().report;
    report.track = order.track;
    report.generation = order.generation;
    report.attempt = order.attempt;
    report.batch = order.batch;
    report.kind = order.kind;
    report.order = Sha256(EncodeOrder(order));
    report.worker = options.worker;
    report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
    report.toolchain = child.facts.toolchain;
    return report;
  }
  Ack AckOf(const Report& report, std::uint64_t seq) const {
    return Ack{{report.kind, report.track, report.generation, report.attempt, report.batch},
               Sha256(EncodeReport(report)),
               LedgerHead{kLedger, Seq(seq), Sha256(std::to_string(seq))}};
  }
  Report OnlySpooled() const {
    CHECK(spool->Pending().size() == 1, spool->Pending().size());
    return spool->Pending()[0].report;
  }

  static constexpr std::uint32_t kBeatMs = 5'000, kLostMs = 20'000, kLeaseMs = 60'000;
  inline static const LedgerId kLedger{"ledger"};

  const test::TempFolder folder;
  std::int64_t now = 1'000'000;
  Acts acts;
  FakeLink link;
  FakeChild child;
  AgentOptions options;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<Agent> agent;
};

}  // namespace pawl
