#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "schema/codec.h"
#include "tests/support/places.h"
#include "tests/worker/faults.h"
#include "worker/device.h"
#include "worker/device/host/host_device.h"
#include "worker/device/host/machine.h"

namespace pawl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class HostDeviceTest : public ::testing::Test {
 protected:
  static DeviceOptions Options() {
    static const test::TempFolder folder;
    DeviceOptions options;
    options.scratch = folder.path();
    options.cache = CacheOfAllTests();
    return options;
  }

  static std::unique_ptr<Device> Open() {
    Result<std::unique_ptr<Device>> device = OpenHost(Options());
    CHECK(device, device.error().message);
    return std::move(*device);
  }

  static Execution Run(Device& device, const Order& order,
                       std::vector<std::pair<Stage, ArmRole>>* stages = nullptr) {
    Result<Execution> execution = device.Execute(order, [&](Stage stage, ArmRole arm) {
      if (stages != nullptr) stages->emplace_back(stage, arm);
    });
    EXPECT_TRUE(execution) << execution.error().message;
    return execution ? std::move(*execution) : Execution{};
  }

  // A source with a text of its own in the place of the candidate.
  static Order WithCandidate(const std::string& kernel, const std::string& text) {
    Order order = FaultOrder("slow");
    order.sources[2] = {kernel + ".cc", Sha256(text), text, {}};
    order.arms[1].launches = {test::DoubleLaunch(kernel)};
    return order;
  }
};

TEST_F(HostDeviceTest, BuildsChecksAndRunsInThatOrderAndSaysSo) {
  const auto device = Open();
  std::vector<std::pair<Stage, ArmRole>> stages;
  const Execution execution = Run(*device, FaultOrder("slow"), &stages);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
  ASSERT_GE(stages.size(), 10u);
  EXPECT_EQ(stages.front(), std::make_pair(Stage::kBuild, ArmRole::kCommitted));
  for (std::size_t i = 1; i < stages.size(); ++i) EXPECT_GE(stages[i].first, stages[i - 1].first);
  EXPECT_GT(execution.report.build_seconds, 0);
  EXPECT_GT(execution.report.check_seconds, 0);
  EXPECT_GT(execution.report.run_seconds, 0);
}

// What the machine does beside it only makes a visit slower, so each arm's fastest visit is the arm's own.
TEST_F(HostDeviceTest, TellsAKernelOfFiveTimesTheWork) {
  for (const Instrument instrument : {Instrument::kCpuTime, Instrument::kWallTime}) {
    Order order = FaultOrder("slow", 20'000);
    order.timing.instrument = instrument;
    order.timing.iterations = 15;
    order.rounds.resize(12, order.rounds.front());
    const Execution execution = Run(*Open(), order);
    ASSERT_EQ(execution.report.rounds.size(), 12u);
    double us[3] = {1e9, 1e9, 1e9};
    for (const RoundMedians& round : execution.report.rounds) {
      for (const VisitMedian& visit : round.visits) {
        us[visit.arm] = std::min(us[visit.arm], visit.median_us);
      }
    }
    EXPECT_GT(us[1] / us[0], 2.5) << Name(instrument) << " " << us[0] << " " << us[1];
    EXPECT_LT(us[2] / us[0], 2.0) << Name(instrument) << " " << us[0] << " " << us[2];
  }
}

TEST_F(HostDeviceTest, TimesAKernelShorterThanItsClockIsFineCallByCall) {
  Order order = FaultOrder("slow", 16);
  const Execution execution = Run(*Open(), order);
  ASSERT_FALSE(execution.report.rounds.empty());
  for (const VisitMedian& visit : execution.report.rounds[0].visits) {
    EXPECT_GT(visit.median_us, 0.001);
    EXPECT_LT(visit.median_us, 5);
  }
}

TEST_F(HostDeviceTest, RunsBurnInRoundsAndReportsOnlyRecordedOnes) {
  Order order = FaultOrder("slow");
  order.rounds[0].recorded = false;
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.rounds.size(), 1u);
  ASSERT_EQ(execution.samples.size(), 6u);
  EXPECT_FALSE(execution.samples[0].recorded);
  EXPECT_TRUE(execution.samples[3].recorded);
}

TEST_F(HostDeviceTest, RotatesOverCopiesForAColdCache) {
  // Right for ever only if it is called on more than one copy.
  const std::string text =
      "#include <cstdint>\nextern \"C\" void wants_two(const float* in, float* out, std::int64_t "
      "n) "
      "{\n"
      "  static const float* const first = out;\n"
      "  static int calls = 0;\n"
      "  static bool another = false;\n"
      "  if (out != first) another = true;\n"
      "  const bool right = ++calls <= 6 || another;\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = right ? 2.0f * in[i] + 1.0f : 0.0f;\n}\n";
  Order order = WithCandidate("wants_two", text);
  for (Buffer& buffer : order.buffers) buffer.extents = {400'000};
  order.scalars[0].value = 400'000;
  order.timing.warmup = 0;
  order.timing.iterations = 3;
  order.timing.cold_cache = true;
  Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
  order.timing.cold_cache = false;
  execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_THAT(execution.report.outcome.detail, HasSubstr("after the last timed iteration"));
}

// Short kernels are called many times an iteration: what is timed is their calls and nothing else.
TEST_F(HostDeviceTest, ChangesInputsBetweenIterationsAndNotWithinThem) {
  const std::string text =
      "#include <cstdint>\n#include <cstring>\n"
      "extern \"C\" void settled(const float* in, float* out, std::int64_t n) {\n"
      "  static float before[16];\n"
      "  static std::int64_t calls = 0, changes = 0;\n"
      "  if (std::memcmp(before, in, sizeof before) != 0) ++changes;\n"
      "  std::memcpy(before, in, sizeof before);\n"
      "  const bool right = ++calls < 1'000 || (changes > 10 && changes < calls / 2);\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = right ? 2.0f * in[i] + 1.0f : 0.0f;\n}\n";
  Order order = WithCandidate("settled", text);
  for (Buffer& buffer : order.buffers) buffer.extents = {16};
  order.scalars[0].value = 16;
  order.timing.iterations = 50;
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
}

// What a kernel sees of its outputs tells it nothing.
TEST_F(HostDeviceTest, FindsAKernelThatLooksAtWhatItsOutputsHold) {
  const struct {
    const char* fault;
    const char* detail;
    const char* where;
  } cases[] = {
      {"skips_over_numbers", " is ", "called again, over wrong numbers"},
      {"skips_unless_poisoned", " is ", "after the last timed iteration of a visit, round 1"},
      {"skips_when_poisoned", "left unwritten",
       "after the last timed iteration of a visit, round 2"},
  };
  for (const auto& one : cases) {
    const Execution execution = Run(*Open(), FaultOrder(one.fault));
    EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput) << one.fault;
    EXPECT_EQ(execution.report.outcome.arm, ArmRole::kCandidate) << one.fault;
    EXPECT_THAT(execution.report.outcome.detail, AllOf(HasSubstr(one.detail), HasSubstr(one.where)))
        << one.fault;
    EXPECT_TRUE(execution.report.rounds.empty()) << "a wrong kernel's time is never judged";
  }
}

TEST_F(HostDeviceTest, SaysOnceThatThreadsOfAKernelStillRan) {
  // Four threads spin until the kernel has not been called for 300 ms.
  const std::string text =
      "#include <atomic>\n#include <chrono>\n#include <cstdint>\n#include <thread>\n"
      "using Clock = std::chrono::steady_clock;\n"
      "static std::atomic<Clock::rep> until;\nstatic std::atomic<int> threads;\n"
      "extern \"C\" void restless(const float* in, float* out, std::int64_t n) {\n"
      "  const auto now = [] { return Clock::now().time_since_epoch().count(); };\n"
      "  until = now() + 300'000'000;\n"
      "  while (threads < 4) {\n"
      "    ++threads;\n"
      "    std::thread([now] { while (now() < until) {} --threads; }).detach();\n"
      "  }\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;\n}\n";
  const auto device = Open();
  // On a machine that is busy with something else they may all stand still while they are looked
  // for.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Execution execution;
  while (execution.notes.empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    execution = Run(*device, WithCandidate("restless", text));
    ASSERT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
        << execution.report.outcome.detail;
  }
  EXPECT_THAT(execution.notes, ElementsAre(HasSubstr("event=not_quiet arm=")));
}

TEST_F(HostDeviceTest, RefusesAnOrderThatDoesNotFitItsMemory) {
  DeviceOptions options = Options();
  options.memory_bytes = 1u << 30;
  Result<std::unique_ptr<Device>> device = OpenHost(options);
  ASSERT_TRUE(device);
  // The most that an order can have: 2^33 elements.
  const Result<Execution> execution =
      (*device)->Execute(FaultOrder("slow", std::int64_t{1} << 32), [](Stage, ArmRole) {});
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().message,
            "host: double_plus_one needs 229376 MiB for its buffers, input sets and references; a "
            "runner may take 1024 MiB: give it a smaller shape");
  EXPECT_EQ(Run(**device, FaultOrder("slow")).report.outcome.kind, OutcomeKind::kMeasured);
}

// Medians go to the coordinator, samples do not.
TEST_F(HostDeviceTest, ReportsAsManyBytesForAThousandIterationsAsForTen) {
  const auto device = Open();
  const auto bytes = [&](std::uint32_t iterations) {
    Order order = FaultOrder("slow");
    order.timing.iterations = iterations;
    Execution execution = Run(*device, order);
    EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured);
    EXPECT_EQ(execution.samples.at(0).us.size(), iterations);
    execution.report.track = order.track;
    execution.report.generation = order.generation;
    execution.report.attempt = order.attempt;
    execution.report.worker = WorkerId("here/host/0");
    execution.report.order = Sha256(EncodeOrder(order));
    for (const Arm& arm : order.arms) execution.report.arms.push_back(arm.role);
    return EncodeMessage(ReportMessage{execution.report}).size();
  };
  bytes(10);  // builds: afterwards all objects come from the cache
  EXPECT_EQ(bytes(10), bytes(1'000));
}

TEST_F(HostDeviceTest, FindsAKernelThatKnowsItsInputsByOneElement) {
  const Execution execution = Run(*Open(), FaultOrder("remembers_answers"));
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(execution.report.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(execution.report.outcome.detail, HasSubstr("after the last timed iteration"));
}

TEST_F(HostDeviceTest, DoesNotCheckACommittedKernelTwiceButACandidateAlways) {
  const auto device = Open();
  const Order order = FaultOrder("slow");
  const auto checks_of = [&](ArmRole role) {
    std::vector<std::pair<Stage, ArmRole>> stages;
    const Execution execution = Run(*device, order, &stages);
    EXPECT_EQ(execution.report.checks.size(), 3u);
    for (const CheckFacts& check : execution.report.checks) EXPECT_TRUE(check.passed);
    EXPECT_EQ(execution.report.checks[2].arm, ArmRole::kIncumbent);
    return std::count(stages.begin(), stages.end(), std::make_pair(Stage::kCheck, role));
  };
  const auto committed_first = checks_of(ArmRole::kCommitted);
  const auto candidate_first = checks_of(ArmRole::kCandidate);
  EXPECT_LT(checks_of(ArmRole::kCommitted), committed_first);
  EXPECT_EQ(checks_of(ArmRole::kCandidate), candidate_first);
}

TEST_F(HostDeviceTest, ChecksAgainWhenTheProblemIsAnother) {
  // Right for 1000 elements only.
  const std::string text =
      "#include <cstdint>\nextern \"C\" void narrow(const float* in, float* out, std::int64_t n) "
      "{\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = i < 1000 ? 2.0f * in[i] + 1.0f : 0.0f;\n}\n";
  const auto device = Open();
  Order order = WithCandidate("narrow", text);
  order.arms[1].role = ArmRole::kStart;
  EXPECT_EQ(Run(*device, order).report.outcome.kind, OutcomeKind::kMeasured);
  for (Buffer& buffer : order.buffers) buffer.extents = {1001};
  order.scalars[0].value = 1001;
  const Execution execution = Run(*device, order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(execution.report.outcome.arm, ArmRole::kStart);
}

TEST_F(HostDeviceTest, TakesReferencesFromTheCacheAndSeesAnotherReference) {
  Order order = FaultOrder("slow", 1'234);
  Run(*Open(), order);
  order.sources[0].text += "// the same function\n";
  order.sources[0].digest = Sha256(order.sources[0].text);
  EXPECT_EQ(Run(*Open(), order).report.outcome.kind, OutcomeKind::kMeasured);
  // Another function: what was cached for the first must not be used.
  std::string& text = order.sources[0].text;
  text.replace(text.find("+ 1.0"), 5, "+ 1.5");
  order.sources[0].digest = Sha256(text);
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(execution.report.outcome.arm, ArmRole::kCommitted);
}

TEST_F(HostDeviceTest, CountsAReferenceThatFailsAsNoArmsFault) {
  Order order = FaultOrder("slow");
  order.sources[0].text =
      "double reference_out(const float*, std::int64_t, std::int64_t) { return x; }";
  order.sources[0].digest = Sha256(order.sources[0].text);
  Result<Execution> execution = Open()->Execute(order, [](Stage, ArmRole) {});
  ASSERT_FALSE(execution);
  EXPECT_THAT(execution.error().message,
              HasSubstr("host: the reference of double_plus_one does not compile: reference.h:1:"));

  order.sources[0].text =
      "#include <cmath>\n#include <cstdint>\n"
      "inline double reference_out(const float*, std::int64_t, std::int64_t i) { return i == 7 ? "
      "std::nan(\"\") : 0; }";
  order.sources[0].digest = Sha256(order.sources[0].text);
  execution = Open()->Execute(order, [](Stage, ArmRole) {});
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().message,
            "host: the reference of double_plus_one gives nan for out[7]");

  order.check.reference.reset();
  execution = Open()->Execute(order, [](Stage, ArmRole) {});
  ASSERT_FALSE(execution);
  EXPECT_THAT(execution.error().message, HasSubstr("names no reference"));
}

TEST_F(HostDeviceTest, RefusesWhatItCannotDo) {
  const auto device = Open();
  const auto refused = [&](const Order& order) {
    Result<Execution> execution = device->Execute(order, [](Stage, ArmRole) {});
    return execution ? std::string("not refused") : execution.error().message;
  };
  Order order = FaultOrder("slow");
  order.timing.instrument = Instrument::kGraphTime;
  EXPECT_EQ(refused(order), "host: no instrument graph_time (have: cpu_time, wall_time)");
  order = FaultOrder("slow");
  order.arms[1].source.reset();
  EXPECT_EQ(refused(order),
            "host: arm candidate has no source or no launch; only a replay can answer it");
  order = FaultOrder("slow");
  order.rounds[0].visits[0].input_set = 2;
  EXPECT_THAT(refused(order),
              HasSubstr("a visit of arm 0 on input set 2, which the order does not have"));
}

TEST_F(HostDeviceTest, CallsAllLaunchesOfAnArmInTheirOrder) {
  const std::string text =
      "#include <cstdint>\n"
      "extern \"C\" void twice(const float* in, float* out, std::int64_t n) {\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i];\n}\n"
      "extern \"C\" void plus_one(float* out, std::int64_t n) {\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] += 1.0f;\n}\n";
  Order order = WithCandidate("twice", text);
  Launch second;
  second.kernel = "plus_one";
  second.arguments = {{Argument::Kind::kBuffer, 1}, {Argument::Kind::kScalar, 0}};
  order.arms[1].launches.push_back(second);
  const Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
}

TEST_F(HostDeviceTest, RunsKernelsWithThreads) {
  const std::string text =
      "#include <cstdint>\n"
      "extern \"C\" void threaded(const float* in, float* out, std::int64_t n) {\n"
      "#pragma omp parallel for num_threads(2)\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;\n}\n";
  const auto device = Open();
  // Twice: the pool of the first order's threads must outlive its object.
  for (int i = 0; i < 2; ++i) {
    const Execution execution = Run(*device, WithCandidate("threaded", text));
    EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
        << execution.report.outcome.detail;
  }
}

TEST_F(HostDeviceTest, BuildsASourcesOwnOptionsWithIt) {
  const std::string text =
      "#include <cstdint>\n"
      "extern \"C\" void optional(const float* in, float* out, std::int64_t n) {\n"
      "  for (std::int64_t i = 0; i < n; ++i) out[i] = FACTOR * in[i] + ONE;\n}\n";
  Order order = WithCandidate("optional", text);
  order.build_options = {"-DONE=1.0f"};
  order.sources[2].build_options = {"-DFACTOR=2.0f"};
  Execution execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kMeasured)
      << execution.report.outcome.detail;
  order.sources[2].build_options = {"-DFACTOR=3.0f"};
  execution = Run(*Open(), order);
  EXPECT_EQ(execution.report.outcome.kind, OutcomeKind::kWrongOutput);
}

TEST_F(HostDeviceTest, GivesEqualCodeEqualDigests) {
  const std::string text = FaultSource("right.cc").text;
  Order order = WithCandidate("right", "// another comment, another name\n" + text);
  order.sources[2].name = "another_name.cc";
  const Execution execution = Run(*Open(), order);
  ASSERT_EQ(execution.report.builds.size(), 3u);
  EXPECT_NE(execution.report.builds[0].source, execution.report.builds[1].source);
  EXPECT_EQ(execution.report.builds[0].object, execution.report.builds[1].object);
}

TEST_F(HostDeviceTest, ClearsWhatAKilledRunnerHasLeft) {
  const test::TempFolder folder;
  DeviceOptions options = Options();
  options.scratch = folder.path();
  std::filesystem::create_directory(folder.path() + "/build.7");
  std::ofstream(folder.path() + "/load.1.2.so") << "x";
  std::ofstream(folder.path() + "/notes") << "x";
  ASSERT_TRUE(OpenHost(options));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/build.7"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/load.1.2.so"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/notes"));
}

TEST_F(HostDeviceTest, IsListedWithItsFactsAndCudaWithWhatIsMissing) {
  ::setenv("PAWL_LIBCUDA", "/nonexistent/libcuda.so", 1);  // also where there is a driver
  const std::vector<DeviceListing> devices = ListDevices(false);
  ::unsetenv("PAWL_LIBCUDA");
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, "host");
  EXPECT_EQ(devices[0].problem, "");
  EXPECT_EQ(devices[0].memory_bytes, RunnerMemory(ReadMachine({})));
  EXPECT_EQ(devices[0].facts.peak_gflops, 0) << "not asked for";
  EXPECT_THAT(devices[0].facts.instruments,
              ElementsAre(Instrument::kCpuTime, Instrument::kWallTime));
  EXPECT_EQ(devices[1].name, "cuda");
  EXPECT_THAT(devices[1].problem, HasSubstr("NVIDIA driver"));
  EXPECT_EQ(devices[2].name, "emulated:sm_89");
  EXPECT_EQ(devices[2].problem, "");
  EXPECT_THAT(devices[2].facts.instruments, ::testing::IsEmpty()) << "it is never timed";
}

TEST_F(HostDeviceTest, SaysWhenThereIsNoCompiler) {
  ::setenv("PAWL_CXX", "/no/such/compiler", 1);
  const Result<std::unique_ptr<Device>> device = OpenHost(Options());
  ::unsetenv("PAWL_CXX");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message,
            "host: no C++ compiler answers --version (asked /no/such/compiler); install g++, or "
            "name one in PAWL_CXX");
}

}  // namespace
}  // namespace pawl
