#include "coordinator/service/errand_session.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "coordinator/service/service.h"
#include "schema/digest.h"

namespace pawl {
namespace {

constexpr std::int64_t kTurnMs = 200;
constexpr std::int64_t kSeeOffMs = 2'000;  // for the last acknowledgements to be read
constexpr std::size_t kMostAtOnce = 64;

}  // namespace

LedgerId ErrandSession::NewId() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::string text = std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec) + " " +
                           std::to_string(Service::NowMs()) + " " + std::to_string(::getpid());
  return LedgerId(Sha256("errands " + text).Hex().substr(0, 32));
}

Result<std::unique_ptr<ErrandSession>> ErrandSession::Open(const ErrandOptions& options) {
  const auto program = RunnableWorker();
  if (!program) return program.error();
  std::unique_ptr<ErrandSession> session(new ErrandSession());
  auto folder = OwnFolder::Make("errands");
  if (!folder) return folder.error();
  session->folder_ = *std::move(folder);
  const std::string own = session->folder_->path();
  const std::string state = options.state.empty() ? own : options.state;
  std::error_code failed;
  std::filesystem::create_directories(state, failed);
  if (failed) return Error{"cannot make " + state + ": " + failed.message()};
  auto hub = Hub::Bind("ipc://" + own + "/socket");
  if (!hub) return hub.error();
  session->hub_ = *std::move(hub);
  auto stop = StopSignals::Block();
  if (!stop) return stop.error();
  session->stop_ = *std::move(stop);
  for (std::uint32_t slot = 0; slot < options.workers; ++slot) {
    WorkerCommand command{*program,
                          session->hub_->endpoint(),
                          options.device,
                          slot,
                          state,
                          state + "/worker-" + std::to_string(slot) + ".log",
                          options.worker_options};
    session->workers_.push_back(std::make_unique<WorkerProcess>(std::move(command)));
    if (Status started = session->workers_.back()->Start(); !started) return started.error();
  }
  return session;
}

ErrandSession::~ErrandSession() {
  for (const auto& worker : workers_) worker->Terminate();
  workers_.clear();
}

void ErrandSession::Turn(Errands& errands, std::int64_t timeout_ms,
                         const std::function<void(const ErrandResult&)>& on_result) {
  const auto carry_out = [&](const ErrandEffects& effects) {
    for (const Outgoing& outgoing : effects.send) hub_->Send(outgoing);
    for (const ErrandResult& result : effects.results) on_result(result);
    if (!effects.notes.empty()) note_ = effects.notes.back();
  };
  for (const Received& received : hub_->Receive(timeout_ms, kMostAtOnce, stop_->fd())) {
    if (!received.message) {
      carry_out(errands.OnUndecodable(received.peer, received.message.error().message,
                                      received.other_version));
      continue;
    }
    carry_out(errands.OnMessage(received.peer, *received.message, Service::NowMs()));
  }
  carry_out(errands.OnTick(Service::NowMs()));
}

bool ErrandSession::Serve(Errands& errands,
                          const std::function<void(const ErrandResult&)>& on_result) {
  Turn(errands, 0, on_result);
  return stop_->Count() == 0;
}

void ErrandSession::Close(Errands& errands) {
  for (const Outgoing& outgoing : errands.Close().send) hub_->Send(outgoing);
}

// Workers that have read what was acknowledged leave nothing in their spool.
void ErrandSession::SeeOff(Errands& errands) {
  const std::int64_t until = Service::NowMs() + kSeeOffMs;
  for (const auto& worker : workers_) worker->Terminate();
  const auto any_left = [&] {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const auto& worker) { return worker->Running() && !worker->Ended(); });
  };
  while (any_left() && Service::NowMs() < until) {
    Turn(errands, kTurnMs / 10, [](const ErrandResult&) {});
    for (const auto& worker : workers_) static_cast<void>(worker->Tend(Service::NowMs()));
  }
}

Result<SessionEnd> ErrandSession::Run(Errands& errands,
                                      const std::function<void(const ErrandResult&)>& on_result,
                                      const std::function<void()>& on_turn) {
  while (!errands.Done()) {
    Turn(errands, kTurnMs, on_result);
    if (stop_->Count() > 0) return SessionEnd::kInterrupted;
    if (errands.Done()) break;
    Status problem;
    bool any_left = false;
    for (const auto& worker : workers_) {
      if (Status tended = worker->Tend(Service::NowMs()); !tended) problem = tended;
      any_left = any_left || !worker->Ended();
    }
    if (!any_left) {
      return Error{!note_.empty() ? note_
                   : problem      ? std::string("no worker is left")
                                  : problem.error().message};
    }
    on_turn();
  }
  SeeOff(errands);
  return SessionEnd::kDone;
}

}  // namespace pawl
