#include "worker/device/cuda/builder_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "worker/device/cuda/builder.h"
#include "worker/memory_limit.h"

extern char** environ;

namespace pawl {
namespace {

constexpr std::uint64_t kMaxMessageBytes = 1ull << 30;
constexpr int kChildFd = 3;
constexpr int kHelloMs = 60'000;
constexpr const char* kArgument = "--cuda-builder";

void Append(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Int>
bool ParseInt(std::string_view text, Int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Reads `size` bytes before `deadline`; false: gone or too late.
bool ReadAll(int fd, char* bytes, std::size_t size,
             const std::optional<std::chrono::steady_clock::time_point>& deadline, bool& late) {
  while (size > 0) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    pollfd ready{fd, POLLIN, 0};
    const int polled = ::poll(&ready, 1, wait_ms);
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0) {
      late = true;
      return false;
    }
    const ssize_t got = ::recv(fd, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Status WriteParts(int fd, const std::vector<std::string>& parts) {
  std::string bytes;
  std::uint64_t size = 0;
  for (const std::string& part : parts) size += sizeof size + part.size();
  Append(bytes, size);
  for (const std::string& part : parts) {
    Append(bytes, part.size());
    bytes += part;
  }
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t sent = ::send(fd, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Error{"cuda builder: its other end is gone", Advice::kRetry};
    written += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<std::vector<std::string>> ReadParts(int fd, int timeout_ms) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (timeout_ms >= 0) {
    deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  }
  bool late = false;
  const auto failed = [&late] {
    return Error{late ? "cuda builder: no answer in time" : "cuda builder: its other end is gone",
                 late ? Advice::kReject : Advice::kRetry};
  };
  std::uint64_t size = 0;
  if (!ReadAll(fd, reinterpret_cast<char*>(&size), sizeof size, deadline, late)) return failed();
  if (size > kMaxMessageBytes) return Error{"cuda builder: a damaged message", Advice::kRetry};
  std::string bytes(size, '\0');
  if (!ReadAll(fd, bytes.data(), bytes.size(), deadline, late)) return failed();
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t part = 0;
    if (bytes.size() - at < sizeof part) break;
    std::memcpy(&part, bytes.data() + at, sizeof part);
    at += sizeof part;
    if (part > bytes.size() - at) return Error{"cuda builder: a damaged message", Advice::kRetry};
    parts.push_back(bytes.substr(at, part));
    at += part;
  }
  return parts;
}

std::vector<std::string> PackUnit(const CudaUnit& unit) {
  std::vector<std::string> parts = {unit.name, unit.text, std::to_string(unit.headers.size())};
  for (const auto& [name, text] : unit.headers) {
    parts.push_back(name);
    parts.push_back(text);
  }
  for (const auto* list : {&unit.options, &unit.kernels}) {
    parts.push_back(std::to_string(list->size()));
    parts.insert(parts.end(), list->begin(), list->end());
  }
  return parts;
}

std::optional<CudaUnit> UnpackUnit(const std::vector<std::string>& parts) {
  std::size_t at = 0;
  bool whole = true;
  const auto next = [&]() -> std::string {
    if (at >= parts.size()) {
      whole = false;
      return {};
    }
    return parts[at++];
  };
  const auto count = [&] {
    int number = 0;
    if (!ParseInt(next(), number) || number < 0) whole = false;
    return whole ? number : 0;
  };
  CudaUnit unit;
  unit.name = next();
  unit.text = next();
  for (int left = count(); left > 0 && whole; --left) {
    std::string name = next();
    unit.headers.emplace_back(std::move(name), next());
  }
  for (int left = count(); left > 0 && whole; --left) unit.options.push_back(next());
  for (int left = count(); left > 0 && whole; --left) unit.kernels.push_back(next());
  if (!whole || at != parts.size()) return std::nullopt;
  return unit;
}

std::vector<std::string> PackObject(const CudaObject& object) {
  std::vector<std::string> parts = {object.ok ? "ok" : "", object.log, object.cubin,
                                    object.problem};
  parts.insert(parts.end(), object.names.begin(), object.names.end());
  return parts;
}

std::optional<CudaObject> UnpackObject(const std::vector<std::string>& parts) {
  if (parts.size() < 4) return std::nullopt;
  CudaObject object;
  object.ok = parts[0] == "ok";
  object.log = parts[1];
  object.cubin = parts[2];
  object.problem = parts[3];
  object.names.assign(parts.begin() + 4, parts.end());
  return object;
}

Status BuilderProcess::Start() {
  if (pid_ > 0) return {};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{std::string("cuda builder: socketpair: ") + std::strerror(errno), Advice::kRetry};
  }
  std::string cores;
  for (const int core : cores_) cores += (cores.empty() ? "" : ",") + std::to_string(core);
  std::vector<std::string> arguments = {"pawl-worker", kArgument, cores,
                                        std::to_string(memory_bytes_)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChildFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kChildFd + 1);
  const int spawned =
      ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) {
    ::close(ends[0]);
    pid_ = -1;
    return Error{std::string("cuda builder: cannot be started: ") + std::strerror(spawned),
                 Advice::kRetry};
  }
  fd_ = ends[0];
  const Result<std::vector<std::string>> hello = ReadParts(fd_, kHelloMs);
  if (!hello || hello->size() < 2) {
    const std::string how = HowItEnded();
    return Error{"cuda builder: ended before it was ready: " + how, Advice::kRetry};
  }
  if (hello->front().empty()) {
    End();
    return Error{(*hello)[1], Advice::kReject};
  }
  version_ = hello->front();
  architectures_.clear();
  for (std::size_t i = 1; i < hello->size(); ++i) {
    int architecture = 0;
    if (ParseInt((*hello)[i], architecture)) architectures_.push_back(architecture);
  }
  return {};
}

Result<std::optional<CudaObject>> BuilderProcess::Compile(const CudaUnit& unit, int timeout_ms) {
  const Error interrupted{"cuda builder: interrupted", Advice::kRetry};
  if (interrupted_) return interrupted;
  if (Status started = Start(); !started) return started.error();
  const Status written = WriteParts(fd_, PackUnit(unit));
  Result<std::vector<std::string>> answer =
      written ? ReadParts(fd_, timeout_ms) : Result<std::vector<std::string>>(written.error());
  std::optional<CudaObject> object;
  if (answer) object = UnpackObject(*answer);
  if (object) return object;
  if (interrupted_) {
    End();
    return interrupted;
  }
  if (!answer && answer.error().advice == Advice::kReject) {
    End();
    return std::optional<CudaObject>();
  }
  const int pid = pid_;
  siginfo_t info{};
  if (pid > 0) ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  const bool by_itself =
      info.si_code == CLD_EXITED ||
      (info.si_code != 0 && info.si_status != SIGKILL && info.si_status != SIGTERM);
  const std::string how = HowItEnded();
  if (!by_itself)
    return Error{"cuda builder: " + how + " while it compiled " + unit.name, Advice::kRetry};
  CudaObject crashed;
  crashed.problem = "NVRTC ended by " + how;
  return std::optional<CudaObject>(std::move(crashed));
}

std::string BuilderProcess::HowItEnded() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (pid_ <= 0) return "not running";
  // Its end of the socket is closed: it has ended or is about to; one that has not is made to.
  int status = 0;
  pid_t reaped = 0;
  for (int look = 0; look < 100 && reaped == 0; ++look) {
    reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == 0) ::poll(nullptr, 0, 10);
  }
  if (reaped == 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

void BuilderProcess::End() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void BuilderProcess::Interrupt() {
  interrupted_ = true;
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

std::optional<int> BuilderMain(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != kArgument) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::fcntl(kChildFd, F_SETFD, FD_CLOEXEC);
  if (argc > 2) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::string_view cores = argv[2];
    while (!cores.empty()) {
      const std::string_view part = cores.substr(0, cores.find(','));
      int core = 0;
      if (ParseInt(part, core) && core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
      cores.remove_prefix(std::min(cores.size(), part.size() + 1));
    }
    if (CPU_COUNT(&set) > 0) ::sched_setaffinity(0, sizeof set, &set);
  }
  std::uint64_t memory_bytes = 0;
  if (argc > 3 && ParseInt(std::string_view(argv[3]), memory_bytes)) LimitMemory(memory_bytes);
  const Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::Open();
  if (!nvrtc) {
    static_cast<void>(WriteParts(kChildFd, {"", nvrtc.error().message}).has_value());
    return 3;
  }
  std::vector<std::string> hello = {(*nvrtc)->version(), ""};
  for (const int architecture : (*nvrtc)->architectures()) {
    hello.push_back(std::to_string(architecture));
  }
  if (!WriteParts(kChildFd, hello)) return 0;
  for (;;) {
    const Result<std::vector<std::string>> parts = ReadParts(kChildFd, -1);
    if (!parts) return 0;
    const std::optional<CudaUnit> unit = UnpackUnit(*parts);
    if (!unit) return 3;
    if (!WriteParts(kChildFd, PackObject((*nvrtc)->Compile(*unit)))) return 0;
  }
}

}  // namespace pawl
