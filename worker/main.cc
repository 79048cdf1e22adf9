// pawl-worker: options, signals and the loop around an agent. The same program is the runner child
// (`--runner`, worker/runner.h), which an agent starts, and what rivals' data comes from
// (`--outside`, worker/outside.h); nobody types those.

#include <fcntl.h>
#include <poll.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "schema/digest.h"
#include "schema/key_files.h"
#include "worker/agent.h"
#include "worker/clocks/clocked_child.h"
#include "worker/clocks/guardian_process.h"
#include "worker/clocks/keeper.h"
#include "worker/clocks/lease_folder.h"
#include "worker/device.h"
#include "worker/device/cuda/builder.h"
#include "worker/evidence.h"
#include "worker/link.h"
#include "worker/outside.h"
#include "worker/process_child.h"
#include "worker/runner.h"
#include "worker/sandbox/sandbox.h"
#include "worker/spool.h"

namespace pawl {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitFailed = static_cast<int>(AgentEnd::kFailed);
constexpr std::int64_t kSlotWaitMs = 5'000;  // for a worker that was killed a moment ago to be gone
constexpr std::int64_t kSlotPauseMs = 50;
constexpr int kMostClockMhz = 20'000;

struct Options {
  std::string endpoint;
  std::string server_key;
  std::string keys;
  std::string host;
  std::string device = "host";
  std::uint32_t slot = 0;
  std::string state;
  std::string cores;
  std::uint64_t evidence_mb = 1'024;
  std::uint64_t cache_mb = 2'048;
  std::uint32_t orders_per_runner = 0;
  bool bracket = false;
  std::string sandbox = std::string(Name(SandboxMode::kOff));
  std::string clocks = std::string(Name(ClockMode::kObserve));
  std::string clock_mhz = "base";
  std::uint32_t memory_clock_mhz = 0;
  std::string clock_leases = DefaultLeaseFolder();
  bool reset_clocks = false;
  bool list_devices = false;
  bool peaks = false;
  bool json = false;
  bool verbose = false;
};

int Fail(const std::string& line, int code = kExitFailed) {
  std::fprintf(stderr, "pawl-worker: %s\n", line.c_str());
  return code;
}

std::int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

// "0-3,6" -> 0 1 2 3 6.
Result<std::vector<int>> ParseCores(std::string_view text) {
  const Error wrong{"--cores \"" + std::string(text) +
                    "\": wanted numbers and ranges, as in 0-3,6"};
  std::vector<int> cores;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    int first = 0, last = 0;
    const char* const end = part.data() + part.size();
    auto [at, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc() || first < 0) return wrong;
    last = first;
    if (at != end) {
      if (*at != '-') return wrong;
      const auto range = std::from_chars(at + 1, end, last);
      if (range.ec != std::errc() || range.ptr != end) return wrong;
    }
    if (last < first || last >= 4'096) return wrong;
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// "replay:data/gemm.csv.gz?seed=1" -> "replay-gemm.csv.gz": a word for ids, the same at every
// start.
std::string Slug(const std::string& device) {
  std::string name = device.substr(0, device.find('?'));
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    const std::string rest = name.substr(colon + 1);
    name = name.substr(0, colon) + "-" + rest.substr(rest.rfind('/') + 1);
  }
  for (char& c : name) {
    if (c <= ' ' || c > '~' || c == '/') c = '_';
  }
  return name.substr(0, 40);
}

Result<BootId> DrawBootId() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    return Error{std::string("getrandom: ") + std::strerror(errno)};
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(bits));
  return BootId(hex);
}

std::string DefaultState() {
  if (const char* folder = std::getenv("XDG_STATE_HOME"); folder && *folder) {
    return std::string(folder) + "/pawl";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return std::string(home) + "/.local/state/pawl";
  }
  return "pawl-state";
}

int ListTheDevices(const Options& options) {
  for (DeviceListing& device : ListDevices(options.peaks)) {
    if (!device.facts.uuid.empty()) {
      const std::string held = WhoHolds(options.clock_leases, device.facts.uuid);
      device.notes.push_back("clocks: " + (held.empty() ? "observed, nobody pins them" : held));
    }
    const DeviceFacts& facts = device.facts;
    if (!options.json) {
      std::printf("%-8s %s\n", device.name.c_str(),
                  device.problem.empty() ? (facts.model + "; " + facts.toolchain).c_str()
                                         : device.problem.c_str());
      for (const std::string& note : device.notes) std::printf("         %s\n", note.c_str());
      continue;
    }
    nlohmann::ordered_json json;
    json["name"] = device.name;
    json["kind"] = facts.kind;
    json["model"] = facts.model;
    json["uuid"] = facts.uuid;
    json["toolchain"] = facts.toolchain;
    json["backend"] = facts.backend;
    json["instruments"] = nlohmann::json::array();
    for (const Instrument instrument : facts.instruments) {
      json["instruments"].push_back(std::string(Name(instrument)));
    }
    json["cores"] = facts.cores;
    json["peak_gflops"] = facts.peak_gflops;
    json["peak_gbytes_per_s"] = facts.peak_gbytes_per_s;
    json["memory_bytes"] = device.memory_bytes;
    json["notes"] = device.notes;
    json["problem"] = device.problem;
    std::printf("%s\n",
                json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  return 0;
}

// None: no --server-key.
Result<std::optional<LinkKeys>> ReadKeys(const Options& options) {
  if (options.server_key.empty()) return std::optional<LinkKeys>();
  auto server = PublicKeyOrFile(options.server_key);
  if (!server) return Error{"--server-key: " + server.error().message};
  auto own = ReadSecretKey(options.keys.empty() ? DefaultKeyFolder() : options.keys);
  if (!own) return own.error();
  return std::optional<LinkKeys>(LinkKeys{*server, *own});
}

Result<std::unique_ptr<Spool>> OpenSpool(const Options& options) {
  const std::string folder = options.state + "/spool/" + std::to_string(options.slot);
  const std::int64_t until = NowMs() + kSlotWaitMs;
  while (true) {
    Result<std::unique_ptr<Spool>> spool = Spool::Open(folder);
    if (spool || spool.error().advice != Advice::kRetry || NowMs() >= until) return spool;
    poll(nullptr, 0, kSlotPauseMs);
  }
}

// "base" or a number.
Result<std::uint32_t> ParseClockMhz(std::string_view text) {
  std::uint32_t mhz = 0;
  if (text == "base") return kBaseClock;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, mhz);
  if (error == std::errc() && at == end && mhz >= 1 && mhz <= kMostClockMhz) return mhz;
  return Error{"--clock-mhz \"" + std::string(text) + "\": wanted \"base\" or MHz, 1 to " +
               std::to_string(kMostClockMhz)};
}

// Profilers and sanitizers of GPUs speak by sockets and files with what they put into the runner.
bool IsUnderATool() {
  for (const char* const variable :
       {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NV_SANITIZER_INJECTION_PORT_BASE"}) {
    if (const char* value = std::getenv(variable); value && *value) return true;
  }
  const char* const preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, "Injection") != nullptr;
}

// Two workers of one name would be taken for one that was started again, by turns, and neither
// would finish anything. So a name is taken by an abstract socket, which goes with its process; one
// for each coordinator, as workers of other coordinators may have the same. Returns its descriptor.
Result<int> TakeName(const WorkerId& worker, const std::string& endpoint) {
  const int taken = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (taken < 0) return Error{std::string("socket: ") + std::strerror(errno)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name =
      "pawl-worker/" + Sha256(worker.value + '\n' + endpoint).Hex();  // a first byte of 0: abstract
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const std::int64_t until = NowMs() + kSlotWaitMs;
  while (bind(taken, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno != EADDRINUSE || NowMs() >= until) {
      const std::string why = errno == EADDRINUSE ? "a worker of that name is there already; give "
                                                    "this one another --slot"
                                                  : std::strerror(errno);
      close(taken);
      return Error{"worker " + worker.value + " at " + endpoint + ": " + why};
    }
    poll(nullptr, 0, kSlotPauseMs);
  }
  return taken;
}

// Signals come as reads of a descriptor; nothing is interrupted. Before any thread is started.
int StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&stops, number);
  sigprocmask(SIG_BLOCK, &stops, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
}

int Work(const Options& options) {
  const int signals = StopSignals();
  if (signals < 0) return Fail(std::string("signalfd: ") + std::strerror(errno));

  if (options.bracket && options.device.rfind("cuda", 0) != 0) {
    return Fail("--bracket: device " + options.device + " has no profiler; a GPU is wanted",
                kExitUsage);
  }
  const Result<std::vector<int>> cores = ParseCores(options.cores);
  if (!cores) return Fail(cores.error().message, kExitUsage);
  const Result<std::uint32_t> clock_mhz = ParseClockMhz(options.clock_mhz);
  if (!clock_mhz) return Fail(clock_mhz.error().message, kExitUsage);
  const Result<BootId> boot = DrawBootId();
  if (!boot) return Fail(boot.error().message);
  const Result<std::optional<LinkKeys>> keys = ReadKeys(options);
  if (!keys) return Fail(keys.error().message);
  Result<std::unique_ptr<Link>> link = ConnectLink(options.endpoint, *keys);
  if (!link) return Fail(link.error().message);
  Result<std::unique_ptr<Spool>> spool = OpenSpool(options);
  if (!spool) return Fail(spool.error().message);
  std::unique_ptr<Evidence> evidence;
  if (options.evidence_mb > 0) {
    auto opened = Evidence::Open(options.state + "/evidence", options.evidence_mb << 20);
    if (!opened) return Fail(opened.error().message);
    evidence = std::move(*opened);
  }

  ProcessChildOptions runner;
  runner.device = options.device;
  runner.device_options.scratch = options.state + "/scratch-" + std::to_string(options.slot);
  runner.device_options.cache = options.state + "/cache";
  runner.device_options.cache_bytes = options.cache_mb << 20;
  runner.device_options.cores = *cores;
  runner.device_options.profiler_bracket = options.bracket;
  runner.sandbox = *ParseSandboxMode(options.sandbox);
  if (runner.sandbox == SandboxMode::kAuto && (options.bracket || IsUnderATool())) {
    runner.sandbox = SandboxMode::kOff;
  }
  runner.hidden = {DefaultKeyFolder()};
  if (!options.keys.empty()) runner.hidden.push_back(options.keys);
  runner.on_sandbox = [](const std::string& line) { spdlog::info("event=sandbox {}", line); };
  if (runner.sandbox == SandboxMode::kOff) spdlog::info("event=sandbox on=nothing");
  const std::unique_ptr<Child> process = MakeProcessChild(runner);
  KeeperOptions keeping;
  keeping.leases = options.clock_leases;
  keeping.gpu_mhz = *clock_mhz;
  keeping.memory_mhz = options.memory_clock_mhz;
  const std::unique_ptr<ClockKeeper> keeper = MakeProcessKeeper(keeping);
  ClockedChild child(*process, *keeper, *ParseClockMode(options.clocks),
                     [](const std::string& line) { spdlog::warn("{}", line); });

  AgentOptions agent_options;
  agent_options.host = options.host.empty() ? HostName() : options.host;
  agent_options.worker = WorkerId(agent_options.host.substr(0, 64) + "/" + Slug(options.device) +
                                  "/" + std::to_string(options.slot));
  agent_options.boot = *boot;
  const Result<int> name = TakeName(agent_options.worker, options.endpoint);  // until we end
  if (!name) return Fail(name.error().message);
  agent_options.version = PAWL_VERSION;
  agent_options.reorders_per_child = options.orders_per_runner;
  spdlog::info("event=start worker={} boot={} version={} connect={} state={}",
               agent_options.worker.value, boot->value, PAWL_VERSION, options.endpoint,
               options.state);

  Agent agent(agent_options, **link, child, **spool, evidence.get());
  agent.Start(NowMs());
  while (agent.ended() == AgentEnd::kRunning) {
    const std::int64_t next = std::min(agent.NextDeadline(), keeper->NextBeat());
    std::int64_t wait = std::clamp<std::int64_t>(next - NowMs(), 0, 3'600'000);
    if ((*link)->Ready()) wait = 0;
    pollfd ready[] = {{signals, POLLIN, 0},
                      {(*link)->fd(), POLLIN, 0},
                      {child.fd(), POLLIN, 0},
                      {keeper->fd(), POLLIN, 0}};
    poll(ready, std::size(ready), static_cast<int>(wait));
    signalfd_siginfo signal{};
    while (read(signals, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      spdlog::info("event=signal number={}", signal.ssi_signo);
      agent.OnStop(NowMs());
    }
    if (const std::optional<std::string> lost = keeper->Tend(NowMs())) {
      spdlog::warn("event=clocks_lost why=\"{}\"", *lost);
      agent.OnDisturbed(NowMs(), "the clocks are not held any more: " + *lost);
    }
    const std::int64_t now = NowMs();
    if (now >= agent.NextDeadline()) {
      agent.OnTick(now);
    } else {
      agent.OnReadable(now);
    }
  }
  keeper->Release();
  spdlog::info("event=end code={}", static_cast<int>(agent.ended()));
  if (agent.ended() == AgentEnd::kDone) return 0;
  return Fail(agent.why(), static_cast<int>(agent.ended()));
}

int Main(int argc, char** argv) {
  if (const std::optional<int> code = BuilderMain(argc, argv)) return *code;
  if (const auto command = ParseRunnerArguments(argc, argv)) {
    if (!*command) return Fail(command->error().message, kExitUsage);
    return RunnerMain(**command);
  }

  if (const auto command = ParseGuardianArguments(argc, argv)) {
    if (!*command) return Fail(command->error().message, kExitUsage);
    return GuardianMain(**command);
  }
  if (const auto command = ParseOutsideArguments(argc, argv)) {
    if (!*command) return Fail(command->error().message, kExitUsage);
    return OutsideMain(**command);
  }

  Options options;
  options.state = DefaultState();
  CLI::App app("Measures what a pawl coordinator asks for, on one device.", "pawl-worker");
  app.set_version_flag("--version", std::string("pawl-worker ") + PAWL_VERSION);
  app.set_config("--config", "", "file of these options, name = value, a line each");
  app.add_option("--connect", options.endpoint,
                 "ipc:///PATH or tcp://127.0.0.1:PORT of the coordinator; with --server-key any "
                 "tcp://ADDRESS:PORT");
  app.add_option("--server-key", options.server_key,
                 "the coordinator's public key, or a file with it");
  app.add_option("--keys", options.keys,
                 "folder of this host's own key (pawl keys new); default: " + DefaultKeyFolder());
  app.add_option("--host", options.host,
                 "the name that the coordinator allows this host's key under (default: its own)");
  app.add_option("--device", options.device,
                 "host, cuda, cuda:NUMBER, cuda:UUID, emulated:sm_89, or replay:FILE")
      ->capture_default_str();
  app.add_option("--slot", options.slot, "number that tells workers of one state folder apart")
      ->capture_default_str()
      ->check(CLI::Range(0, 65'535));
  app.add_option("--state", options.state, "folder of spool, evidence and cache")
      ->capture_default_str();
  app.add_option("--cores", options.cores,
                 "cores to measure on, as in 0-3,6 (default: all allowed ones)");
  app.add_option("--evidence-mb", options.evidence_mb, "raw samples kept, at most; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--cache-mb", options.cache_mb, "objects and reference outputs kept, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--orders-per-runner", options.orders_per_runner,
                 "a fresh process after this many orders; 0: only when one is needed")
      ->capture_default_str();
  app.add_flag("--bracket", options.bracket,
               "a GPU's timed calls between the profiler's start and stop calls");
  app.add_option("--sandbox", options.sandbox,
                 "what kernels may reach: auto: nothing but their scratch, as far as the system can "
                 "see to it; require: or do not work; off: all that this user may")
      ->capture_default_str()
      ->envname("PAWL_SANDBOX")
      ->check(CLI::IsMember({"auto", "require", "off"}));
  app.add_option(
         "--clocks", options.clocks,
         "a GPU's clocks: observe; pin: hold them where that is allowed; require-pinned: or "
         "do not work")
      ->capture_default_str()
      ->check(CLI::IsMember({"observe", "pin", "require-pinned"}));
  app.add_option("--clock-mhz", options.clock_mhz, "what they are pinned at, or base")
      ->capture_default_str();
  app.add_option("--memory-clock-mhz", options.memory_clock_mhz,
                 "what the memory's clock is pinned at with them; 0: left alone")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostClockMhz));
  app.add_option("--clock-leases", options.clock_leases,
                 "folder of the records of what is pinned, one for all workers of a machine")
      ->capture_default_str();
  app.add_flag("--reset-clocks", options.reset_clocks,
               "reset the clocks that workers which were killed have left pinned, and exit");
  app.add_flag("--list-devices", options.list_devices,
               "what this machine can measure on, and exit");
  app.add_flag("--json", options.json, "with --list-devices: one JSON object a line");
  app.add_flag(
      "--peaks", options.peaks,
      "with --list-devices: what the host reaches at best too, which takes about a second");
  app.add_flag("--verbose", options.verbose, "log every order and report");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Fail(std::string(error.what()) + "; see pawl-worker --help", kExitUsage);
  }
  if (options.list_devices) return ListTheDevices(options);
  if (options.reset_clocks) return ResetClocksMain(options.clock_leases);
  if (options.endpoint.empty())
    return Fail("--connect is missing; see pawl-worker --help", kExitUsage);
  if (!options.keys.empty() && options.server_key.empty()) {
    return Fail("--keys needs --server-key, the coordinator's public key", kExitUsage);
  }
  if (!options.host.empty()) {
    if (const Status named = CheckHostName(options.host); !named) {
      return Fail("--host: " + named.error().message, kExitUsage);
    }
  }

  auto log = spdlog::stderr_logger_st("pawl-worker");
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l slot=" + std::to_string(options.slot) + " %v");
  log->set_level(options.verbose ? spdlog::level::debug : spdlog::level::info);
  spdlog::set_default_logger(log);
  return Work(options);
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  try {
    return pawl::Main(argc, argv);
  } catch (const std::exception& error) {
    return pawl::Fail(std::string("unexpected: ") + error.what());
  }
}
