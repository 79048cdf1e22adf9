#include "coordinator/service/session.h"

#include <algorithm>
#include <filesystem>

#include "schema/endpoint.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

constexpr std::int64_t kTurnMs = 200;
constexpr std::int64_t kDrainMs =
    5'000;  // after this, workers are asked to give back what they hold
constexpr std::int64_t kIdleMs = 5'000;  // without a grant, where a worker is gone: none will come

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(SessionOptions options) {
  // What can be found wrong without making a ledger is.
  const std::optional<GuardedAddress>& guarded = options.service.guarded;
  const bool in_ledger =
      options.service.endpoint.empty() && (!guarded || options.workers > 0 || options.service.stay);
  if (in_ledger) options.service.endpoint = EndpointIn(options.service.ledger_folder);
  if (in_ledger || !guarded) {
    const Status checked = CheckEndpoint(options.service.endpoint, EndpointUse::kListen);
    if (!checked) {
      return Error{"cannot listen: " + checked.error().message +
                   (in_ledger ? " with --listen, or a ledger folder with a shorter name" : "")};
    }
  }
  if (guarded) {
    if (auto secret = ReadSecretKey(guarded->keys); !secret) return secret.error();
    if (Status list = PrepareAllowList(guarded->keys); !list) return list.error();
  }
  std::string program;
  if (options.workers > 0) {
    auto runnable = RunnableWorker();
    if (!runnable) return runnable.error();
    program = *std::move(runnable);
  }
  const std::string folder = options.service.ledger_folder;
  const std::string state = options.state.empty() ? folder + "/worker" : options.state;
  std::error_code error;
  if (!options.state.empty()) std::filesystem::create_directories(state, error);
  if (error) return Error{"cannot make " + state + ": " + error.message()};
  std::unique_ptr<Session> session(new Session());
  auto stop = StopSignals::Block();
  if (!stop) return stop.error();
  session->stop_ = *std::move(stop);
  session->stays_ = options.service.stay;

  auto service = Service::Open(options.service);
  if (!service) return service.error();
  session->service_ = *std::move(service);
  std::filesystem::create_directories(state, error);
  if (error) return Error{"cannot make " + state + ": " + error.message()};
  std::uint32_t slot = 0;
  for (const std::string& device : options.devices) {
    for (std::uint32_t i = 0; i < options.workers; ++i, ++slot) {
      WorkerCommand command{program,
                            session->service_->endpoint(),
                            device,
                            slot,
                            state,
                            state + "/worker-" + std::to_string(slot) + ".log",
                            options.worker_options};
      session->workers_.push_back(std::make_unique<WorkerProcess>(std::move(command)));
      if (Status started = session->workers_.back()->Start(); !started) return started.error();
    }
  }
  return session;
}

Session::~Session() {
  for (const auto& worker : workers_) worker->Terminate();
  workers_.clear();
}

bool Session::OnSignal() {
  signals_ = stop_->Count();
  return signals_ > 1;
}

Status Session::Tend() {
  const std::int64_t now = Service::NowMs();
  bool any_left = workers_.empty();
  for (const auto& worker : workers_) {
    if (Status tended = worker->Tend(now); !tended) {
      problems_.push_back(tended.error().message);
      if (stays_ && service_->on_warning) service_->on_warning(tended.error().message);
    }
    any_left = any_left || !worker->Ended();
  }
  if (problems_.empty() || stays_) return {};
  // Others work on, as long as they have something to do: what only the missing one can serve is
  // not waited for.
  if (any_left && !Idle()) {
    idle_since_ms_ = -1;
    return {};
  }
  if (idle_since_ms_ < 0) idle_since_ms_ = now;
  if (any_left && now - idle_since_ms_ < kIdleMs) return {};
  return Error{problems_.front()};
}

bool Session::Idle() const {
  const Core& core = service_->core();
  const auto left = std::count_if(workers_.begin(), workers_.end(),
                                  [](const auto& worker) { return !worker->Ended(); });
  if (core.Workers().size() < static_cast<std::size_t>(left)) return false;
  return std::none_of(core.tracks().begin(), core.tracks().end(), [](const auto& entry) {
    const Track& track = entry.second.track;
    return std::any_of(track.generations.begin(), track.generations.end(),
                       [](const auto& open) { return open.second.attempt.has_value(); }) ||
           (track.confirmation && track.confirmation->attempt);
  });
}

bool Session::AwaitsGreeting() {
  for (const WorkerId& id : service_->core().Workers()) {
    greeted_.insert(id.value.substr(id.value.rfind('/') + 1));
  }
  return std::any_of(workers_.begin(), workers_.end(), [this](const auto& worker) {
    return !worker->Ended() && !greeted_.contains(std::to_string(worker->command().slot));
  });
}

std::vector<std::string> Session::Problems() const {
  std::vector<std::string> problems = problems_;
  for (const std::string& refusal : service_->refusals()) {
    // A worker of our own that was refused has said so, as its reason.
    const bool told = std::any_of(
        problems.begin(), problems.end(),
        [&](const std::string& problem) { return problem.find(refusal) != std::string::npos; });
    if (!told) problems.push_back(refusal);
  }
  return problems;
}

Result<SessionEnd> Session::Run(const std::function<void()>& on_turn) {
  std::int64_t drained_at = -1;
  std::int64_t paused_until = 0;
  while (!service_->Done() || (signals_ == 0 && AwaitsGreeting())) {
    if (Status turned = service_->Turn(kTurnMs, stop_->fd()); !turned) {
      if (turned.error().advice != Advice::kRetry) return turned.error();
      if (Service::NowMs() >= paused_until) {
        paused_until = Service::NowMs() + 10'000;
        if (service_->on_note) service_->on_note(turned.error().message);
      }
    }
    if (const std::string& behind = service_->core().Alarm(); !behind.empty()) {
      return Error{"ledger " + service_->ledger().folder() + " is behind: " + behind};
    }
    if (OnSignal()) break;
    const std::int64_t now = Service::NowMs();
    if (signals_ > 0 && drained_at < 0) {
      drained_at = now;
      const Status drained = service_->Drain();
      if (!drained && drained.error().advice != Advice::kRetry) return drained.error();
    }
    if (drained_at >= 0 && now - drained_at > kDrainMs) {
      for (const auto& worker : workers_) worker->Terminate();
      if (now - drained_at > 2 * kDrainMs) break;
    }
    if (signals_ == 0) {
      if (Status tended = Tend(); !tended) return tended.error();
    }
    on_turn();
  }
  if (Status closed = service_->Close(); !closed) return closed.error();
  return signals_ > 0 ? SessionEnd::kInterrupted : SessionEnd::kDone;
}

}  // namespace pawl
