#include "coordinator/service/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace pawl {
namespace {

constexpr std::int64_t kLongestPauseMs = 5'000;
constexpr std::int64_t kStableMs =
    10'000;                         // a worker that lived this long starts over with a short pause
constexpr int kMostShortLives = 5;  // in a row
constexpr int kExitUsage = 2;       // of pawl-worker: another version's, that knows other options
constexpr int kExitFailed = 3;      // of pawl-worker: could not run
constexpr int kExitRefused = 4;     // of pawl-worker: the coordinator refused it

std::string LastLine(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

WorkerProcess::WorkerProcess(WorkerCommand command) : command_(std::move(command)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  for (int i = 0; i < 100 && !Reap(); ++i) {
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

Status WorkerProcess::Start() {
  const int log = ::open(command_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return Error{"cannot write " + command_.log + ": " + std::strerror(errno)};
  const std::string slot = std::to_string(command_.slot);
  std::vector<const char*> arguments = {command_.program.c_str(),
                                        "--connect",
                                        command_.endpoint.c_str(),
                                        "--device",
                                        command_.device.c_str(),
                                        "--slot",
                                        slot.c_str(),
                                        "--state",
                                        command_.state.c_str()};
  for (const std::string& option : command_.options) arguments.push_back(option.c_str());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(log);
    return Error{std::string("cannot start a worker: fork: ") + std::strerror(errno),
                 Advice::kRetry};
  }
  if (pid == 0) {
    ::setpgid(0, 0);  // Ctrl-C is the coordinator's to pass on
    // A worker that outlived its coordinator would hold its slot against the next run's; what it
    // has measured is in its spool.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kExitFailed);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(command_.program.c_str(), const_cast<char* const*>(arguments.data()));
    std::fprintf(stderr, "cannot run %s: %s\n", command_.program.c_str(), std::strerror(errno));
    ::_exit(kExitFailed);
  }
  ::close(log);
  pid_ = pid;
  restart_at_ms_ = -1;
  return {};
}

bool WorkerProcess::Reap() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return true;
}

std::string WorkerProcess::HowItEnded() const {
  if (signal_ == 0) return "with exit code " + std::to_string(exit_code_);
  return "killed by signal " + std::to_string(signal_) + " (" + ::strsignal(signal_) + ")";
}

Status WorkerProcess::Tend(std::int64_t now_ms) {
  if (started_ms_ == 0) started_ms_ = now_ms;
  if (Reap()) {
    if (leaving_) {
      ended_ = true;
      return {};
    }
    const std::string worker = "worker for device '" + command_.device + "'";
    if (exit_code_ == kExitUsage || exit_code_ == kExitFailed || exit_code_ == kExitRefused) {
      ended_ = true;
      return Error{worker + " could not run: " + LastLine(command_.log)};
    }
    // Also one that left in good order, as SIGTERM makes it: its coordinator did not send it away.
    const bool stable = now_ms - started_ms_ >= kStableMs;
    if (stable) pause_ms_ = 200;
    short_lives_ = stable ? 0 : short_lives_ + 1;
    if (short_lives_ == kMostShortLives) {
      ended_ = true;
      return Error{worker + " was started " + std::to_string(kMostShortLives) +
                   " times in a row and ended within " + std::to_string(kStableMs / 1'000) +
                   " s, the last time " + HowItEnded() + "; its log is " + command_.log};
    }
    restart_at_ms_ = now_ms + pause_ms_;
    pause_ms_ = std::min(2 * pause_ms_, kLongestPauseMs);
  }
  if (!Running() && !ended_ && !leaving_ && restart_at_ms_ >= 0 && now_ms >= restart_at_ms_) {
    started_ms_ = now_ms;
    Status started = Start();
    if (!started) {
      // A log that cannot be written and a machine that forks no more are no better a moment later.
      if (++short_lives_ < kMostShortLives) {
        restart_at_ms_ = now_ms + pause_ms_;
        pause_ms_ = std::min(2 * pause_ms_, kLongestPauseMs);
        return {};
      }
      ended_ = true;
    }
    return started;
  }
  return {};
}

void WorkerProcess::Terminate() {
  leaving_ = true;
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
  } else {
    ended_ = true;
  }
}

Result<std::vector<ListedDevice>> ListWorkerDevices(const std::string& program, bool peaks) {
  const std::string command =
      "'" + program + "' --list-devices --json" + (peaks ? " --peaks" : "") + " 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return Error{"cannot run " + program + ": " + std::strerror(errno)};
  std::string output;
  std::array<char, 4096> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    output.append(chunk.data(), got);
  }
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{"'" + program + " --list-devices' failed; is pawl-worker beside pawl?"};
  }
  std::vector<ListedDevice> devices;
  std::size_t begin = 0;
  while (begin < output.size()) {
    std::size_t end = output.find('\n', begin);
    if (end == std::string::npos) end = output.size();
    const std::string line = output.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) return Error{"'" + program + " --list-devices' printed '" + line + "'"};
    DeviceFacts facts;
    facts.kind = json.value("kind", "");
    facts.model = json.value("model", "");
    facts.uuid = json.value("uuid", "");
    facts.toolchain = json.value("toolchain", "");
    facts.backend = json.value("backend", "");
    for (const std::string& name : json.value("instruments", std::vector<std::string>())) {
      if (const auto instrument = ParseInstrument(name)) facts.instruments.push_back(*instrument);
    }
    devices.push_back({json.value("name", ""), facts.kind, facts.model, facts.backend, line,
                       json.value("problem", ""), facts,
                       json.value("memory_bytes", std::uint64_t{0})});
  }
  return devices;
}

std::string WorkerProgram() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "pawl-worker").string();
}

Result<std::string> RunnableWorker() {
  std::string program = WorkerProgram();
  if (::access(program.c_str(), X_OK) == 0) return program;
  return Error{"cannot run " + program + ": " + std::strerror(errno) + "; it belongs beside pawl"};
}

}  // namespace pawl
