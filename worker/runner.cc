#include "worker/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>

#include "schema/codec.h"
#include "worker/frames.h"
#include "worker/memory_limit.h"

namespace pawl {
namespace {

constexpr int kCannotRun = 3;
constexpr rlim_t kMostFileBytes = 8ull << 30;  // the largest reference outputs are below that
constexpr std::uint64_t kLeastDiskBytes = 64ull << 20;
constexpr std::uint64_t kMostDiskBytes = 2ull << 30;
constexpr std::uint32_t kProcesses = 1024;  // and some for each core: libraries start as many threads
constexpr std::uint32_t kProcessesPerCore = 8;

bool IsGpu(const std::string& device) { return device.rfind("cuda", 0) == 0; }

void LimitOurselves(int fd, const std::string& device, std::uint64_t memory_bytes) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that died before that is known by the other end of the socket.
  pollfd parent{fd, 0, 0};
  if (::poll(&parent, 1, 0) == 1 && (parent.revents & POLLHUP) != 0) ::_exit(kCannotRun);
  // A kernel's fault ends the process by its signal, also where a sanitizer would make it an exit.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(fault, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // No kernel of a GPU takes this machine's memory or writes its files, and its driver maps more
  // than it uses.
  if (!IsGpu(device)) {
    LimitMemory(memory_bytes > 0 ? memory_bytes : MostOfTheMemory());
    const rlimit file{kMostFileBytes, kMostFileBytes};
    ::setrlimit(RLIMIT_FSIZE, &file);
  }
  std::ofstream("/proc/self/oom_score_adj") << "1000";
}

SandboxReport EnterSandboxFor(const RunnerCommand& command) {
  constexpr std::string_view kReplay = "replay:";
  SandboxRequest request;
  request.socket = command.fd;
  request.scratch = command.options.scratch;
  request.written = {command.options.cache};
  if (command.device.rfind(kReplay, 0) == 0) {
    const std::string file = command.device.substr(kReplay.size());
    request.shown.push_back(file.substr(0, file.find('?')));
  }
  request.hidden = command.hidden;
  const std::uint64_t memory =
      command.options.memory_bytes > 0 ? command.options.memory_bytes : MemoryBytes();
  request.disk_bytes = std::clamp(memory / 8, kLeastDiskBytes, kMostDiskBytes);
  request.processes =
      kProcesses + kProcessesPerCore * static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  request.gpu = IsGpu(command.device);
  return EnterSandbox(request);
}

// What was printed while the order before was run is of no use any more: see process_child.h.
void ForgetPrints() { ::lseek(STDERR_FILENO, 0, SEEK_SET); }

class Runner {
 public:
  Runner(int fd, Device& device, SandboxReport sandbox)
      : fd_(fd), device_(device), sandbox_(std::move(sandbox)) {}

  // Until the socket closes.
  void Serve() {
    while (Wait()) {
      while (!orders_.empty()) {
        const std::string bytes = std::move(orders_.front());
        orders_.pop_front();
        ForgetPrints();
        Answer(bytes);
      }
    }
  }

 private:
  // Reads one burst of frames; false when the agent is gone.
  bool Wait() {
    char bytes[64 << 10];
    const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) return false;
    reader_.Feed({bytes, static_cast<std::size_t>(size)});
    return Sort();
  }

  // Hints go to the device at once, orders wait for their turn.
  bool Sort() {
    for (;;) {
      Result<std::optional<Frame>> frame = reader_.Next();
      if (!frame) return false;
      if (!*frame) return true;
      if ((*frame)->tag == 'O') orders_.push_back(std::move((*frame)->payload));
      if ((*frame)->tag == 'P') {
        if (Result<Prepare> hint = DecodePrepare((*frame)->payload)) device_.Prepare(*hint);
      }
    }
  }

  void Say(char tag, std::string_view payload) {
    // Without an agent there is nobody to measure for.
    if (Status written = WriteFrame(fd_, tag, payload); !written) ::_exit(kCannotRun);
  }

  void Answer(const std::string& bytes) {
    const Result<Order> order = DecodeOrder(bytes);
    if (!order) return Say('E', order.error().message);
    const Progress progress = [this](Stage stage, ArmRole arm) {
      Say('S', EncodeStage({stage, arm}));
      if (stage == Stage::kRun) return;  // nothing but the measurement runs now
      pollfd ready{fd_, POLLIN, 0};
      while (::poll(&ready, 1, 0) == 1 && Wait()) {
      }
    };
    Result<Execution> execution = device_.Execute(*order, progress);
    if (!execution) return Say('E', execution.error().message);
    Report& report = execution->report;
    report.kind = order->kind;
    report.track = order->track;
    report.generation = order->generation;
    report.attempt = order->attempt;
    report.batch = order->batch;
    report.order = Sha256(bytes);
    report.arms.clear();
    for (const Arm& arm : order->arms) report.arms.push_back(arm.role);
    // What a kernel has filled is not there for the next.
    if (IsWorn(sandbox_)) Say('W', "");
    Say('R', EncodeExecution(*execution));
  }

  const int fd_;
  Device& device_;
  const SandboxReport sandbox_;
  FrameReader reader_;
  std::deque<std::string> orders_;
};

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseCores(std::string_view text, std::vector<int>& cores) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    int core = 0;
    if (!ParseNumber(part, core)) return false;
    cores.push_back(core);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return true;
}

}  // namespace

std::vector<std::string> RunnerArguments(const RunnerCommand& command) {
  std::string cores;
  for (const int core : command.options.cores)
    cores += (cores.empty() ? "" : ",") + std::to_string(core);
  std::vector<std::string> arguments = {
      "--runner",       std::to_string(command.fd),
      "--device",       command.device,
      "--scratch",      command.options.scratch,
      "--cache",        command.options.cache,
      "--cache-bytes",  std::to_string(command.options.cache_bytes),
      "--cores",        cores,
      "--memory-bytes", std::to_string(command.options.memory_bytes),
      "--bracket",      command.options.profiler_bracket ? "1" : "0",
      "--sandbox",      std::string(Name(command.sandbox))};
  for (const std::string& folder : command.hidden) {
    arguments.push_back("--hide");
    arguments.push_back(folder);
  }
  return arguments;
}

std::optional<Result<RunnerCommand>> ParseRunnerArguments(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "--runner") return std::nullopt;
  RunnerCommand command;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    bool fine = i + 1 < argc;
    if (name == "--runner") {
      fine = fine && ParseNumber(value, command.fd) && command.fd >= 0;
    } else if (name == "--device") {
      command.device = value;
    } else if (name == "--scratch") {
      command.options.scratch = value;
    } else if (name == "--cache") {
      command.options.cache = value;
    } else if (name == "--cache-bytes") {
      fine = fine && ParseNumber(value, command.options.cache_bytes);
    } else if (name == "--cores") {
      fine = fine && ParseCores(value, command.options.cores);
    } else if (name == "--memory-bytes") {
      fine = fine && ParseNumber(value, command.options.memory_bytes);
    } else if (name == "--bracket") {
      fine = fine && (value == "0" || value == "1");
      command.options.profiler_bracket = value == "1";
    } else if (name == "--sandbox") {
      const std::optional<SandboxMode> mode = ParseSandboxMode(value);
      fine = fine && mode;
      if (mode) command.sandbox = *mode;
    } else if (name == "--hide") {
      command.hidden.emplace_back(value);
    } else {
      fine = false;
    }
    if (!fine) {
      return Result<RunnerCommand>(
          Error{"runner: argument '" + std::string(name) + "' with value '" + std::string(value) +
                    "' makes no sense; a runner is started by its worker, not by hand",
                Advice::kReject});
    }
  }
  return Result<RunnerCommand>(std::move(command));
}

int RunnerMain(const RunnerCommand& command) {
  ::fcntl(command.fd, F_SETFD, FD_CLOEXEC);  // compilers do not get it
  LimitOurselves(command.fd, command.device, command.options.memory_bytes);
  SandboxReport sandbox;
  if (command.sandbox != SandboxMode::kOff) {
    sandbox = EnterSandboxFor(command);
    if (command.sandbox == SandboxMode::kRequire && !sandbox.Whole()) {
      const std::string line = "the sandbox is not whole: " + sandbox.Missing() +
                               "; --sandbox auto works without what is missing";
      static_cast<void>(WriteFrame(command.fd, 'E', line).has_value());
      return kCannotRun;
    }
    if (!WriteFrame(command.fd, 'B', sandbox.Line())) return kCannotRun;
  }
  Result<std::unique_ptr<Device>> device = OpenDevice(command.device, command.options);
  if (!device) {
    static_cast<void>(WriteFrame(command.fd, 'E', device.error().message).has_value());
    return kCannotRun;
  }
  if (!WriteFrame(command.fd, 'F', EncodeFacts((*device)->Facts()))) return kCannotRun;
  Runner(command.fd, **device, sandbox).Serve();
  return 0;
}

}  // namespace pawl
