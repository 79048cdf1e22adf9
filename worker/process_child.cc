#include "worker/process_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "schema/codec.h"
#include "worker/descendants.h"
#include "worker/frames.h"

extern char** environ;

namespace pawl {
namespace {

constexpr int kRunnerFd = 3;  // the socket, inside the runner
constexpr off_t kPrintBytes = 64 << 10;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Reset(-1); }

  void Reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    std::string name = ::strsignal(number);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return "signal " + std::to_string(number) + " (" + name + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

class ProcessChild final : public Child {
 public:
  explicit ProcessChild(ProcessChildOptions options) : options_(std::move(options)) {}
  ~ProcessChild() override { Kill(); }

  Result<DeviceFacts> Start() override {
    if (Running()) return facts_;
    if (Status spawned = Spawn(); !spawned) return spawned.error();
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      const std::optional<Frame> frame = ReadFrame();
      if (frame && frame->tag == 'F') {
        Result<DeviceFacts> facts = DecodeFacts(frame->payload);
        if (!facts) {
          Kill();
          return facts.error();
        }
        facts_ = *facts;
        return facts;
      }
      if (frame && frame->tag == 'B') {
        if (frame->payload != sandbox_ && options_.on_sandbox) options_.on_sandbox(frame->payload);
        sandbox_ = frame->payload;
        continue;
      }
      if (frame) {
        const std::string text =
            frame->tag == 'E' ? frame->payload : "runner: spoke before its device was open";
        Kill();
        return Error{text, Advice::kReject};
      }
      if (!damage_.empty() || ended_) {
        const std::string how = Reap().how;
        return Error{"device " + options_.device + ": the runner ended while opening it: " + how,
                     Advice::kRetry};
      }
      const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - start);
      const int left_ms = options_.start_ms - static_cast<int>(spent.count());
      if (left_ms <= 0) {
        Kill();
        return Error{"device " + options_.device + ": not open after " +
                         std::to_string(options_.start_ms) + " ms",
                     Advice::kRetry};
      }
      pollfd ready{epoll_.get(), POLLIN, 0};
      ::poll(&ready, 1, left_ms);
    }
  }

  bool Running() const override { return pid_ > 0; }

  Status Send(const Order& order) override {
    if (!Running()) return Error{"runner: not running", Advice::kRetry};
    AppendFrame(outgoing_, 'O', EncodeOrder(order));
    Flush();
    return {};
  }

  // A hint may be lost: none is queued behind one that the runner has not taken yet.
  void Hint(const pawl::Prepare& hint) override {
    if (!Running() || !outgoing_.empty()) return;
    AppendFrame(outgoing_, 'P', EncodePrepare(hint));
    Flush();
  }

  int fd() const override { return Running() ? epoll_.get() : -1; }

  std::optional<ChildEvent> Next() override {
    if (!Running()) return std::nullopt;
    Flush();
    if (std::optional<Frame> frame = ReadFrame()) {
      if (frame->tag == 'W') {
        worn_ = true;
        return Next();
      }
      Result<ChildEvent> event = Decode(*frame);
      // What a kernel has left running would disturb what is measured next.
      if (frame->tag == 'R' || frame->tag == 'E') {
        if (worn_) {
          Reap();
        } else {
          EndEscaped(pid_);
        }
      }
      if (event) return *event;
      damage_ = event.error().message;
    }
    if (!damage_.empty() || ended_) return ChildEvent(Reap());
    return std::nullopt;
  }

  void Kill() override {
    if (Running()) Reap();
  }

 private:
  Status Spawn();
  void Flush();
  std::optional<Frame> ReadFrame();
  static Result<ChildEvent> Decode(const Frame& frame);
  ChildExit Reap();
  std::string LastWords() const;

  const ProcessChildOptions options_;
  DeviceFacts facts_;
  std::string sandbox_;  // what was said of it last

  // Of the running process; pid_ is -1 when there is none.
  pid_t pid_ = -1;
  Fd socket_, pidfd_, epoll_, prints_;
  FrameReader reader_;
  std::string outgoing_;  // what its socket has not taken yet
  bool ended_ = false;    // its socket is closed or its process is gone
  bool worn_ = false;     // to be replaced after its report
  std::string damage_;    // what was wrong with what it sent
};

Status ProcessChild::Spawn() {
  const auto failed = [](const std::string& what) {
    return Error{"runner: " + what + ": " + std::strerror(errno), Advice::kRetry};
  };
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  socket_.Reset(ends[0]);
  const Fd theirs(ends[1]);
  prints_.Reset(static_cast<int>(::memfd_create("pawl-prints", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (prints_.get() < 0 || ::ftruncate(prints_.get(), kPrintBytes) != 0 ||
      ::fcntl(prints_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return failed("memory file for what kernels print");
  }

  RunnerCommand command;
  command.fd = kRunnerFd;
  command.device = options_.device;
  command.options = options_.device_options;
  command.sandbox = options_.sandbox;
  command.hidden = options_.hidden;
  std::vector<std::string> arguments = RunnerArguments(command);
  arguments.insert(arguments.begin(), "pawl-worker");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The socket may already be number 3, and dup2 onto itself would keep its close-on-exec flag
  // (glibc clears it in that case); 1 and 2 come last, so that none of them is overwritten before
  // it is copied.
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kRunnerFd);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, prints_.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, prints_.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, kRunnerFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  AdoptOrphans();
  const int spawned =
      ::posix_spawn(&pid_, options_.program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (spawned != 0) {
    pid_ = -1;
    return Error{"runner: cannot start " + options_.program + ": " + std::strerror(spawned),
                 Advice::kReject};
  }

  reader_ = FrameReader();
  outgoing_.clear();
  ended_ = false;
  worn_ = false;
  damage_.clear();
  pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event on_socket{};
  on_socket.events = EPOLLIN;
  on_socket.data.fd = socket_.get();
  epoll_event on_exit{};
  on_exit.events = EPOLLIN;
  on_exit.data.fd = pidfd_.get();
  if (pidfd_.get() < 0 || epoll_.get() < 0 ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket_.get(), &on_socket) != 0 ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd_.get(), &on_exit) != 0) {
    const Error error = failed("cannot watch its process (pidfd_open wants Linux 5.3)");
    Reap();
    return error;
  }
  return {};
}

void ProcessChild::Flush() {
  if (outgoing_.empty()) return;
  std::size_t written = 0;
  while (written < outgoing_.size()) {
    const ssize_t sent = ::send(socket_.get(), outgoing_.data() + written,
                                outgoing_.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) break;  // full: epoll says when there is room; gone: reading says so
    written += static_cast<std::size_t>(sent);
  }
  outgoing_.erase(0, written);
  epoll_event on_socket{};
  on_socket.events = EPOLLIN | (outgoing_.empty() ? 0u : EPOLLOUT);
  on_socket.data.fd = socket_.get();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_.get(), &on_socket);
}

// The next whole frame; sets ended_ or damage_. Looks at the process before the socket, so that
// what it wrote last is read before its end is believed.
std::optional<Frame> ProcessChild::ReadFrame() {
  pollfd process{pidfd_.get(), POLLIN, 0};
  const bool gone = ::poll(&process, 1, 0) == 1;
  for (;;) {
    Result<std::optional<Frame>> frame = reader_.Next();
    if (!frame) {
      damage_ = frame.error().message;
      return std::nullopt;
    }
    if (*frame) return std::move(**frame);
    char bytes[64 << 10];
    const ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size > 0) {
      reader_.Feed({bytes, static_cast<std::size_t>(size)});
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    const bool nothing_yet = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (!nothing_yet || gone) ended_ = true;
    return std::nullopt;
  }
}

Result<ChildEvent> ProcessChild::Decode(const Frame& frame) {
  switch (frame.tag) {
    case 'S': {
      Result<StageAt> at = DecodeStage(frame.payload);
      if (!at) return at.error();
      return ChildEvent(ChildStage{at->stage, at->arm});
    }
    case 'R': {
      Result<Execution> execution = DecodeExecution(frame.payload);
      if (!execution) return execution.error();
      return ChildEvent(ChildDone{std::move(*execution)});
    }
    case 'E':
      return ChildEvent(ChildError{frame.payload});
    default:
      return Error{"runner: sent a frame with the unknown tag " +
                       std::to_string(static_cast<unsigned char>(frame.tag)),
                   Advice::kRetry};
  }
}

// Ends the process and all it started, and says how it ended: by itself if it was ending already.
ChildExit ProcessChild::Reap() {
  ChildExit exit;
  if (ended_ && pidfd_.get() >= 0) {
    pollfd process{pidfd_.get(), POLLIN, 0};
    ::poll(&process, 1, 2'000);  // a socket is closed a little before its process is gone
  }
  // Its number stays its own, and so does that of its group and session, until it is reaped at the
  // very end. What it leaves behind is ours once it has ended.
  const auto ended = [this](int how) {
    siginfo_t info{};
    int failed = 0;
    do {
      failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | how);
    } while (failed != 0 && errno == EINTR);
    return failed == 0 && info.si_pid == pid_;
  };
  const bool by_itself = ended(WNOHANG);
  ::kill(-pid_, SIGKILL);
  ended(0);
  EndAllOf(pid_);
  int wait_status = 0;
  while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
  }
  exit.how = damage_.empty() ? HowItEnded(wait_status) : damage_;
  if (const std::string words = LastWords(); by_itself && !words.empty()) {
    exit.how += "; its last words: " + words;
  }
  pid_ = -1;
  socket_.Reset(-1);
  pidfd_.Reset(-1);
  epoll_.Reset(-1);
  prints_.Reset(-1);
  return exit;
}

// The last line with something in it that was printed since the runner took its order, at most 200
// bytes.
std::string ProcessChild::LastWords() const {
  const off_t end = ::lseek(prints_.get(), 0, SEEK_CUR);
  if (end <= 0) return {};
  std::string text(static_cast<std::size_t>(std::min<off_t>(end, 4096)), '\0');
  const ssize_t size =
      ::pread(prints_.get(), text.data(), text.size(), end - static_cast<off_t>(text.size()));
  if (size <= 0) return {};
  text.resize(static_cast<std::size_t>(size));
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return {};
  text.resize(last + 1);
  if (const std::size_t line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  if (text.size() > 200) text.resize(200);
  for (char& c : text) {
    if (c < ' ' || c == 127) c = '?';
  }
  return text;
}

}  // namespace

std::unique_ptr<Child> MakeProcessChild(ProcessChildOptions options) {
  return std::make_unique<ProcessChild>(std::move(options));
}

}  // namespace pawl
