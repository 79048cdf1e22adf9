#include "worker/agent.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "worker/agent_state.h"

namespace pawl {
namespace {

constexpr std::int64_t kStallMs = 1'000;  // a call that comes later than this was held up
constexpr std::int64_t kHelloAgainMs = 500;
constexpr std::int64_t kLastAcksMs =
    5'000;  // how long a leaving worker waits for its reports' ACKs
constexpr std::size_t kMostBeats = 64;

}  // namespace

void Agent::State::Wake(std::int64_t now_ms) {
  const std::int64_t since = now;
  now = std::max(now, now_ms);
  if (expected == kNever || now - expected <= kStallMs) return;
  const std::int64_t stalled = now - since;
  last_heard += stalled;
  if (held) {
    held->stage_since_ms += stalled;
    held->stage_ends_ms += stalled;
  }
  spdlog::warn("event=stalled ms={}", stalled);
}

void Agent::State::End(AgentEnd how, std::string line) {
  if (ended != AgentEnd::kRunning) return;
  ended = how;
  why = std::move(line);
  held.reset();
  child.Kill();
}

void Agent::State::Drain() {
  if (const std::uint64_t made = link.Connections(); made != connections) {
    connections = made;
    SayHello();
  }
  if (const std::optional<Error> trouble = link.Trouble()) {
    if (trouble->advice == Advice::kHalt) return End(AgentEnd::kRefused, trouble->message);
    spdlog::warn("event=no_connection why=\"{}\"", trouble->message);
  }
  for (const Result<Message>& message : link.Receive()) {
    if (ended != AgentEnd::kRunning) return;
    OnLink(message);
  }
  while (ended == AgentEnd::kRunning) {
    const std::optional<ChildEvent> event = child.Next();
    if (!event) break;
    OnChild(*event);
  }
}

void Agent::State::SayHello() {
  Hello hello;
  hello.worker = options.worker;
  hello.boot = options.boot;
  hello.version = options.version;
  hello.host = options.host;
  hello.device = facts;
  if (held) hello.held.push_back(held->key);
  hello.head = spool.Head(ledger);
  if (hello.head.ledger.value.empty()) hello.head = spool.LastHead();
  said_head = hello.head;

  beats.clear();
  const bool queued = link.Send(std::move(hello));
  phase = queued ? Phase::kGreeting : Phase::kConnecting;
  hello_again = queued ? kNever : now + kHelloAgainMs;
}

void Agent::State::OnLink(const Result<Message>& message) {
  if (!message) {
    if (message.error().advice == Advice::kHalt) {
      return End(AgentEnd::kRefused,
                 "the coordinator cannot be understood: " + message.error().message);
    }
    spdlog::warn("event=dropped_message why=\"{}\"", message.error().message);
    return;
  }
  last_heard = now;
  std::visit(
      [this](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, Hello> || std::is_same_v<Body, Ready> ||
                      std::is_same_v<Body, Beat> || std::is_same_v<Body, ReportMessage> ||
                      std::is_same_v<Body, pawl::Release> || std::is_same_v<Body, Bye> ||
                      std::is_same_v<Body, Ask> || std::is_same_v<Body, Reply>) {
          spdlog::warn("event=dropped_message why=\"{} is not for a worker\"",
                       Name(Message(body)));
        } else {
          OnMessage(body);
        }
      },
      *message);
}

void Agent::State::OnMessage(const Welcome& welcome) {
  if (held && held->ledger != welcome.ledger) GiveUp("another ledger");
  ledger = welcome.ledger;
  beat_ms = std::max<std::int64_t>(welcome.beat_ms, 1);
  lost_ms = std::max<std::int64_t>(welcome.lost_ms, 1);
  // HELLO could only guess which ledger it would be. If it told of another one's head, this one has
  // not yet heard what it is to be held to.
  if (said_head.ledger != ledger && !spool.Head(ledger).ledger.value.empty()) return SayHello();

  spdlog::info("event=welcome ledger={} epoch={}", ledger.value, welcome.epoch.value);
  phase = Phase::kServing;
  sent.clear();
  postponed.clear();
  beats.clear();
  ready_said = false;
  next_beat = held ? now : now + beat_ms;  // a held lease is confirmed, or called unknown, at once
}

void Agent::State::OnMessage(const Refuse& refuse) {
  if (refuse.code != RefuseCode::kNotReady) {
    return End(AgentEnd::kRefused,
               "refused (" + std::string(Name(refuse.code)) + "): " + refuse.why);
  }
  if (phase == Phase::kServing) return SayHello();  // it has forgotten us, or is a new one
  phase = Phase::kConnecting;
  hello_again = now + kHelloAgainMs;
}

void Agent::State::OnMessage(const BeatAck& ack) {
  if (!beats.empty()) {
    const SentBeat beat = beats.front();
    beats.pop_front();
    if (held && beat.units_done > held->extended_at) {
      held->extended_at = beat.units_done;
      held->ends_ms = beat.sent_ms + held->lease_ms;
    }
  }
  if (held && std::find(ack.unknown.begin(), ack.unknown.end(), held->key) != ack.unknown.end()) {
    GiveUp("the coordinator does not know it");
  }
}

void Agent::State::OnMessage(const Ack& ack) {
  spdlog::info("event=acknowledged report={} {} seq={}", ack.report.Hex(), Text(ack.key),
               ack.head.seq.value);
  spool.Remove(ack.report);
  sent.erase(ack.report);
  if (const Status remembered = spool.Remember(ack.head); !remembered) {
    if (remembered.error().advice == Advice::kHalt) {
      return End(AgentEnd::kFailed, remembered.error().message);
    }
    spdlog::warn("event=head_not_remembered why=\"{}\"", remembered.error().message);
  }
}

void Agent::State::OnMessage(const RejectMessage& reject) {
  spdlog::warn("event=report_rejected {} code={} retry={} why=\"{}\"", Text(reject.key),
               Name(reject.code), reject.retry, reject.why);
  if (reject.retry) {  // it is sent again when its time has come
    postponed.insert(reject.report);
    return;
  }
  spool.Remove(reject.report);
  sent.erase(reject.report);
}

void Agent::State::OnMessage(const pawl::Drain&) { Leave("drained"); }

void Agent::State::SendReports() {
  for (const SpooledReport& pending : spool.Pending()) {
    if (pending.ledger != ledger) continue;
    const auto found = sent.find(pending.digest);
    if (found != sent.end() && now - found->second < lost_ms) continue;
    if (!link.Send(ReportMessage{pending.report})) return;
    sent[pending.digest] = now;
  }
}

void Agent::State::SendBeat() {
  Beat beat;
  if (held) beat.held.push_back(held->key);
  beat.units_done = units_done;
  beat.runner_alive = child.Running();
  if (link.Send(std::move(beat))) {
    beats.push_back(SentBeat{now, units_done});
    if (beats.size() > kMostBeats) beats.pop_front();
  }
  next_beat = now + beat_ms;
}

void Agent::State::Release(const LeaseKey& key, const std::string& reason) {
  spdlog::info("event=release {} why=\"{}\"", Text(key), reason);
  link.Send(pawl::Release{key, reason});
  ready_said = false;
}

void Agent::State::Leave(const std::string& reason) {
  if (leaving) return;
  spdlog::info("event=leaving why={}", reason);
  leaving = true;
  leaving_why = reason;
}

// What is due to the coordinator, after every call.
void Agent::State::Proceed() {
  if (ended != AgentEnd::kRunning) return;
  if (phase == Phase::kServing) SendReports();
  if (leaving) {
    if (held) return;
    const bool waits =
        phase == Phase::kServing &&
        std::any_of(spool.Pending().begin(), spool.Pending().end(), [&](const auto& pending) {
          return pending.ledger == ledger && !postponed.contains(pending.digest);
        });
    if (waits && leave_by == kNever) leave_by = now + std::min(lost_ms, kLastAcksMs);
    if (waits && now < leave_by) return;
    if (phase == Phase::kServing) link.Send(Bye{leaving_why});
    return End(AgentEnd::kDone, "");
  }
  if (held || phase != Phase::kServing || ready_said) return;
  if (!EnsureChild()) return;
  ready_said = link.Send(Ready{1});
}

std::int64_t Agent::State::NextDeadline() const {
  std::int64_t next = std::min(last_heard + lost_ms, leave_by);
  if (phase == Phase::kServing) next = std::min(next, next_beat);
  if (phase == Phase::kConnecting) next = std::min(next, hello_again);
  if (held) next = std::min({next, held->ends_ms, held->stage_ends_ms});
  return next;
}

Agent::Agent(AgentOptions options, Link& link, Child& child, Spool& spool, Evidence* evidence)
    : state_(std::make_unique<State>(std::move(options), link, child, spool, evidence)) {}
Agent::~Agent() = default;

void Agent::Start(std::int64_t now_ms) {
  State& state = *state_;
  state.now = now_ms;
  state.last_heard = now_ms;
  for (const std::string& note : state.spool.Notes()) spdlog::error("event=spool_damaged {}", note);
  Result<DeviceFacts> facts = state.child.Start();
  if (!facts) return state.End(AgentEnd::kFailed, facts.error().message);
  state.facts = std::move(*facts);
  spdlog::info("event=device kind={} model=\"{}\" toolchain=\"{}\" spooled={}", state.facts.kind,
               state.facts.model, state.facts.toolchain, state.spool.Pending().size());
  OnReadable(now_ms);
}

void Agent::OnReadable(std::int64_t now_ms) {
  State& state = *state_;
  if (state.ended != AgentEnd::kRunning) return;
  state.Wake(now_ms);
  state.Drain();
  state.Proceed();
  state.expected = state.NextDeadline();
}

void Agent::OnTick(std::int64_t now_ms) {
  State& state = *state_;
  if (state.ended != AgentEnd::kRunning) return;
  state.Wake(now_ms);
  // What has come in the meantime may be just what a deadline is waiting for.
  state.Drain();
  if (state.ended == AgentEnd::kRunning) state.CheckDeadlines();
  if (state.ended == AgentEnd::kRunning && state.now - state.last_heard >= state.lost_ms) {
    if (state.phase != State::Phase::kConnecting) {
      spdlog::warn("event=coordinator_silent ms={}", state.now - state.last_heard);
    }
    state.phase = State::Phase::kConnecting;
    state.hello_again = State::kNever;
    state.last_heard = state.now;
    state.link.Reconnect();
  }
  if (state.phase == State::Phase::kConnecting && state.now >= state.hello_again) state.SayHello();
  if (state.phase == State::Phase::kServing && state.now >= state.next_beat) state.SendBeat();
  state.Proceed();
  state.expected = state.NextDeadline();
}

void Agent::OnStop(std::int64_t now_ms) {
  State& state = *state_;
  if (state.ended != AgentEnd::kRunning) return;
  state.Wake(now_ms);
  state.Drain();
  const bool at_once = state.leaving || state.phase != State::Phase::kServing;
  state.Leave("stopped");
  if (at_once && state.ended == AgentEnd::kRunning) {
    if (state.held) {
      const LeaseKey key = state.held->key;
      state.GiveUp("stopped");
      if (state.phase == State::Phase::kServing) state.Release(key, "stopped");
    }
    state.leave_by = state.now;
  }
  state.Proceed();
  state.expected = state.NextDeadline();
}

void Agent::OnDisturbed(std::int64_t now_ms, const std::string& why) {
  State& state = *state_;
  if (state.ended != AgentEnd::kRunning) return;
  state.Wake(now_ms);
  const bool serving = state.phase == State::Phase::kServing;
  if (state.held) {
    const LeaseKey key = state.held->key;
    state.GiveUp(why.c_str());
    if (serving) state.Release(key, why);
  } else {
    state.child.Kill();
    state.ready_said = false;
  }
  // At once, whether there is work or not: until then nobody holds the clocks.
  if (!state.leaving && !state.EnsureChild()) {
    if (serving) state.link.Send(Bye{state.why});
    return;
  }
  state.Proceed();
  state.expected = state.NextDeadline();
}

std::int64_t Agent::NextDeadline() const { return state_->NextDeadline(); }
AgentEnd Agent::ended() const { return state_->ended; }
const std::string& Agent::why() const { return state_->why; }

}  // namespace pawl
