// The CUDA device against the stand-in driver: its logic, its checks, and every error path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/cuda/cuda_orders.h"
#include "tests/cuda/standin_test.h"
#include "worker/device/cuda/core_share.h"
#include "worker/device/cuda/driver_api.h"
#include "worker/memory_limit.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CudaDeviceTest : public StandinTest {
 protected:
  // The text does not matter to the stand-in, its name does.
  Execution RunKernel(const std::string& kernel, Instrument instrument = Instrument::kEventSpan) {
    Order order = CudaOrder(kernel, "// " + kernel + "\n");
    order.timing.instrument = instrument;
    return Run(*Open(), order);
  }
};

TEST_F(CudaDeviceTest, MeasuresThreeArmsByEventSpan) {
  const Execution execution = RunKernel("slow");
  const Report& report = execution.report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kMeasured) << report.outcome.detail;
  ASSERT_EQ(report.builds.size(), 3u);
  EXPECT_EQ(report.builds[1].registers, 40u);
  EXPECT_EQ(report.builds[1].shared_bytes, 4096u);
  EXPECT_EQ(report.builds[1].spill_bytes, 12u);
  EXPECT_THAT(report.builds[1].log, Not(HasSubstr("Compile time")));
  ASSERT_EQ(report.checks.size(), 3u);
  for (const CheckFacts& check : report.checks) {
    EXPECT_TRUE(check.passed);
    EXPECT_GE(check.elements, 6000u);  // three input sets, twice each
  }
  ASSERT_EQ(report.rounds.size(), 2u);
  for (const RoundMedians& round : report.rounds) {
    ASSERT_EQ(round.visits.size(), 3u);
    for (const VisitMedian& visit : round.visits) {
      EXPECT_NEAR(visit.median_us, visit.arm == 1 ? 50 : 10, 0.01);
      EXPECT_NEAR(visit.clock_mhz, 1500, 1);
    }
  }
  ASSERT_EQ(execution.samples.size(), 6u);
  EXPECT_EQ(execution.samples[0].us.size(), 5u);
}

TEST_F(CudaDeviceTest, BracketsTheTimedCallsForAProfilerWhereThatIsAsked) {
  static_cast<void>(RunKernel("slow"));
  EXPECT_EQ(profiled("slow"), 0u);
  DeviceOptions options = Options();
  options.profiler_bracket = true;
  const Order order = CudaOrder("slow", "// slow\n");
  const Execution execution = Run(*Open(options), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured);
  // Two rounds of five timed calls; neither checks nor warm-ups.
  ASSERT_GT(order.timing.warmup, 0u);
  EXPECT_EQ(profiled("slow"), 10u);
}

TEST_F(CudaDeviceTest, TimesAGraphOfManyCallsFreeOfItsStart) {
  const Execution execution = RunKernel("slow", Instrument::kGraphTime);
  ASSERT_EQ(execution.report.rounds.size(), 2u) << execution.report.outcome.detail;
  for (const VisitMedian& visit : execution.report.rounds[0].visits) {
    const double us = visit.arm == 1 ? 50 : 10;
    // The 5 us of a graph's start are shared by about 5 ms of calls.
    EXPECT_GT(visit.median_us, us);
    EXPECT_LT(visit.median_us, us * 1.002);
  }
  EXPECT_GE(execution.samples[0].us.size(), 4u);
}

TEST_F(CudaDeviceTest, CapturesTheTimeOfKernelsBesideACandidateThatMayBeKept) {
  ::setenv("PAWL_LIBCUPTI", PAWL_STANDIN_CUPTI, 1);
  Order order = CudaOrder("slow", "// slow\n");
  order.timing.instrument = Instrument::kGraphTime;
  EXPECT_TRUE(Run(*Open(), order).report.captures.empty()) << "slower: nothing to keep";
  // The incumbent is the slow one now.
  std::swap(order.arms[1].source, order.arms[2].source);
  std::swap(order.arms[1].launches, order.arms[2].launches);
  const std::vector<Capture> wanted = {{0, Instrument::kKernelTime, 10},
                                       {1, Instrument::kKernelTime, 10},
                                       {2, Instrument::kKernelTime, 50}};
  EXPECT_EQ(Run(*Open(), order).report.captures, wanted);
  ::setenv("PAWL_STANDIN_CUPTI", "drop", 1);
  const Execution lost = Run(*Open(), order);
  ::unsetenv("PAWL_STANDIN_CUPTI");
  EXPECT_EQ(lost.report.outcome.kind, OutcomeKind::kMeasured);
  EXPECT_TRUE(lost.report.captures.empty());
  ASSERT_EQ(lost.notes.size(), 1u);
  EXPECT_THAT(lost.notes[0], HasSubstr("CUPTI: 4 records where 5 were wanted, 1 dropped"));
}

TEST_F(CudaDeviceTest, TimesByKernelTimeAndSaysWhenRecordsAreLost) {
  ::setenv("PAWL_LIBCUPTI", PAWL_STANDIN_CUPTI, 1);
  Order order = CudaOrder("slow", "// slow\n");
  order.timing.instrument = Instrument::kKernelTime;
  const Execution execution = Run(*Open(), order);
  ASSERT_EQ(execution.report.rounds.size(), 2u) << execution.report.outcome.detail;
  for (const VisitMedian& visit : execution.report.rounds[0].visits) {
    EXPECT_EQ(visit.median_us, visit.arm == 1 ? 50 : 10);
  }
  for (const char* told : {"drop", "refuse"}) {
    ::setenv("PAWL_STANDIN_CUPTI", told, 1);
    const Result<Execution> lost = Open()->Execute(order, [](Stage, ArmRole) {});
    ::unsetenv("PAWL_STANDIN_CUPTI");
    ASSERT_FALSE(lost) << told;
    EXPECT_THAT(lost.error().message, HasSubstr("cuda: CUPTI: "));
    EXPECT_EQ(lost.error().advice, Advice::kRetry);
  }
}

TEST_F(CudaDeviceTest, RecordsWhatTheGpuWentThroughAndSetsNothing) {
  ::setenv("PAWL_LIBNVML", PAWL_STANDIN_NVML_LIBRARY, 1);
  ::setenv("PAWL_STANDIN_NVML", "reasons=4 pids=7,8", 1);
  const Execution execution = Run(*Open(), CudaOrder("slow", "// slow\n"));
  ::unsetenv("PAWL_STANDIN_NVML");
  EXPECT_EQ(execution.report.conditions, (DeviceConditions{4, 3201, 61, 412.5, 2}));
  EXPECT_EQ(execution.samples[0].conditions, (DeviceConditions{4, 3201, 61, 412.5, 0}));
  ASSERT_EQ(execution.notes.size(), 1u);
  EXPECT_THAT(execution.notes[0], HasSubstr("event=foreign_processes"));
  EXPECT_THAT(execution.notes[0], HasSubstr("pids=7,8"));
  // A throttle whose clocks held still has moved nothing.
  ::setenv("PAWL_STANDIN_NVML", "reasons=64", 1);
  EXPECT_EQ(Run(*Open(), CudaOrder("slow", "// slow\n")).report.outcome.kind,
            OutcomeKind::kMeasured);
  ::unsetenv("PAWL_STANDIN_NVML");

  void* const library = ::dlopen(PAWL_STANDIN_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  const auto asked = reinterpret_cast<const char* (*)()>(::dlsym(library, "standin_nvml_calls"));
  EXPECT_THAT(asked(), HasSubstr("nvmlDeviceGetPowerUsage"));
  EXPECT_THAT(asked(), Not(HasSubstr("Set")));
  EXPECT_THAT(asked(), Not(HasSubstr("Reset")));
}

TEST(CoreShares, GiveEachGpuACoreAndTheCompilersTheRest) {
  cpu_set_t before;
  CPU_ZERO(&before);
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<int> allowed;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &before)) allowed.push_back(core);
  }
  const CoreShare one = ShareCores({}, 0, 1);
  if (allowed.size() > 1) {
    EXPECT_EQ(one.measuring, allowed[0]);
    EXPECT_EQ(one.building.size(), allowed.size() - 1);
    EXPECT_EQ(one.builders, allowed.size() - 1);
  }
  // As many GPUs as cores: none has one to itself, and each builds on all.
  const CoreShare many = ShareCores({}, 1, allowed.size());
  EXPECT_EQ(many.measuring, std::nullopt);
  EXPECT_EQ(many.building, allowed);
  EXPECT_EQ(many.builders, 1u);
  // Named ones are this worker's alone.
  const CoreShare named = ShareCores({allowed[0]}, 3, 4);
  EXPECT_EQ(named.building, std::vector<int>{allowed[0]});
  EXPECT_TRUE(ShareCores({100'000}, 0, 1).building.empty());
}

TEST_F(CudaDeviceTest, RotatesOverCopiesForAColdCache) {
  Order order = CudaOrder("slow", "// slow\n");
  const auto device = Open();
  Run(*device, order);
  const std::uint64_t hot = memory();
  order.timing.cold_cache = true;
  for (const Instrument instrument : {Instrument::kEventSpan, Instrument::kGraphTime}) {
    order.timing.instrument = instrument;
    const Execution execution = Run(*device, order);
    EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
        << execution.report.outcome.detail;
  }
  // 8 KB a copy against three level-2 caches of 1 MiB: the most copies there may be.
  EXPECT_EQ(memory() - hot, 2 * 255u);
}

TEST_F(CudaDeviceTest, ReportsOnlyRecordedRounds) {
  Order order = CudaOrder("slow", "// slow\n");
  order.rounds[0].recorded = false;
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.rounds.size(), 1u);
  EXPECT_EQ(execution.samples.size(), 6u);
}

TEST_F(CudaDeviceTest, ChecksAnOrderWithoutRoundsAndTimesNothing) {
  Order order = CudaOrder("slow", "// slow\n");
  order.kind = OrderKind::kAudit;
  order.rounds.clear();
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured);
  EXPECT_EQ(execution.report.checks.size(), 3u);
  EXPECT_TRUE(execution.samples.empty());
}

struct Cheat {
  std::string kernel;
  std::string detail;
};

TEST_F(CudaDeviceTest, FindsWhatAKernelMustNotDo) {
  const Cheat cheats[] = {
      {"wrong_value", "out[3] is "},
      {"unwritten", "out[999] was left unwritten"},
      {"changes_input", "changed its input in[5]"},
      {"one_past_end", "wrote past the end of out: element 1000 of 1000"},
      {"before_start", "wrote before the start of out: element -1"},
      {"stale", "wrong"},
      {"skips_its_own", "wrong"},
      {"skips_unless_nan", "wrong"},
      {"skips_if_nan", "was left unwritten"},
  };
  for (const Cheat& cheat : cheats) {
    SCOPED_TRACE(cheat.kernel);
    for (const Instrument instrument : {Instrument::kEventSpan, Instrument::kGraphTime}) {
      const Report report = RunKernel(cheat.kernel, instrument).report;
      EXPECT_EQ(report.outcome.kind, OutcomeKind::kWrongOutput);
      EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
      EXPECT_THAT(report.outcome.detail, HasSubstr(cheat.detail));
      EXPECT_TRUE(report.rounds.empty());
    }
  }
}

TEST_F(CudaDeviceTest, LooksAtTheClockInMillisecondsUntilItHolds) {
  Order order = CudaOrder("slow", "// slow\n");
  order.rounds.resize(1);
  const auto device = Open();
  Run(*device, order);
  const std::uint64_t before = calls();
  Run(*device, order);
  // A look of 1 ms is 128 calls of 10 us, each with a nudge of its inputs; the next one agrees.
  EXPECT_LT(calls() - before, 2'000u);
}

TEST_F(CudaDeviceTest, BlamesTheGpuWhereAControlThatPassedBeforeFailsInAVisit) {
  Order order = CudaOrder("slow", "// slow\n");
  order.rounds.resize(1);
  order.rounds[0].visits = {{0, 1}};  // the committed kernel alone
  const auto device = Open();
  Run(*device, order);
  const std::uint64_t before = calls();
  Run(*device, order);
  fail(calls() - before - 10, kCuIllegalAddress);
  const Report report = Run(*device, order).report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kDeviceFault);
  EXPECT_EQ(report.outcome.arm, std::nullopt);
  EXPECT_THAT(report.outcome.detail, HasSubstr("which has passed its check here before"));
}

TEST_F(CudaDeviceTest, VoidsRoundsWhoseClocksAThrottleHasMoved) {
  ::setenv("PAWL_LIBNVML", PAWL_STANDIN_NVML_LIBRARY, 1);
  for (const char* reasons : {"reasons=4", "reasons=64"}) {  // the power cap, the hardware's heat
    ::setenv("PAWL_STANDIN_NVML", reasons, 1);
    const Report moved = RunKernel("throttled").report;
    EXPECT_EQ(moved.outcome.kind, OutcomeKind::kThrottled) << reasons;
    EXPECT_THAT(moved.outcome.detail, HasSubstr(" to 1500 MHz: "));
    EXPECT_TRUE(moved.rounds.empty());
    // Clocks that held still have moved nothing.
    EXPECT_EQ(RunKernel("slow").report.outcome.kind, OutcomeKind::kMeasured) << reasons;
  }
  ::unsetenv("PAWL_STANDIN_NVML");
  EXPECT_EQ(RunKernel("throttled").report.outcome.kind, OutcomeKind::kMeasured);
}

TEST_F(CudaDeviceTest, BlamesABrokenKernelForALostContext) {
  const Report report = RunKernel("breaks").report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kCrashed);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(report.outcome.detail, HasSubstr("CUDA_ERROR_700"));
}

TEST_F(CudaDeviceTest, SaysWhyACompilerRefusesASource) {
  const Execution execution = Run(*Open(), CudaOrder("slow", "PLEASE_FAIL"));
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(execution.report.outcome.arm, ArmRole::kCandidate);
  EXPECT_EQ(execution.report.outcome.detail, "kernel.cu(3): error: as asked");
}

TEST_F(CudaDeviceTest, OutlivesACompilerThatCrashes) {
  const auto device = Open();
  const Execution crashed = Run(*device, CudaOrder("slow", "PLEASE_CRASH"));
  EXPECT_EQ(crashed.report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(crashed.report.outcome.detail, "NVRTC ended by signal 11");
  const Execution next = Run(*device, CudaOrder("slow", "// slow\n"));
  EXPECT_EQ(next.report.outcome.kind, OutcomeKind::kMeasured);
}

TEST_F(CudaDeviceTest, OutlivesACompilerThatTakesAllMemory) {
  // Under a sanitizer no process may be limited: its shadow memory would count. The release build,
  // which every CI run tests, has the limit and shows this.
  if (!kLimitMemory) GTEST_SKIP() << "a limit on memory would count the sanitizer's own";
  DeviceOptions options = Options();
  options.memory_bytes = std::uint64_t{1} << 30;
  Result<std::unique_ptr<Device>> device = OpenCuda("", options);
  ASSERT_TRUE(device) << device.error().message;
  const Execution greedy = Run(**device, CudaOrder("slow", "PLEASE_TAKE_ALL_MEMORY"));
  EXPECT_EQ(greedy.report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(greedy.report.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(greedy.report.outcome.detail, HasSubstr("NVRTC ended by signal 6"));
}

TEST_F(CudaDeviceTest, RefusesALaunchThatTheGpuDoesNotAllow) {
  Order order = CudaOrder("slow", "// slow\n");
  order.arms[1].launches[0].dynamic_shared_bytes = 300'000;
  Report report = Run(*Open(), order).report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_EQ(report.outcome.detail,
            "kernel slow: 300000 B of shared memory needed, 232448 B allowed a block");
  order.arms[1].launches[0].dynamic_shared_bytes = 0;
  order.arms[1].launches[0].block = {2048, 1, 1};
  report = Run(*Open(), order).report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_THAT(report.outcome.detail, HasSubstr("a block of 2048 threads"));
}

TEST_F(CudaDeviceTest, RunsFillsAndScratchInOrder) {
  Order order = CudaOrder("slow", "// slow\n");
  order.arms[1].scratch = {{"partial", DType::kF32, 64}};
  Launch fill;
  fill.kind = LaunchKind::kMemset;
  fill.arguments = {{Argument::Kind::kScratch, 0}};
  order.arms[1].launches.insert(order.arms[1].launches.begin(), fill);
  const Execution execution = Run(*Open(), order);
  ASSERT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
  for (const VisitMedian& visit : execution.report.rounds[0].visits) {
    EXPECT_NEAR(visit.median_us, visit.arm == 1 ? 52 : 10, 0.01);
  }
}

TEST_F(CudaDeviceTest, RefusesOrdersThatMakeNoSense) {
  const auto device = Open();
  const auto refused = [&](const Order& order) {
    const Result<Execution> execution = device->Execute(order, [](Stage, ArmRole) {});
    return execution ? std::string("taken") : execution.error().message;
  };
  Order order = CudaOrder("slow", "// slow\n");
  order.backend = "host";
  EXPECT_THAT(refused(order), HasSubstr("this device runs 'cuda'"));
  order = CudaOrder("slow", "// slow\n");
  order.timing.instrument = Instrument::kWallTime;
  EXPECT_EQ(refused(order), "cuda: no instrument wall_time (have: event_span, graph_time)");
  order = CudaOrder("slow", "// slow\n");
  order.arms[1].launches[0].arguments[0].index = 9;
  EXPECT_THAT(refused(order), HasSubstr("an argument out of range"));
  order = CudaOrder("slow", "// slow\n");
  order.check.reference.reset();
  EXPECT_THAT(refused(order), HasSubstr("names no reference"));
}

TEST_F(CudaDeviceTest, GivesBackTheMemoryOfEveryOrder) {
  const auto device = Open();
  Run(*device, CudaOrder("slow", "// slow\n"));
  const std::uint64_t before = memory();
  for (int i = 0; i < 3; ++i) Run(*device, CudaOrder("slow", "// slow\n"));
  EXPECT_EQ(memory(), before);
}

TEST_F(CudaDeviceTest, NamesTheGpusWhenAskedForAnother) {
  reset(2);
  const Result<std::unique_ptr<Device>> device = OpenCuda("7", Options());
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message,
            "cuda: no GPU '7' (have: 0 Stand-in GPU GPU-00010203-0405-0607-0809-0a0b0c0d0e0f, "
            "1 Stand-in GPU GPU-10111213-1415-1617-1819-1a1b1c1d1e1f)");
  EXPECT_TRUE(OpenCuda("1", Options()));
  EXPECT_TRUE(OpenCuda("GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", Options()));
}

// Every call of opening the device and of one order fails once, in turn: no crash, and each failure
// is told, as an error or as an outcome, with the function that failed.
class EveryCallFails : public CudaDeviceTest, public ::testing::WithParamInterface<int> {};

TEST_P(EveryCallFails, IsToldAndSurvived) {
  Order order = CudaOrder("slow", "// slow\n");
  order.timing.instrument = Instrument::kGraphTime;
  order.rounds.resize(1);
  order.timing.warmup = 1;
  std::uint64_t all = 0;
  {
    const auto device = Open();
    Run(*device, order);
    all = calls();
  }
  ASSERT_GT(all, 100u);
  std::set<std::string> silent;
  std::uint64_t told = 0;
  // Calls come in runs of the same kind: each of the first ones, then some of each run.
  for (std::uint64_t call = 1; call <= all;
       call += call < 50 ? 1 : std::max<std::uint64_t>(all / 70, 1)) {
    reset(1);
    fail(call, GetParam());
    std::string line;
    Result<std::unique_ptr<Device>> device = OpenCuda("", Options());
    if (!device) {
      line = device.error().message;
    } else {
      const Result<Execution> execution = (*device)->Execute(order, [](Stage, ArmRole) {});
      if (!execution) {
        line = execution.error().message;
      } else if (execution->report.outcome.kind != OutcomeKind::kMeasured) {
        line = execution->report.outcome.detail;
        EXPECT_TRUE(execution->report.rounds.empty());
      }
    }
    const std::string function = failed();
    if (line.empty()) {
      silent.insert(function);
      continue;
    }
    ++told;
    EXPECT_THAT(line, HasSubstr("CUDA_ERROR_" + std::to_string(GetParam()))) << function;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_GT(told, 60u);
  // Whose failure changes nothing: flags that are a wish, and what is given back.
  const std::set<std::string> may_be_silent = {"",
                                               "cuDevicePrimaryCtxSetFlags_v2",
                                               "cuMemFree_v2",
                                               "cuMemFreeHost",
                                               "cuModuleUnload",
                                               "cuGraphDestroy",
                                               "cuGraphExecDestroy",
                                               "cuEventDestroy_v2",
                                               "cuDevicePrimaryCtxRelease_v2"};
  for (const std::string& function : silent) {
    EXPECT_TRUE(may_be_silent.contains(function)) << function << " failed and nobody was told";
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, EveryCallFails,
                         ::testing::Values(static_cast<int>(kCuInvalidValue),
                                           static_cast<int>(kCuOutOfMemory),
                                           static_cast<int>(kCuIllegalAddress),
                                           static_cast<int>(kCuUnknown)),
                         [](const auto& code) { return "Code" + std::to_string(code.param); });

TEST_F(CudaDeviceTest, TellsAKernelsFaultFromTheGpus) {
  const auto outcome_of = [&](int code) {
    const auto device = Open();
    const Order order = CudaOrder("slow", "// slow\n");
    Run(*device, order);
    fail(40, code);
    return Run(*device, order).report.outcome;
  };
  EXPECT_EQ(outcome_of(kCuIllegalAddress).kind, OutcomeKind::kCrashed);
  reset(1);
  const Outcome broken = outcome_of(kCuEccUncorrectable);
  EXPECT_EQ(broken.kind, OutcomeKind::kDeviceFault);
  EXPECT_FALSE(broken.arm.has_value());
}

}  // namespace
}  // namespace pawl
