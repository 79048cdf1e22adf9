#include "coordinator/service/session.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pawl {
namespace {

constexpr std::int64_t kTurnMs = 200;
constexpr std::int64_t kDrainMs =
    5'000;  // after this, workers are asked to give back what they hold

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(SessionOptions options) {
  std::unique_ptr<Session> session(new Session());
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  session->signal_fd_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (session->signal_fd_ < 0) return Error{std::string("signalfd: ") + std::strerror(errno)};

  auto service = Service::Open(options.service);
  if (!service) return service.error();
  session->service_ = *std::move(service);
  const std::string folder = options.service.ledger_folder;
  const std::string state = options.state.empty() ? folder + "/worker" : options.state;
  std::error_code error;
  std::filesystem::create_directories(state, error);
  if (error) return Error{"cannot make " + state + ": " + error.message()};
  std::uint32_t slot = 0;
  for (const std::string& device : options.devices) {
    for (std::uint32_t i = 0; i < options.workers; ++i, ++slot) {
      WorkerCommand command{WorkerProgram(), session->service_->endpoint(),
                            device,          slot,
                            state,           state + "/worker-" + std::to_string(slot) + ".log"};
      session->workers_.push_back(std::make_unique<WorkerProcess>(std::move(command)));
      if (Status started = session->workers_.back()->Start(); !started) return started.error();
    }
  }
  return session;
}

Session::~Session() {
  for (const auto& worker : workers_) worker->Terminate();
  workers_.clear();
  if (signal_fd_ >= 0) ::close(signal_fd_);
}

bool Session::OnSignal() {
  signalfd_siginfo info;
  while (::read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) ++signals_;
  return signals_ > 1;
}

Status Session::Tend() {
  Status problem;
  bool any_left = workers_.empty();
  for (const auto& worker : workers_) {
    if (Status tended = worker->Tend(Service::NowMs()); !tended) problem = tended;
    any_left = any_left || !worker->Ended();
  }
  // While others work on, a worker that cannot run is their coordinator's to report at the end.
  return any_left ? Status{} : problem;
}

Result<SessionEnd> Session::Run(const std::function<void()>& on_turn) {
  std::int64_t drained_at = -1;
  std::int64_t paused_until = 0;
  while (!service_->Done()) {
    if (Status turned = service_->Turn(kTurnMs, signal_fd_); !turned) {
      if (turned.error().advice != Advice::kRetry) return turned.error();
      if (Service::NowMs() >= paused_until) {
        paused_until = Service::NowMs() + 10'000;
        if (service_->on_note) service_->on_note(turned.error().message);
      }
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
