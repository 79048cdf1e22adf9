#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "schema/check.h"
#include "tests/support/places.h"

namespace pawl::test {
namespace {

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Pause() {
  const timespec pause{0, 2'000'000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::string& stderr_path,
                 const std::vector<std::string>& environment) {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(ends[1], STDOUT_FILENO);
    const std::string path = stderr_path.empty() ? "/dev/null" : stderr_path;
    const int err = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(err, STDERR_FILENO);
    for (const std::string& setting : environment) ::putenv(const_cast<char*>(setting.c_str()));
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  ::close(ends[1]);
  stdout_ = ends[0];
}

Process::~Process() {
  if (!reaped_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(stdout_);
}

std::optional<std::string> Process::ReadLine(int timeout_ms) {
  const std::int64_t deadline = NowMs() + timeout_ms;
  while (true) {
    if (const std::size_t end = buffered_.find('\n'); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    const std::int64_t left = deadline - NowMs();
    if (at_end_ || left < 0) return std::nullopt;
    pollfd item{stdout_, POLLIN, 0};
    if (::poll(&item, 1, static_cast<int>(left)) <= 0) continue;
    std::array<char, 65536> chunk;
    const ssize_t got = ::read(stdout_, chunk.data(), chunk.size());
    if (got <= 0) {
      at_end_ = true;
    } else {
      buffered_.append(chunk.data(), static_cast<std::size_t>(got));
    }
  }
}

void Process::Signal(int signal) { ::kill(pid_, signal); }

int Process::Wait(int timeout_ms) {
  const std::int64_t deadline = NowMs() + timeout_ms;
  while (!reaped_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      reaped_ = true;
      result_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    if (NowMs() > deadline) return -1;
    Pause();
  }
  return result_;
}

Finished RunToEnd(const std::vector<std::string>& arguments, int timeout_ms,
                  const std::vector<std::string>& environment) {
  TempFolder folder;
  Finished finished;
  {
    Process process(arguments, folder / "stderr", environment);
    const std::int64_t deadline = NowMs() + timeout_ms;
    while (!process.AtEnd() && NowMs() < deadline) {
      if (auto line = process.ReadLine(static_cast<int>(deadline - NowMs())))
        finished.out += *line + "\n";
    }
    finished.code = process.Wait(static_cast<int>(std::max<std::int64_t>(deadline - NowMs(), 100)));
  }
  finished.err = ReadFile(folder / "stderr");
  return finished;
}

bool WaitFor(const std::function<bool()>& done, int timeout_ms) {
  const std::int64_t deadline = NowMs() + timeout_ms;
  while (!done()) {
    if (NowMs() > deadline) return false;
    Pause();
  }
  return true;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child = 0; list >> child;) {
    children.push_back(child);
    for (const pid_t below : ChildrenOf(child)) children.push_back(below);
  }
  return children;
}

std::string CommandLineOf(pid_t pid) {
  std::string line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : line) {
    if (c == '\0') c = ' ';
  }
  return line;
}

}  // namespace pawl::test
