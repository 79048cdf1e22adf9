#include "coordinator/service/stop_signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace pawl {

Result<std::unique_ptr<StopSignals>> StopSignals::Block() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);  // of a terminal that is gone
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int fd = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return Error{std::string("signalfd: ") + std::strerror(errno)};
  return std::unique_ptr<StopSignals>(new StopSignals(fd));
}

StopSignals::~StopSignals() { ::close(fd_); }

int StopSignals::Count() {
  signalfd_siginfo info;
  while (::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) ++count_;
  return count_;
}

}  // namespace pawl
