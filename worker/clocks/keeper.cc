#include "worker/clocks/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <vector>

#include "worker/clocks/guardian_process.h"

extern char** environ;

namespace pawl {
namespace {

constexpr int kGuardianFd = 3;      // the socket, inside the guardian
constexpr int kReleaseMs = 15'000;  // resetting takes 10 s where the clock does not move
constexpr int kReapMs = 1'000;

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

// What follows a word: "ending signal 15" -> "signal 15".
std::optional<std::string> After(const std::string& message, std::string_view word) {
  if (message.rfind(word, 0) != 0 || message.size() < word.size() + 1) return std::nullopt;
  return message.substr(word.size() + 1);
}

class ProcessKeeper final : public ClockKeeper {
 public:
  explicit ProcessKeeper(KeeperOptions options) : options_(std::move(options)) {}
  ~ProcessKeeper() override { Release(); }

  Result<Pinned> Pin(const std::string& gpu) override {
    Release();
    if (Status started = Start(gpu); !started) return started.error();
    const std::int64_t until = NowMs() + options_.answer_ms;
    const std::optional<std::string> answer = Hear(until);
    if (answer) {
      if (const auto why = After(*answer, "refused")) {
        Close(kReapMs);
        return Error{*why, Advice::kReject};
      }
      if (const auto what = After(*answer, "pinned")) {
        Pinned pinned;
        int note_at = 0;
        if (std::sscanf(what->c_str(), "%u %u %n", &pinned.gpu_mhz, &pinned.memory_mhz, &note_at) ==
            2) {
          pinned.note = what->substr(std::min<std::size_t>(note_at, what->size()));
          next_beat_ = NowMs() + options_.beat_ms;
          return pinned;
        }
      }
    }
    const std::string how =
        NowMs() >= until ? "does not answer within " + std::to_string(options_.answer_ms) + " ms"
                         : "ended before it answered";
    Close(kReapMs);
    return Error{"the clocks' guardian " + how, Advice::kRetry};
  }

  bool Holding() const override { return socket_ >= 0; }
  int fd() const override { return socket_; }
  std::int64_t NextBeat() const override {
    return Holding() ? next_beat_ : std::numeric_limits<std::int64_t>::max();
  }

  std::optional<std::string> Tend(std::int64_t now_ms) override {
    if (!Holding()) return std::nullopt;
    if (const std::optional<std::string> message = Hear(0)) {
      const std::string why =
          After(*message, "ending").value_or("the clocks' guardian: " + *message);
      Close(kReleaseMs);
      return why;
    }
    if (ended_) {
      Close(kReapMs);
      return "the clocks' guardian was killed";
    }
    if (now_ms < next_beat_) return std::nullopt;
    next_beat_ = now_ms + options_.beat_ms;
    // One that is gone is heard of at the next call.
    static_cast<void>(::send(socket_, "beat", 4, MSG_NOSIGNAL | MSG_DONTWAIT));
    return std::nullopt;
  }

  void Release() override {
    if (!Holding()) return;
    static_cast<void>(::send(socket_, "end", 3, MSG_NOSIGNAL | MSG_DONTWAIT));
    Close(kReleaseMs);
  }

 private:
  Status Start(const std::string& gpu) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return Error{std::string("the clocks' guardian: socketpair: ") + std::strerror(errno),
                   Advice::kRetry};
    }
    GuardianCommand command;
    command.fd = kGuardianFd;
    command.request = {gpu, options_.gpu_mhz, options_.memory_mhz};
    command.leases = options_.leases;
    command.lost_ms = options_.lost_ms;
    std::vector<std::string> arguments = GuardianArguments(command);
    arguments.insert(arguments.begin(), "pawl-worker");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kGuardianFd);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, kGuardianFd + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A group of its own: what is sent to the worker's is not for it. Not a session of its own:
    // what has left this process's session is taken for something that a kernel started.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int spawned =
        ::posix_spawn(&pid_, options_.program.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ::close(ends[1]);
    if (spawned != 0) {
      ::close(ends[0]);
      pid_ = -1;
      return Error{
          "the clocks' guardian: cannot start " + options_.program + ": " + std::strerror(spawned),
          Advice::kReject};
    }
    socket_ = ends[0];
    ended_ = false;
    return {};
  }

  // The next message, waited for until then; nullopt: none, or its end (ended_).
  std::optional<std::string> Hear(std::int64_t until_ms) {
    while (true) {
      char message[8'192];
      const ssize_t size = ::recv(socket_, message, sizeof message, MSG_DONTWAIT);
      if (size > 0) return std::string(message, static_cast<std::size_t>(size));
      if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        ended_ = true;
        return std::nullopt;
      }
      const std::int64_t left = until_ms - NowMs();
      if (left <= 0) return std::nullopt;
      pollfd ready{socket_, POLLIN, 0};
      ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    }
  }

  // Waits for its end, which is when the clocks are reset. One that does not come to it is left to
  // it: killed, it would leave them as they are.
  void Close(int wait_ms) {
    const std::int64_t until = NowMs() + wait_ms;
    while (!ended_ && NowMs() < until) static_cast<void>(Hear(until));
    ::close(socket_);
    socket_ = -1;
    ended_ = false;
    const std::int64_t reap_until = std::max(until, NowMs() + kReapMs);
    while (::waitpid(pid_, nullptr, WNOHANG) == 0 && NowMs() < reap_until) ::poll(nullptr, 0, 5);
    pid_ = -1;
  }

  const KeeperOptions options_;
  pid_t pid_ = -1;
  int socket_ = -1;
  bool ended_ = false;  // its end of the socket is closed
  std::int64_t next_beat_ = 0;
};

}  // namespace

std::unique_ptr<ClockKeeper> MakeProcessKeeper(KeeperOptions options) {
  return std::make_unique<ProcessKeeper>(std::move(options));
}

}  // namespace pawl
