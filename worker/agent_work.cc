// The agent's orders and its runner.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "schema/codec.h"
#include "worker/agent_state.h"

namespace pawl {
namespace {

constexpr std::size_t kMostFinished = 32;
constexpr std::uint32_t kMostIdleExits = 3;
constexpr std::size_t kMostReportBytes = kMaxMessageBytes - 4'096;  // with the message around it

const char* Doing(Stage stage) {
  switch (stage) {
    case Stage::kBuild:
      return "being built";
    case Stage::kCheck:
      return "being checked";
    case Stage::kRun:
      return "running";
  }
  CHECK(false, static_cast<int>(stage));
}

// Where a runner was lost, for an outcome's detail.
std::string Where(const HeldOrder& held) {
  return held.arm ? std::string(Name(*held.arm)) + " kernel while " + Doing(held.stage)
                  : std::string("runner before it began");
}

// After these a runner may have been written into, or its device be in a state of its own.
bool LeavesATrace(OutcomeKind kind) {
  return kind == OutcomeKind::kCrashed || kind == OutcomeKind::kHung ||
         kind == OutcomeKind::kWrongOutput || kind == OutcomeKind::kDeviceFault;
}

}  // namespace

LeaseKey KeyOf(const Order& order) {
  return {order.kind, order.track, order.generation, order.attempt, order.batch};
}

std::string Text(const LeaseKey& key) {
  return "kind=" + std::string(Name(key.kind)) + " track=" + std::to_string(key.track.value) +
         " generation=" + std::to_string(key.generation.value) +
         " attempt=" + std::to_string(key.attempt.value) + " batch=" + std::to_string(key.batch);
}

std::int64_t Agent::State::StageLimit(Stage stage) const {
  const Deadlines& limits = held->order.deadlines;
  switch (stage) {
    case Stage::kBuild:
      return limits.build_ms;
    case Stage::kCheck:
      return limits.check_ms;
    case Stage::kRun:
      return limits.run_ms;
  }
  CHECK(false, static_cast<int>(stage));
}

bool Agent::State::EnsureChild() {
  if (child.Running()) return true;
  const Result<DeviceFacts> started = child.Start();
  orders_of_child = 0;
  if (!started) {
    End(AgentEnd::kFailed, "the runner cannot be started again: " + started.error().message);
    return false;
  }
  if (*started != facts) {
    // Reports would be of something else than what HELLO named.
    End(AgentEnd::kFailed, "the device changed, from " + facts.model + " (" + facts.toolchain +
                               ") to " + started->model + " (" + started->toolchain +
                               "); start the worker again");
    return false;
  }
  return true;
}

void Agent::State::OnMessage(const Grant& grant) {
  const LeaseKey key = KeyOf(grant.order);
  if (held && held->key == key) return;
  if (std::find(finished.begin(), finished.end(), std::pair(ledger, key)) != finished.end()) {
    sent.clear();  // its report, if it waits in the spool, is the answer
    return;
  }
  if (phase != Phase::kServing) return Release(key, "granted before WELCOME");
  if (leaving) return Release(key, leaving_why);
  if (held) return Release(key, "busy with " + Text(held->key));

  if (grant.order.fresh_process && orders_of_child > 0) child.Kill();
  if (!child.Running() && !EnsureChild()) {
    Release(key, why);
    link.Send(Bye{why});
    return;
  }
  spdlog::debug("event=grant {} lease_ms={}", Text(key), grant.lease_ms);
  ready_said = false;
  if (const Status taken = child.Send(grant.order); !taken) {
    return Release(key, "the runner did not take it: " + taken.error().message);
  }
  HeldOrder order;
  order.order = grant.order;
  order.key = key;
  order.digest = Sha256(EncodeOrder(grant.order));
  order.ledger = ledger;
  order.lease_ms = grant.lease_ms;
  order.ends_ms = now + order.lease_ms;
  order.extended_at = units_done;
  order.stage_since_ms = now;
  held = std::move(order);
  held->stage_ends_ms = now + StageLimit(Stage::kBuild);
}

void Agent::State::OnMessage(const Cancel& cancel) {
  if (held && held->key == cancel.key) GiveUp("cancelled");
}

void Agent::State::OnMessage(const Prepare& hint) {
  if (facts.needs_source && child.Running()) child.Hint(hint);
}

// Stops the work on what is held; its caller says so where it has to be said.
void Agent::State::GiveUp(const char* reason) {
  spdlog::info("event=given_up {} why=\"{}\"", Text(held->key), reason);
  child.Kill();
  held.reset();
  ready_said = false;
}

void Agent::State::CountUnit() {
  if (held->arm) ++units_done;
  held->seconds[static_cast<std::size_t>(held->stage)] +=
      static_cast<double>(now - held->stage_since_ms) * 1e-3;
  held->stage_since_ms = now;
}

void Agent::State::OnChild(const ChildEvent& event) {
  if (!held) {
    const auto* exit = std::get_if<ChildExit>(&event);
    if (!exit || exit->by_us) return;  // of an order that was given up
    spdlog::warn("event=idle_runner_ended how=\"{}\"", exit->how);
    ready_said = false;  // it is started again before the next order
    if (++idle_exits >= kMostIdleExits) {
      End(AgentEnd::kFailed, "the runner ended " + std::to_string(idle_exits) +
                                 " times with nothing to do, the last time with " + exit->how);
    }
    return;
  }
  if (const auto* at = std::get_if<ChildStage>(&event)) {
    CountUnit();
    held->stage = at->stage;
    held->arm = at->arm;
    held->stage_ends_ms = now + StageLimit(at->stage);
  } else if (const auto* done = std::get_if<ChildDone>(&event)) {
    CountUnit();
    Finish(done->execution);
  } else if (const auto* error = std::get_if<ChildError>(&event)) {
    CountUnit();
    FinishFault(OutcomeKind::kDeviceFault, error->message);
  } else if (const auto* exit = std::get_if<ChildExit>(&event)) {
    CountUnit();
    // Without a kernel to blame it is the machine's.
    FinishFault(held->arm ? OutcomeKind::kCrashed : OutcomeKind::kDeviceFault,
                Where(*held) + ": " + exit->how);
  }
}

void Agent::State::CheckDeadlines() {
  if (held && now >= held->stage_ends_ms) {
    child.Kill();
    CountUnit();
    FinishFault(held->arm ? OutcomeKind::kHung : OutcomeKind::kDeviceFault,
                Where(*held) + ": killed after " + std::to_string(StageLimit(held->stage)) + " ms");
  } else if (held && now >= held->ends_ms) {
    const LeaseKey key = held->key;
    GiveUp("lease expired");
    Release(key, "lease expired");
  }
}

void Agent::State::FinishFault(OutcomeKind kind, std::string detail) {
  Execution execution;
  execution.report.outcome.kind = kind;
  if (kind != OutcomeKind::kDeviceFault) execution.report.outcome.arm = held->arm;
  execution.report.outcome.detail = std::move(detail);
  execution.report.build_seconds = held->seconds[0];
  execution.report.check_seconds = held->seconds[1];
  execution.report.run_seconds = held->seconds[2];
  Finish(std::move(execution));
}

void Agent::State::Finish(Execution execution) {
  Report& report = execution.report;
  const auto sign = [&](Report& of) {
    of.kind = held->key.kind;
    of.track = held->key.track;
    of.generation = held->key.generation;
    of.attempt = held->key.attempt;
    of.batch = held->key.batch;
    of.order = held->digest;
    of.worker = options.worker;
    of.toolchain = facts.toolchain;
    of.conditions.pinned_mhz = facts.pinned_mhz;
    of.arms.clear();
    for (const Arm& arm : held->order.arms) of.arms.push_back(arm.role);
  };
  sign(report);
  for (const std::string& note : execution.notes) spdlog::warn("{} {}", note, Text(held->key));
  if (evidence && !execution.samples.empty()) {
    const Result<Digest> stored = evidence->Store(held->order, report, execution.samples);
    if (stored) {
      report.evidence = *stored;
    } else {
      spdlog::warn("event=evidence_not_kept why=\"{}\"", stored.error().message);
    }
  }
  // The runner may have been written into by a kernel: what it says is checked as the coordinator
  // will check it, since a report that cannot be decoded there would never be acknowledged.
  const std::string encoded = EncodeReport(report);
  const Result<Report> decoded = DecodeReport(encoded);
  if (!decoded || encoded.size() > kMostReportBytes) {
    const std::string what =
        decoded ? std::to_string(encoded.size()) + " bytes" : decoded.error().message;
    report = Report{};
    report.outcome = Outcome{OutcomeKind::kDeviceFault, std::nullopt,
                             "the runner's report is not valid: " + what};
    sign(report);
  }

  const LeaseKey key = held->key;
  const LedgerId owner = held->ledger;
  held.reset();
  ready_said = false;
  if (const Result<Digest> put = spool.Put(report, owner); !put) {
    link.Send(pawl::Release{key, "its report cannot be kept"});
    link.Send(Bye{"its spool cannot be written"});
    return End(AgentEnd::kFailed, put.error().message);
  }
  spdlog::debug("event=report {} outcome={}", Text(key), Name(report.outcome.kind));
  idle_exits = 0;
  ++orders_of_child;
  finished.emplace_back(owner, key);
  if (finished.size() > kMostFinished) finished.pop_front();
  const bool worn = options.reorders_per_child > 0 && orders_of_child >= options.reorders_per_child;
  if (worn || LeavesATrace(report.outcome.kind)) child.Kill();
}

}  // namespace pawl
