// The guardian as a process over the stand-in of NVML: killed at every step, told to end in every
// way, refused.

#include "worker/clocks/guardian_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/clocks/nvml_world.h"

namespace pawl::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A guardian, and the worker's end of its socket.
class StartedGuardian {
 public:
  StartedGuardian(GuardianCommand command, const std::vector<std::string>& environment,
                  const std::string& errors = "") {
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    command.fd = ends[1];
    std::vector<std::string> arguments = GuardianArguments(command);
    arguments.insert(arguments.begin(), Program("pawl-worker"));
    process_ = std::make_unique<Process>(arguments, errors, environment);
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~StartedGuardian() { CloseSocket(); }

  void Say(const std::string& message) const {
    CHECK(::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) >= 0);
  }
  // The next message; "": the guardian has closed its end, or says nothing.
  std::string Hear() const {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, kPatienceMs) != 1) return {};
    char message[8'192];
    const ssize_t size = ::recv(socket_, message, sizeof message, 0);
    return std::string(message, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  void CloseSocket() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  Process& process() { return *process_; }

 private:
  std::unique_ptr<Process> process_;
  int socket_ = -1;
};

class GuardianProcess : public NvmlWorld {
 protected:
  GuardianCommand Command(const std::string& gpu = kGpu0) const {
    GuardianCommand command;
    command.request = {gpu, 1'200, 5'001};
    command.leases = leases_.path();
    command.lost_ms = 600'000;
    return command;
  }
  StartedGuardian Start(const std::string& told = "") const {
    return StartedGuardian(Command(), Environment(told));
  }
};

TEST(GuardianArguments, ComeBack) {
  GuardianCommand command;
  command.fd = 5;
  command.request = {"GPU-1", 1'500, 9'501};
  command.leases = "/run/some where/clocks";
  command.lost_ms = 90'000;
  std::vector<std::string> arguments = GuardianArguments(command);
  arguments.insert(arguments.begin(), "pawl-worker");
  const auto parse = [](const std::vector<std::string>& all) {
    std::vector<const char*> argv;
    for (const std::string& one : all) argv.push_back(one.c_str());
    return ParseGuardianArguments(static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(**parse(arguments), command);
  EXPECT_EQ(parse({"pawl-worker", "--connect"}), std::nullopt);
  EXPECT_EQ(parse({"pawl-worker"}), std::nullopt);
  EXPECT_FALSE(*parse({"pawl-worker", "--clock-guardian"}));
  for (const std::size_t number : {2, 4, 5, 6}) {
    std::vector<std::string> wrong = arguments;
    wrong[number] = "x";
    EXPECT_FALSE(*parse(wrong)) << number;
  }
}

TEST_F(GuardianProcess, HoldsBothClocksUntilItsWorkerIsGone) {
  StartedGuardian guardian = Start();
  EXPECT_EQ(guardian.Hear(), "pinned 1200 5001 ");
  EXPECT_EQ(Locked(kGpu0), 1'200u);
  EXPECT_EQ(Locked(kGpu0, "memory"), 5'001u);
  ASSERT_TRUE(Lease());
  EXPECT_EQ(Lease()->pid, guardian.process().pid());
  EXPECT_EQ(Lease()->reads_mhz, 1'200u);
  guardian.CloseSocket();
  EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
  EXPECT_TRUE(ComesFree());
}

TEST_F(GuardianProcess, LetsGoWhenItIsToldTo) {
  StartedGuardian guardian = Start();
  EXPECT_THAT(guardian.Hear(), StartsWith("pinned "));
  guardian.Say("beat");
  guardian.Say("end");
  EXPECT_EQ(guardian.Hear(), "ending its worker ends");
  EXPECT_EQ(guardian.Hear(), "");  // closed only once the clocks are reset
  EXPECT_EQ(Locked(kGpu0), 0u);
  EXPECT_EQ(Lease(), std::nullopt);
  EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
}

TEST_F(GuardianProcess, LetsGoOnASignal) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    StartedGuardian guardian = Start();
    EXPECT_THAT(guardian.Hear(), StartsWith("pinned "));
    guardian.process().Signal(signal);
    EXPECT_EQ(guardian.Hear(), "ending signal " + std::to_string(signal));
    EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
    EXPECT_TRUE(ComesFree());
  }
}

TEST_F(GuardianProcess, LetsGoOfAWorkerThatIsSilent) {
  GuardianCommand command = Command();
  command.lost_ms = 200;
  StartedGuardian guardian(command, Environment());
  EXPECT_THAT(guardian.Hear(), StartsWith("pinned "));
  EXPECT_THAT(guardian.Hear(), StartsWith("ending its worker has said nothing for "));
  EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
  EXPECT_TRUE(ComesFree());
}

TEST_F(GuardianProcess, SaysWhatIsRefusedAndLeavesNothing) {
  const std::pair<std::string, std::string> refusals[] = {
      {"deny=4", "refused NVML: nvmlDeviceSetGpuLockedClocks to 1200 MHz: as told; root is needed"},
      {"deny=3", "no such setting"},
      {"deny=2", "it is not a clock of this GPU"},
  };
  for (const auto& [told, line] : refusals) {
    StartedGuardian guardian = Start(told);
    EXPECT_THAT(guardian.Hear(), AllOf(StartsWith("refused "), HasSubstr(line)));
    EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
    EXPECT_EQ(Lease(), std::nullopt);
  }
  EXPECT_EQ(Count("nvmlDeviceReset"), 0u);
}

TEST_F(GuardianProcess, HoldsOneClockWhereTheOtherIsRefused) {
  StartedGuardian guardian = Start("deny_memory=3");
  EXPECT_THAT(guardian.Hear(),
              AllOf(StartsWith("pinned 1200 0 the memory clock of "), HasSubstr("is not pinned")));
  guardian.CloseSocket();
  EXPECT_EQ(guardian.process().Wait(kPatienceMs), 0);
  EXPECT_TRUE(ComesFree());
  EXPECT_EQ(Count("nvmlDeviceResetMemoryLockedClocks"), 0u);
}

TEST_F(GuardianProcess, SaysThatThereIsNoNvml) {
  std::vector<std::string> environment = Environment();
  environment[0] = "PAWL_LIBNVML=/nonexistent";
  StartedGuardian guardian(Command(), environment);
  EXPECT_THAT(guardian.Hear(), StartsWith("refused no NVML: "));
}

TEST_F(GuardianProcess, OfTwoGpusResetsItsOwn) {
  StartedGuardian first = Start();
  StartedGuardian second(Command(kGpu1), Environment());
  EXPECT_THAT(first.Hear(), StartsWith("pinned "));
  EXPECT_THAT(second.Hear(), StartsWith("pinned "));
  first.process().Signal(SIGKILL);
  EXPECT_EQ(first.process().Wait(kPatienceMs), 128 + SIGKILL);
  const Finished reset = ResetClocks();
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_THAT(reset.out, HasSubstr(std::string(kGpu1) + " at 5001 MHz is held by process "));
  EXPECT_TRUE(ComesFree(kGpu0));
  EXPECT_EQ(Locked(kGpu1), 1'200u);
  ASSERT_TRUE(Lease(kGpu1));
  second.CloseSocket();
  EXPECT_TRUE(ComesFree(kGpu1));
}

// Where a guardian stands when it is killed.
struct Step {
  const char* name;
  const char* told;     // to the stand-in, which holds it there
  const char* call;     // that it has then made
  bool worker_is_gone;  // it is letting go
  bool lease, locked, memory_locked;
};
const Step kSteps[] = {
    {"BeforeItsLease", "hang_before=nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByUUID", false,
     false, false, false},
    {"BetweenLeaseAndLock", "hang_before=nvmlDeviceSetGpuLockedClocks",
     "nvmlDeviceSetGpuLockedClocks", false, true, false, false},
    {"AfterTheLock", "hang_after=nvmlDeviceSetGpuLockedClocks", "locked", false, true, true, false},
    {"BeforeTheMemorysLock", "hang_before=nvmlDeviceSetMemoryLockedClocks",
     "nvmlDeviceSetMemoryLockedClocks", false, true, true, false},
    {"AfterTheMemorysLock", "hang_after=nvmlDeviceSetMemoryLockedClocks", "locked ", false, true,
     true, true},
    {"WhileItHolds", "", "nvmlDeviceSetMemoryLockedClocks", false, true, true, true},
    {"BeforeTheReset", "hang_before=nvmlDeviceResetGpuLockedClocks",
     "nvmlDeviceResetGpuLockedClocks", true, true, true, true},
    {"BetweenTheResets", "hang_after=nvmlDeviceResetGpuLockedClocks", "reset", true, true, false,
     true},
    {"AfterTheResets", "hang_after=nvmlDeviceResetMemoryLockedClocks",
     "nvmlDeviceResetMemoryLockedClocks", true, true, false, false},
};

class KilledGuardian : public GuardianProcess,
                       public ::testing::WithParamInterface<std::tuple<Step, bool>> {};

TEST_P(KilledGuardian, LeavesWhatIsFoundAndResetAndNothingElse) {
  const auto& [step, by_guardian] = GetParam();
  const std::string told = step.told;
  {
    StartedGuardian guardian = Start(told);
    if (step.worker_is_gone || told.empty()) {
      ASSERT_THAT(guardian.Hear(), StartsWith("pinned "));
    }
    if (step.worker_is_gone) guardian.CloseSocket();
    ASSERT_TRUE(ComesTo([&, state = &step] {
      return Count(state->call) > 0 && (Locked(kGpu0) != 0) == state->locked &&
             (Locked(kGpu0, "memory") != 0) == state->memory_locked;
    }));
    guardian.process().Signal(SIGKILL);
    ASSERT_EQ(guardian.process().Wait(kPatienceMs), 128 + SIGKILL);
  }
  EXPECT_EQ(Lease().has_value(), step.lease);
  EXPECT_EQ(Locked(kGpu0) != 0, step.locked);
  const std::size_t resets = Count("nvmlDeviceReset");
  if (by_guardian) {
    StartedGuardian next = Start();
    EXPECT_THAT(next.Hear(), StartsWith("pinned 1200 5001 "));
    next.CloseSocket();
    EXPECT_EQ(next.process().Wait(kPatienceMs), 0);
  } else {
    const Finished reset = ResetClocks();
    EXPECT_EQ(reset.code, 0) << reset.err;
    EXPECT_THAT(reset.out, HasSubstr(step.lease ? ": reset\n" : "nothing to reset\n"));
    if (!step.lease) {
      EXPECT_EQ(Count("nvmlDeviceReset"), resets);
    }
  }
  EXPECT_TRUE(ComesFree());
}

INSTANTIATE_TEST_SUITE_P(AtEveryStep, KilledGuardian,
                         ::testing::Combine(::testing::ValuesIn(kSteps), ::testing::Bool()),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) +
                                  (std::get<1>(one.param) ? "ThenTheNext" : "ThenReset");
                         });

class ResetClocksProgram : public GuardianProcess {
 protected:
  // A lease of a process that is gone: this one's child, reaped.
  ClockLease LeaveALease() {
    LeaseFolder leases(leases_.path());
    CHECK(leases.Make());
    const Result<Machine> machine = ThisMachine();
    ClockLease lease;
    lease.gpu = kGpu0;
    lease.boot = machine->boot;
    lease.pid = ::getpid();
    lease.pid_start = machine->start_of(::getpid()).value() + 1;  // this number, another process
    lease.gpu_mhz = 1'200;
    CHECK(leases.Write(lease));
    return lease;
  }
};

TEST_F(ResetClocksProgram, HasNothingToDoWhereNothingWasPinned) {
  std::vector<std::string> environment = Environment();
  environment[0] = "PAWL_LIBNVML=/nonexistent";  // nor is a driver needed for it
  const Finished reset =
      RunToEnd({Program("pawl-worker"), "--reset-clocks"}, kPatienceMs, environment);
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_EQ(reset.out, "pawl-worker: no clock lease in " + leases_.path() + ": nothing to reset\n");
}

TEST_F(ResetClocksProgram, ResetsALeaseWhoseProcessNumberIsAnothersNow) {
  LeaveALease();
  const Finished reset = ResetClocks();
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_EQ(reset.out, "pawl-worker: the clock of " + std::string(kGpu0) +
                           " at 1200 MHz, left by process " + std::to_string(::getpid()) +
                           ": reset\n");
  EXPECT_EQ(Count("nvmlDeviceResetGpuLockedClocks"), 1u);
  EXPECT_EQ(Count("nvmlDeviceResetMemoryLockedClocks"), 0u);
  EXPECT_EQ(Lease(), std::nullopt);
}

TEST_F(ResetClocksProgram, ForgetsALeaseOfAnotherBoot) {
  ClockLease lease = LeaveALease();
  lease.boot = "00000000-0000-0000-0000-000000000000";
  LeaseFolder leases(leases_.path());
  ASSERT_TRUE(leases.Write(lease));
  const Finished reset = ResetClocks();
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_THAT(reset.out, HasSubstr("before the machine was started: nothing to reset"));
  EXPECT_EQ(Count("nvml"), 0u);
  EXPECT_EQ(Lease(), std::nullopt);
}

TEST_F(ResetClocksProgram, LeavesALiveGuardianItsLock) {
  StartedGuardian guardian = Start();
  ASSERT_THAT(guardian.Hear(), StartsWith("pinned "));
  const Finished reset = ResetClocks();
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_THAT(reset.out, HasSubstr("is held by process " +
                                   std::to_string(guardian.process().pid()) + ": left as it is"));
  EXPECT_EQ(Count("nvmlDeviceReset"), 0u);
  EXPECT_EQ(Locked(kGpu0), 1'200u);
}

TEST_F(ResetClocksProgram, SaysWhatItCannotResetAndKeepsTheLease) {
  LeaveALease();
  const Finished reset = ResetClocks("deny=4");
  EXPECT_EQ(reset.code, 3);
  EXPECT_EQ(reset.err, "pawl-worker: the clock of " + std::string(kGpu0) +
                           " at 1200 MHz, left by process " + std::to_string(::getpid()) +
                           ": NVML: nvmlDeviceResetGpuLockedClocks: as told; root is needed\n");
  EXPECT_TRUE(Lease());
}

}  // namespace
}  // namespace pawl::test
