#include "worker/clocks/guardian_process.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>

#include "worker/clocks/nvml_clocks.h"
#include "worker/clocks/reset.h"

namespace pawl {
namespace {

constexpr int kExitFailed = 3;
constexpr char kFlag[] = "--clock-guardian";
constexpr std::size_t kMostMessage = 4'096;

class SystemTimer final : public Timer {
 public:
  std::int64_t NowMs() override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
  }
  void Pause(int ms) override { ::poll(nullptr, 0, ms); }
};

// A worker that is gone is no error: the end of the file says so.
void Say(int fd, const std::string& message) {
  const std::string whole = message.substr(0, kMostMessage);
  while (::send(fd, whole.data(), whole.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// Signals come as reads; one that asks for the end again while clocks are being reset changes
// nothing. Writing to a terminal that belongs to another group must not stop this process.
int TakeSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&ends, number);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  for (const int number : {SIGPIPE, SIGTTOU, SIGTTIN, SIGTSTP}) std::signal(number, SIG_IGN);
  return ::signalfd(-1, &ends, SFD_CLOEXEC);
}

// Until it is to let go; why.
std::string Watch(Guardian& guardian, Timer& timer, int socket, int signals) {
  while (true) {
    const std::int64_t wait =
        std::clamp<std::int64_t>(guardian.NextTick() - timer.NowMs(), 0, 60'000);
    pollfd ready[] = {{socket, POLLIN, 0}, {signals, POLLIN, 0}};
    ::poll(ready, std::size(ready), static_cast<int>(wait));
    if (ready[1].revents != 0) {
      signalfd_siginfo signal{};
      static_cast<void>(::read(signals, &signal, sizeof signal));
      return "signal " + std::to_string(signal.ssi_signo);
    }
    if (ready[0].revents != 0) {
      char message[kMostMessage];
      const ssize_t size = ::recv(socket, message, sizeof message, MSG_DONTWAIT);
      if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        return "its worker is gone";
      }
      const std::string_view said(message, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      if (said == "end") return "its worker ends";
      if (said == "beat") guardian.OnBeat();
      continue;  // what else was said is heard before silence is judged
    }
    if (const std::optional<std::string> why = guardian.OnTick()) return *why;
  }
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

std::vector<std::string> GuardianArguments(const GuardianCommand& command) {
  return {kFlag,
          std::to_string(command.fd),
          command.request.gpu,
          std::to_string(command.request.gpu_mhz),
          std::to_string(command.request.memory_mhz),
          std::to_string(command.lost_ms),
          command.leases};
}

std::optional<Result<GuardianCommand>> ParseGuardianArguments(int argc, const char* const* argv) {
  if (argc < 2 || std::strcmp(argv[1], kFlag) != 0) return std::nullopt;
  GuardianCommand command;
  if (argc != 8) return Error{std::string(kFlag) + " is started by pawl-worker itself"};
  const auto number = [](const char* text, auto& into, std::int64_t least) {
    const char* const end = text + std::strlen(text);
    const auto [at, error] = std::from_chars(text, end, into);
    return error == std::errc() && at == end && static_cast<std::int64_t>(into) >= least;
  };
  const bool right =
      number(argv[2], command.fd, 0) && number(argv[4], command.request.gpu_mhz, 0) &&
      number(argv[5], command.request.memory_mhz, 0) && number(argv[6], command.lost_ms, 1);
  if (!right) {
    return Error{std::string(kFlag) +
                 ": wanted FD GPU MHZ MEMORY_MHZ LOST_MS FOLDER, numbers but "
                 "for GPU and FOLDER"};
  }
  command.request.gpu = argv[3];
  command.leases = argv[7];
  return command;
}

int GuardianMain(const GuardianCommand& command) {
  const int signals = TakeSignals();
  // The last that should go where memory is short; without the right to say so it stays as it is.
  std::ofstream("/proc/self/oom_score_adj") << "-1000";
  const auto refuse = [&](const Error& why) {
    Say(command.fd, "refused " + OneLine(why.message));
    return why.advice == Advice::kReject ? 0 : kExitFailed;
  };
  SystemTimer timer;
  Result<Machine> machine = ThisMachine();
  if (!machine) return refuse(machine.error());
  Result<std::unique_ptr<NvmlClocks>> clocks = NvmlClocks::Open();
  if (!clocks) return refuse(clocks.error());
  LeaseFolder leases(command.leases);
  Guardian guardian(**clocks, leases, *std::move(machine), timer, command.lost_ms);
  const Result<Pinned> pinned = guardian.Pin(command.request);
  if (!pinned) return refuse(pinned.error());
  Say(command.fd, "pinned " + std::to_string(pinned->gpu_mhz) + " " +
                      std::to_string(pinned->memory_mhz) + " " + OneLine(pinned->note));
  const std::string why = Watch(guardian, timer, command.fd, signals);
  Say(command.fd, "ending " + OneLine(why));
  const Status released = guardian.Release();
  if (released) return 0;
  std::fprintf(stderr, "pawl-worker: clocks: %s; `pawl-worker --reset-clocks` tries it again\n",
               OneLine(released.error().message).c_str());
  return kExitFailed;
}

int ResetClocksMain(const std::string& folder) {
  const Result<Machine> machine = ThisMachine();
  if (!machine) {
    std::fprintf(stderr, "pawl-worker: %s\n", machine.error().message.c_str());
    return kExitFailed;
  }
  SystemTimer timer;
  LeaseFolder leases(folder);
  std::unique_ptr<NvmlClocks> opened;
  const ClocksSource source = [&]() -> Result<GpuClocks*> {
    if (opened == nullptr) {
      Result<std::unique_ptr<NvmlClocks>> clocks = NvmlClocks::Open();
      if (!clocks) return clocks.error();
      opened = *std::move(clocks);
    }
    return opened.get();
  };
  const std::vector<Swept> all = SweepLeases(leases, *machine, source, timer);
  bool ok = true;
  for (const Swept& swept : all) {
    ok = ok && swept.ok;
    std::fprintf(swept.ok ? stdout : stderr, "pawl-worker: %s\n", OneLine(swept.line).c_str());
  }
  if (all.empty())
    std::printf("pawl-worker: no clock lease in %s: nothing to reset\n", folder.c_str());
  return ok ? 0 : kExitFailed;
}

std::string WhoHolds(const std::string& folder, const std::string& gpu) {
  const Result<Machine> machine = ThisMachine();
  const Result<std::optional<ClockLease>> lease = LeaseFolder(folder).Read(gpu);
  if (!lease) return lease.error().message;
  if (!machine || !*lease) return {};
  const std::string what = Describe(**lease);
  const std::string process = "process " + std::to_string((*lease)->pid);
  switch (Judge(**lease, *machine)) {
    case LeaseState::kHeld:
      return what + ", held by " + process;
    case LeaseState::kStale:
      return what + ", left by " + process + ", which is gone: `pawl-worker --reset-clocks`";
    case LeaseState::kOtherBoot:
      break;
  }
  return {};
}

}  // namespace pawl
