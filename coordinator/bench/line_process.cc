#include "coordinator/bench/line_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "coordinator/bench/rival_lines.h"

namespace pawl {
namespace {

constexpr std::int64_t kIdleMs = 200;
constexpr std::int64_t kEndMs = 1'000;  // for a process whose output has ended to end itself

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

// Both ends, closed on exec.
struct Pipe {
  int read = -1, write = -1;
  bool Open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  void Close() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
};

std::string LastLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - 4'096));
  std::string line, last;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return Quotable(last);
}

// What runs in the child between fork and exec; tells `failed` the errno.
[[noreturn]] void Become(const LineCommand& command, char* const* arguments, pid_t parent, int in,
                         int out, int err, int failed) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  const int problem = errno;
  static_cast<void>(!::write(failed, &problem, sizeof problem));
  ::_exit(127);
}

// The keeper: nothing but system calls, since other threads of ours were left behind in the fork.
[[noreturn]] void Keep(pid_t group, int alive) {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  if (::setpgid(0, group) != 0) ::_exit(127);  // it has gone already
  ::dup2(alive, STDIN_FILENO);
  ::close_range(STDIN_FILENO + 1, ~0U, 0);  // among them the other end, and those of other keepers
  char nothing = 0;
  while (::read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::kill(0, SIGKILL);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<LineProcess>> LineProcess::Start(const LineCommand& command) {
  const int log =
      ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return Error{"cannot write " + command.log + ": " + std::strerror(errno)};
  Pipe in, out, failed, alive;
  const auto close_all = [&] {
    in.Close();
    out.Close();
    failed.Close();
    alive.Close();
    ::close(log);
  };
  if (!in.Open() || !out.Open() || !failed.Open() || !alive.Open()) {
    const Error error{std::string("pipe: ") + std::strerror(errno)};
    close_all();
    return error;
  }
  std::vector<char*> arguments;
  for (const std::string& one : command.arguments)
    arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // what has ended is seen by its errno
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    Become(command, arguments.data(), parent, in.read, out.write, log, failed.write);
  }
  const int fork_problem = errno;
  if (pid > 0) ::setpgid(pid, pid);
  ::close(std::exchange(failed.write, -1));
  int problem = 0;
  const bool told = pid > 0 && ::read(failed.read, &problem, sizeof problem) > 0;
  if (pid < 0 || told) {
    if (told) ::waitpid(pid, nullptr, 0);
    close_all();
    return Error{"cannot run " + command.arguments.front() + ": " +
                 std::strerror(told ? problem : fork_problem)};
  }
  const pid_t keeper = ::fork();
  if (keeper == 0) Keep(pid, alive.read);
  if (keeper < 0) {
    const Error error{std::string("fork: ") + std::strerror(errno)};
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    close_all();
    return error;
  }
  const int to = std::exchange(in.write, -1);
  const int from = std::exchange(out.read, -1);
  const int held = std::exchange(alive.write, -1);
  close_all();
  for (const int fd : {to, from}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return std::unique_ptr<LineProcess>(new LineProcess(pid, keeper, held, to, from, command));
}

LineProcess::LineProcess(pid_t pid, pid_t keeper, int alive, int to, int from, LineCommand command)
    : pid_(pid),
      keeper_(keeper),
      alive_(alive),
      command_(std::move(command)),
      to_(to),
      from_(from) {}

LineProcess::~LineProcess() {
  ::kill(-pid_, SIGKILL);  // also what it has started and left behind
  ::kill(keeper_, SIGKILL);
  ::waitpid(keeper_, nullptr, 0);
  ::waitpid(pid_, nullptr, 0);
  ::close(alive_);
  if (to_ >= 0) ::close(to_);
  ::close(from_);
}

LineProcess::Waited LineProcess::WaitFor(int fd, short events, std::int64_t until_ms,
                                         const Idle& idle) {
  while (true) {
    const std::int64_t now = NowMs();
    const std::int64_t left = until_ms - now;
    // By the clock: who says a little all the time holds nobody up.
    if (now >= idle_at_ms_) {
      if (!idle()) return Waited::kStopped;
      idle_at_ms_ = NowMs() + kIdleMs;
    }
    pollfd item{fd, events, 0};
    const auto wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, kIdleMs));
    if (::poll(&item, 1, wait) > 0) return Waited::kReady;
    // What it has started may hold its pipes. Its own last words may have come since.
    if (WaitForEnd(0)) return ::poll(&item, 1, 0) > 0 ? Waited::kReady : Waited::kEnded;
    if (left <= 0) return Waited::kLate;
  }
}

Error LineProcess::NotReady(Waited waited, std::int64_t deadline_ms) {
  interrupted_ = waited == Waited::kStopped;
  if (waited == Waited::kEnded) return Ended();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", static_cast<double>(deadline_ms) / 1e3);
  return Error{std::string("gave no answer within ") + seconds + " s and was killed"};
}

// Not reaped: until the destructor its id, and its group's, are nobody else's.
std::optional<siginfo_t> LineProcess::WaitForEnd(std::int64_t until_ms) const {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_) {
      return info;
    }
    if (NowMs() >= until_ms) return std::nullopt;
    ::poll(nullptr, 0, 2);
  }
}

Error LineProcess::Ended() const {
  std::string how = "closed its output and went on";
  if (const auto info = WaitForEnd(NowMs() + kEndMs)) {
    how = info->si_code == CLD_EXITED ? "ended with exit code " + std::to_string(info->si_status)
                                      : "was killed by signal " + std::to_string(info->si_status) +
                                            " (" + ::strsignal(info->si_status) + ")";
  }
  const std::string last = LastLine(command_.log);
  return Error{how + " in place of an answer" + (last.empty() ? "" : "; it last said: " + last)};
}

Status LineProcess::Send(const std::string& request, std::int64_t deadline_ms,
                         std::int64_t until_ms, const Idle& idle) {
  std::size_t sent = 0;
  while (sent < request.size()) {
    const Waited waited = WaitFor(to_, POLLOUT, until_ms, idle);
    if (waited != Waited::kReady) return NotReady(waited, deadline_ms);
    const ssize_t wrote = ::write(to_, request.data() + sent, request.size() - sent);
    if (wrote > 0) sent += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) return Ended();
  }
  return {};
}

Result<std::string> LineProcess::Ask(const std::string& request, std::int64_t deadline_ms,
                                     const Idle& idle) {
  const std::int64_t until = NowMs() + deadline_ms;
  if (buffered_.empty()) {
    std::array<char, 256> early;
    const ssize_t got = ::read(from_, early.data(), early.size());
    if (got > 0) buffered_.append(early.data(), static_cast<std::size_t>(got));
  }
  if (!buffered_.empty()) {
    return Error{"said '" + Quotable(buffered_) +
                 "' without being asked; wanted one line an answer"};
  }
  if (Status sent = Send(request, deadline_ms, until, idle); !sent) return sent.error();
  while (true) {
    if (const std::size_t end = buffered_.find('\n'); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    if (buffered_.size() > command_.most_line) {
      return Error{"answered with a line of more than " + std::to_string(command_.most_line) +
                   " bytes, '" + Quotable(buffered_) + "'"};
    }
    const Waited waited = WaitFor(from_, POLLIN, until, idle);
    if (waited != Waited::kReady) return NotReady(waited, deadline_ms);
    std::array<char, 65'536> chunk;
    const ssize_t got = ::read(from_, chunk.data(), chunk.size());
    if (got > 0) buffered_.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0) return Ended();
    if (got < 0 && errno != EAGAIN && errno != EINTR) return Ended();
  }
}

void LineProcess::Quit(const std::string& request, std::int64_t deadline_ms) {
  const std::int64_t until = NowMs() + deadline_ms;
  static_cast<void>(Send(request, deadline_ms, until, [] { return true; }).has_value());
  ::close(std::exchange(to_, -1));
  static_cast<void>(WaitForEnd(until).has_value());
}

}  // namespace pawl
