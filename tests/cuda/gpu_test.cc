// On a real GPU: each instrument, each planted fault, and what a search needs of the device. Not a
// part of the default suite; on a machine without a GPU each test says so and is skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cuda/cuda_orders.h"
#include "tests/support/places.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/process_child.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;

// Beside the program in a bundle, else where it was built from.
std::string FaultText(const std::string& kernel) {
  std::error_code ignored;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& folder :
       {bin / "../tests/data/cuda_faults",
        std::filesystem::path(test::SourceFolder()) / "tests/data/cuda_faults"}) {
    std::ifstream file(folder / (kernel + ".cu"), std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
  }
  CHECK(false, kernel);
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::vector<DeviceListing> listings = ListCuda();
    // Only a GPU shows what these look for. The program is in no ctest run: scripts/gpu-check runs
    // it from a bundle on a GPU host, and refuses to begin where there is no GPU.
    if (!listings.front().problem.empty()) {
      GTEST_SKIP() << "no GPU can be used here: " << listings.front().problem;
    }
    facts = listings.front().facts;
  }

  static DeviceOptions Options() {
    static const test::TempFolder folder;
    DeviceOptions options;
    options.scratch = folder.path();
    options.cache = folder.path() + "/cache";
    return options;
  }

  static std::unique_ptr<Child> Start() {
    ProcessChildOptions options;
    options.device = "cuda";
    options.device_options = Options();
    std::unique_ptr<Child> child = MakeProcessChild(options);
    const Result<DeviceFacts> started = child->Start();
    CHECK(started, started.error().message);
    return child;
  }

  // What comes of an order in a runner, as an agent would say it; it is killed after limit_ms.
  static Outcome RunIn(Child& child, const Order& order, int limit_ms = 60'000,
                       Report* report = nullptr) {
    if (!child.Running()) {
      const Result<DeviceFacts> started = child.Start();
      CHECK(started, started.error().message);
    }
    CHECK(child.Send(order));
    ArmRole arm = ArmRole::kCommitted;
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      const std::optional<ChildEvent> event = child.Next();
      if (event) {
        if (const auto* stage = std::get_if<ChildStage>(&*event)) arm = stage->arm;
        if (const auto* done = std::get_if<ChildDone>(&*event)) {
          if (report != nullptr) *report = done->execution.report;
          return done->execution.report.outcome;
        }
        if (const auto* error = std::get_if<ChildError>(&*event)) {
          return {OutcomeKind::kNoData, std::nullopt, error->message};
        }
        if (const auto* exit = std::get_if<ChildExit>(&*event)) {
          return {OutcomeKind::kCrashed, arm, exit->how};
        }
        continue;
      }
      const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - start);
      if (spent.count() >= limit_ms) {
        child.Kill();
        return {OutcomeKind::kHung, arm, "killed after " + std::to_string(limit_ms) + " ms"};
      }
      pollfd ready{child.fd(), POLLIN, 0};
      ::poll(&ready, 1, 50);
    }
  }

  static Order Right(std::int64_t n) {
    return CudaOrder("right_too", ElementKernel("right_too", "out[i] = 2 * in[i] + 1;"), n);
  }

  DeviceFacts facts;
};

TEST_F(GpuTest, MeasuresByEveryInstrument) {
  const std::unique_ptr<Child> child = Start();
  for (const Instrument instrument : facts.instruments) {
    Order order = Right(1 << 20);
    order.timing.instrument = instrument;
    order.timing.iterations = 20;
    Report report;
    const Outcome outcome = RunIn(*child, order, 60'000, &report);
    EXPECT_EQ(outcome.kind, OutcomeKind::kMeasured) << Name(instrument) << ": " << outcome.detail;
    ASSERT_EQ(report.rounds.size(), 2u);
    for (const VisitMedian& visit : report.rounds[0].visits) {
      std::printf("%-11s arm %u  %8.3f us at %6.0f MHz\n", std::string(Name(instrument)).c_str(),
                  visit.arm, visit.median_us, visit.clock_mhz);
      EXPECT_GT(visit.median_us, 0.5);
      EXPECT_LT(visit.median_us, 1'000);
      EXPECT_GT(visit.clock_mhz, 100);
    }
  }
}

TEST_F(GpuTest, MeasuresColdAndHot) {
  const std::unique_ptr<Child> child = Start();
  for (const bool cold : {false, true}) {
    Order order = Right(1 << 22);
    order.timing.instrument = Instrument::kGraphTime;
    order.timing.cold_cache = cold;
    Report report;
    const Outcome outcome = RunIn(*child, order, 60'000, &report);
    ASSERT_EQ(outcome.kind, OutcomeKind::kMeasured) << outcome.detail;
    std::printf("%s: %.3f us\n", cold ? "cold" : "hot", report.rounds[0].visits[0].median_us);
  }
}

struct Fault {
  std::string kernel;
  OutcomeKind kind;
  std::string detail;
};

TEST_F(GpuTest, GivesEveryPlantedFaultItsReasonAndMeasuresTheNextOne) {
  const Fault faults[] = {
      {"illegal_address", OutcomeKind::kCrashed, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {"misaligned", OutcomeKind::kCrashed, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {"device_assert", OutcomeKind::kCrashed, "CUDA_ERROR_ASSERT"},
      {"infinite_loop", OutcomeKind::kHung, "killed after"},
      {"too_much_shared", OutcomeKind::kLaunchFailed, "B of shared memory needed"},
      {"stale_output", OutcomeKind::kWrongOutput, "wrong"},
      {"skips_when_right", OutcomeKind::kWrongOutput, "wrong"},
      {"skips_its_own", OutcomeKind::kWrongOutput, "wrong"},
      {"changes_input", OutcomeKind::kWrongOutput, "changed its input in[5]"},
      {"one_past_end", OutcomeKind::kWrongOutput, "wrote past the end of out"},
      {"side_stream", OutcomeKind::kBuildFailed, "error"},
      {"wrong_arguments", OutcomeKind::kBuildFailed, "3 arguments"},
  };
  const std::unique_ptr<Child> child = Start();
  for (const Instrument instrument : {Instrument::kEventSpan, Instrument::kGraphTime}) {
    for (const Fault& fault : faults) {
      SCOPED_TRACE(fault.kernel);
      Order order = CudaOrder(fault.kernel, FaultText(fault.kernel), 10'000);
      order.timing.instrument = instrument;
      if (fault.kernel == "too_much_shared") {
        order.arms[1].launches[0].dynamic_shared_bytes = 1 << 20;
      }
      const Outcome outcome = RunIn(*child, order, 10'000);
      std::printf("%-16s %s: %s\n", fault.kernel.c_str(), std::string(Name(outcome.kind)).c_str(),
                  outcome.detail.c_str());
      EXPECT_EQ(outcome.kind, fault.kind) << outcome.detail;
      EXPECT_EQ(outcome.arm, ArmRole::kCandidate);
      EXPECT_THAT(outcome.detail, HasSubstr(fault.detail));
      if (outcome.kind == OutcomeKind::kCrashed || outcome.kind == OutcomeKind::kWrongOutput) {
        child->Kill();  // as the agent does
      }
      order = Right(10'000);
      order.timing.instrument = instrument;
      const Outcome next = RunIn(*child, order);
      EXPECT_EQ(next.kind, OutcomeKind::kMeasured) << next.detail;
    }
  }
}

TEST_F(GpuTest, LeavesTheControlsTimeAsItWasBeforeAFault) {
  const auto control_us = [](Child& child) {
    Order order = Right(1 << 20);
    order.timing.instrument = Instrument::kGraphTime;
    Report report;
    const Outcome outcome = RunIn(child, order, 60'000, &report);
    CHECK(outcome.kind == OutcomeKind::kMeasured, outcome.detail);
    return report.rounds[1].visits[0].median_us;
  };
  const std::unique_ptr<Child> child = Start();
  const double before = control_us(*child);
  RunIn(*child, CudaOrder("illegal_address", FaultText("illegal_address"), 10'000));
  child->Kill();
  RunIn(*child, CudaOrder("infinite_loop", FaultText("infinite_loop"), 10'000), 3'000);
  const double after = control_us(*child);
  std::printf("control %.3f us before, %.3f us after\n", before, after);
  EXPECT_NEAR(after / before, 1, 0.05);
}

TEST_F(GpuTest, AgreesBetweenKernelTimeAndGraphTime) {
  if (std::find(facts.instruments.begin(), facts.instruments.end(), Instrument::kKernelTime) ==
      facts.instruments.end()) {
    // kernel_time is read by CUPTI, which a host with the driver alone has not; install the CUDA
    // toolkit, or name the library in PAWL_LIBCUPTI. device_test.cc has it on a stand-in
    // everywhere.
    GTEST_SKIP() << "no CUPTI here";
  }
  // Long enough that a launch's own cost does not count.
  const std::string text =
      ElementKernel("long_one",
                    "float x = in[i];\n  for (int k = 0; k < 20000; ++k) x = x * 0.999f + 0.001f;\n"
                    "  out[i] = 2 * in[i] + 1 + (x > 1e30f ? x : 0);");
  double us[2] = {};
  const std::unique_ptr<Child> child = Start();
  for (int k = 0; k < 2; ++k) {
    Order order = CudaOrder("long_one", text, 1 << 14);
    order.timing.instrument = k == 0 ? Instrument::kGraphTime : Instrument::kKernelTime;
    order.timing.iterations = 30;
    Report report;
    const Outcome outcome = RunIn(*child, order, 60'000, &report);
    ASSERT_EQ(outcome.kind, OutcomeKind::kMeasured) << outcome.detail;
    for (const VisitMedian& visit : report.rounds[0].visits) {
      if (visit.arm == 1) us[k] = visit.median_us;
    }
  }
  std::printf("graph_time %.3f us, kernel_time %.3f us\n", us[0], us[1]);
  EXPECT_NEAR(us[1] / us[0], 1, 0.05);
}

TEST_F(GpuTest, AnswersAnOrderThatIsBuiltInLittleMoreThanItsVisits) {
  Result<std::unique_ptr<Device>> device = OpenCuda("", Options());
  ASSERT_TRUE(device) << device.error().message;
  Order order = Right(1 << 20);
  double own_ms = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    const Result<Execution> execution = (*device)->Execute(order, [](Stage, ArmRole) {});
    ASSERT_TRUE(execution) << execution.error().message;
    const double all =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Report& report = execution->report;
    own_ms = (all - report.run_seconds) * 1e3;
    std::printf("build %.2f ms, check %.2f ms, run %.2f ms, in all %.2f ms\n",
                report.build_seconds * 1e3, report.check_seconds * 1e3, report.run_seconds * 1e3,
                all * 1e3);
  }
  EXPECT_LT(own_ms, 20);
}

}  // namespace
}  // namespace pawl
