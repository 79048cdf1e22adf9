#include "coordinator/service/service.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <iterator>

#include "coordinator/service/admission.h"
#include "coordinator/service/resume.h"
#include "coordinator/service/service_state.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::size_t kMostAtOnce = 1'024;  // messages carried out with one sync
constexpr std::int64_t kTickMs = 1'000;
constexpr std::int64_t kStallMs = 2'000;  // a turn this late moves every deadline
constexpr std::uint64_t kEventsPerSnapshot = 100'000;

void Take(Effects& all, Effects more) {
  std::move(more.append.begin(), more.append.end(), std::back_inserter(all.append));
  std::move(more.send.begin(), more.send.end(), std::back_inserter(all.send));
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(all.notes));
}

}  // namespace

std::int64_t Service::NowMs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::~Service() = default;

bool Service::Done() const { return state_->core->Done() && state_->pending.empty(); }
const Core& Service::core() const { return *state_->core; }
const Ledger& Service::ledger() const { return *state_->ledger; }
const Hub& Service::hub() const { return *state_->hub; }
const std::string& Service::endpoint() const { return state_->hub->endpoint(); }
const std::vector<std::string>& Service::refusals() const { return state_->refusals; }

Result<std::unique_ptr<Service>> Service::Open(ServiceOptions options) {
  auto state = std::make_unique<State>();
  auto ledger = Ledger::Open(options.ledger_folder, Ledger::Mode::kWrite, options.ledger);
  if (!ledger) return ledger.error();
  state->ledger = *std::move(ledger);
  auto folded = FoldLedger(*state->ledger);
  if (!folded) return folded.error();
  state->dormant = std::move(folded->tracks);
  auto epoch = state->ledger->StartEpoch(PAWL_VERSION);
  if (!epoch) return epoch.error();
  if (options.endpoint.empty() && !options.guarded) {
    options.endpoint = EndpointIn(options.ledger_folder);
  }
  auto hub = Hub::Bind(options.endpoint, options.guarded);
  if (!hub) return hub.error();
  state->hub = *std::move(hub);

  CoreOptions core;
  core.ledger = state->ledger->id();
  core.epoch = *epoch;
  core.head = state->ledger->head();
  core.beat_ms = options.beat_ms;
  core.lost_ms = options.lost_ms;
  core.lease_ms = options.lease_ms;
  core.search = options.search;
  core.stay = options.stay;
  state->core = std::make_unique<Core>(core);
  const Ledger* reader = state->ledger.get();
  state->core->SetSeenLookup(
      [reader](TrackId track, OrderKind kind, Generation generation, Attempt attempt) {
        return reader->Seen(track, kind, generation, attempt);
      });
  state->core->SetBoard(folded->board);
  state->core->SetHeadLookup([reader](const LedgerHead& head) { return reader->Holds(head); });
  state->options = std::move(options);
  state->last_snapshot = state->ledger->head().seq;
  state->last_turn_ms = NowMs();
  std::unique_ptr<Service> service(new Service(std::move(state)));
  if (service->state_->options.stay) service->TakeUpBoard();
  if (const auto& job = service->state_->options.job) service->state_->TakeUp(*job);
  return service;
}

Status Service::CarryOut(Effects more) {
  Take(state_->pending, std::move(more));
  if (!state_->pending.append.empty()) {
    auto head = state_->ledger->Append(state_->pending.append);
    if (!head) return head.error();
    state_->core->OnAppended(*head);
  }
  const Effects effects = std::exchange(state_->pending, {});
  if (on_event) {
    for (const Event& event : effects.append) on_event(event);
  }
  for (const Outgoing& outgoing : effects.send) state_->hub->Send(outgoing);
  if (on_note) {
    for (const std::string& note : effects.notes) on_note(note);
  }
  return {};
}

Status Service::Turn(std::int64_t timeout_ms, int wake_fd) {
  // While the ledger refuses, nothing is received: core must not answer for what is not in it.
  if (Status done = CarryOut({}); !done) {
    pollfd wake{wake_fd, POLLIN, 0};
    ::poll(&wake, 1, static_cast<int>(timeout_ms));
    return done;
  }
  if (Status bound = BindUnbound(); !bound && bound.error().advice != Advice::kReject) return bound;
  const std::int64_t before = NowMs();
  if (before - state_->last_turn_ms > kStallMs)
    state_->core->OnStall(before - state_->last_turn_ms);
  const std::int64_t until_deadline =
      std::max<std::int64_t>(state_->core->NextDeadline() - before, 0);
  const std::int64_t until_tick =
      std::max<std::int64_t>(state_->last_tick_ms + kTickMs - before, 0);
  const std::int64_t wait = std::min({timeout_ms, until_deadline, until_tick});
  std::vector<Received> received = std::exchange(state_->unheard, {});
  if (received.empty()) {
    received = state_->hub->Receive(wait, kMostAtOnce, wake_fd);
  } else {
    pollfd wake{wake_fd, POLLIN, 0};
    ::poll(&wake, 1, static_cast<int>(wait));
  }
  for (const std::string& warning : state_->hub->TakeNotes()) {
    if (on_warning) on_warning(warning);
  }
  const std::int64_t now = NowMs();
  // Stopped while it waited: what came meanwhile is heard before anything is missed.
  if (now - before - wait > kStallMs) state_->core->OnStall(now - before - wait);
  state_->last_turn_ms = now;

  Effects effects;
  for (std::size_t i = 0; i < received.size(); ++i) {
    const Received& entry = received[i];
    // READY is said once: what comes behind a full disk is heard in a later turn, and this one
    // anew.
    const auto keep_the_rest = [&] {
      const auto from = received.begin() + static_cast<std::ptrdiff_t>(i);
      state_->unheard.assign(std::make_move_iterator(from),
                             std::make_move_iterator(received.end()));
    };
    if (!entry.message) {
      Take(effects, state_->core->OnUndecodable(entry.peer, entry.message.error().message,
                                                entry.other_version, now));
      continue;
    }
    if (const auto* ask = std::get_if<Ask>(&*entry.message)) {
      if (Status done = CarryOut(std::exchange(effects, {})); !done) {
        keep_the_rest();
        return done;
      }
      const Ask asked = *ask;
      if (Status answered = OnAsk(entry.peer, entry.host, asked); !answered) {
        // It was told: it is not heard again.
        received[i].message = Message(Bye{"asked"});
        keep_the_rest();
        return answered;
      }
      continue;
    }
    const auto* hello = std::get_if<Hello>(&*entry.message);
    if (hello != nullptr && !entry.host.empty()) {
      if (const auto why = WhyNotAs(entry.host, *hello)) {
        effects.send.push_back({entry.peer, Refuse{RefuseCode::kNotWanted, *why}});
        effects.notes.push_back("worker refused (not_wanted): " + *why);
        continue;
      }
    }
    const auto* reported = std::get_if<ReportMessage>(&*entry.message);
    if (reported != nullptr && !entry.host.empty()) {
      const Report& report = reported->report;
      if (const auto why = WhyNotFrom(entry.host, report.worker)) {
        const Digest digest = Sha256(EncodeReport(report));
        const LeaseKey key{report.kind, report.track, report.generation, report.attempt,
                           report.batch};
        effects.send.push_back(
            {entry.peer, RejectMessage{key, digest, RejectCode::kMalformed, *why, false}});
        effects.notes.push_back("report refused (malformed): " + *why);
        continue;
      }
    }
    // To an old copy of a ledger nothing is added; core says so to whoever has seen a newer one.
    if (hello != nullptr && !state_->core->WhyLedgerBehind(hello->head)) {
      std::optional<std::string> refusal;
      const bool searching = !state_->core->tracks().empty();
      if (Status done = CarryOut(std::exchange(effects, {})); !done) {
        keep_the_rest();
        return done;
      }
      if (Status bound = BindDevice(*hello, refusal); !bound) {
        // A full disk is nothing that the worker could mend: it will ask again.
        if (bound.error().advice == Advice::kRetry) {
          keep_the_rest();
          return bound;
        }
        if (!searching) {
          state_->hub->Send({entry.peer, Refuse{RefuseCode::kNotWanted, bound.error().message}});
          return bound;
        }
        refusal = bound.error().message;  // this worker's alone: what is searched goes on
      }
      if (refusal) {
        std::vector<std::string>& told = state_->refusals;
        if (std::find(told.begin(), told.end(), *refusal) == told.end()) told.push_back(*refusal);
        effects.send.push_back({entry.peer, Refuse{RefuseCode::kNotWanted, *refusal}});
        continue;
      }
    }
    Take(effects, state_->core->OnMessage(entry.peer, *entry.message, now));
  }
  if (received.empty() || now - state_->last_tick_ms >= kTickMs) {
    state_->last_tick_ms = now;
    Take(effects, state_->core->OnTick(now));
  }
  if (Status done = CarryOut(std::move(effects)); !done) return done;
  const Seq head = state_->ledger->head().seq;
  if (head.value - state_->last_snapshot.value >= kEventsPerSnapshot) return Close();
  return {};
}

Status Service::Drain() { return CarryOut(state_->core->OnDrain(NowMs())); }

Status Service::Confirm(TrackId track) { return CarryOut(state_->core->OnConfirm(track, NowMs())); }

Status Service::Close() {
  // A snapshot of what the ledger does not hold would outlive it.
  if (Status done = CarryOut({}); !done) return done;
  state_->last_snapshot = state_->ledger->head().seq;
  return state_->ledger->PutSnapshot(
      TakeSnapshot(Tracks(), state_->core->board(), *state_->ledger));
}

}  // namespace pawl
