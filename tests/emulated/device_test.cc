// The emulated device as the worker sees it: what it takes, refuses and reports.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/emulated/emulated_kernel.h"
#include "tests/support/places.h"
#include "worker/device/cuda/standard_headers.h"
#include "worker/device/emulated/arm_memory.h"
#include "worker/device/emulated/limits.h"
#include "worker/device/emulated/unit_text.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Order Twice(const std::string& structure = "committed", const std::string& settings = "") {
  return OrderFor(LoadPackage("tests/data/planted_cuda/twice"), structure, settings, {{"n", 1000}});
}

TEST(EmulatedDevice, ReportsWhatItBuiltAndCompared) {
  const Report report = Audited(Twice());
  EXPECT_EQ(report.outcome, (Outcome{OutcomeKind::kMeasured, std::nullopt, ""}));
  ASSERT_EQ(report.builds.size(), 1U);
  EXPECT_EQ(report.builds[0].arm, ArmRole::kCommitted);
  EXPECT_FALSE(report.builds[0].object.IsZero());
  ASSERT_EQ(report.checks.size(), 1U);
  EXPECT_EQ(report.checks[0].elements, 3 * 1000U) << "two orders of one input set, and the hidden";
  EXPECT_TRUE(report.rounds.empty());
  const DeviceFacts facts = DeviceNamed("emulated:sm_90").Facts();
  EXPECT_EQ(facts.kind, "emulated");
  EXPECT_EQ(facts.model, "emulated sm_90");
  EXPECT_EQ(facts.backend, "cuda");
  EXPECT_TRUE(facts.instruments.empty()) << "its times are never judged";
}

TEST(EmulatedDevice, RefusesToTime) {
  Order order = Twice();
  order.kind = OrderKind::kMeasure;
  order.rounds = {{true, {{0, 0}}}};
  const auto executed = DeviceNamed("emulated:sm_90").Execute(order, [](Stage, ArmRole) {});
  ASSERT_FALSE(executed);
  EXPECT_EQ(executed.error().message,
            "emulated sm_90: the emulated device checks kernels and never times them; it takes "
            "audit orders, this is a measure order");
}

TEST(EmulatedDevice, NamesItsArchitectures) {
  const auto message = [](const std::string& name) {
    const auto device = OpenDevice(name, {});
    return device ? std::string("opened") : device.error().message;
  };
  EXPECT_EQ(message("emulated:sm_75"),
            "emulated: architecture 'sm_75' is not known (have: sm_80, sm_86, sm_89, sm_90, "
            "sm_120)");
  EXPECT_EQ(message("emulated:sm_89?check=off"),
            "emulated: option 'check=off' is not known (have: checks=on, checks=off)");
}

TEST(EmulatedDevice, WithoutChecksStillComparesOutputs) {
  const std::string device = "emulated:sm_90?checks=off";
  EXPECT_EQ(Audited(Twice(), device).outcome.kind, OutcomeKind::kMeasured);
  const Report parity = Audited(Twice("wrong_parity", "fault=true"), device);
  EXPECT_EQ(parity.outcome.kind, OutcomeKind::kWrongOutput);
  const Report input = Audited(Twice("writes_its_input", "fault=true"), device);
  EXPECT_THAT(input.outcome.detail, HasSubstr("changed its input X"));
}

TEST(EmulatedDevice, HoldsALaunchAgainstTheArchitecture) {
  const SmLimits limits = *LimitsOf("sm_89");
  Launch launch;
  launch.kernel = "k";
  launch.block = {1024, 1, 1};
  launch.dynamic_shared_bytes = 60'000;
  EXPECT_EQ(WhyNotLaunch(limits, launch, 41'376), std::nullopt);
  EXPECT_EQ(WhyNotLaunch(limits, launch, 41'377),
            "k: shared memory of a block, bytes (41377 static, 60000 dynamic): 101377 needed, "
            "101376 allowed on sm_89");
  EXPECT_EQ(WhyNotLaunch(*LimitsOf("sm_80"), launch, 41'377), std::nullopt);
  EXPECT_EQ(WhyNotLaunch(limits, launch, 49'153),
            "k: static shared memory of a block, bytes: 49153 needed, 49152 allowed on sm_89");
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(WhyNotLaunch(limits, launch, 0),
            "k: blocks of a cluster: 2 needed, 1 allowed on sm_89");
  EXPECT_EQ(WhyNotLaunch(*LimitsOf("sm_90"), launch, 0), std::nullopt);
  launch.block = {1024, 2, 1};
  EXPECT_EQ(WhyNotLaunch(limits, launch, 0),
            "k: threads of a block: 2048 needed, 1024 allowed on sm_89");

  const Report report =
      Audited(OneKernel("kernel = \"one\"\ndynamic_shared_bytes = 200000\n",
                        "extern \"C\" __global__ void one(const float*, float*, long long) {}\n"),
              "emulated:sm_89");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_THAT(report.outcome.detail, HasSubstr("200000 needed, 101376 allowed on sm_89"));
}

// With the stand-in of the CUDA device's tests, whose machine code is the source.
TEST(EmulatedDevice, AsksNvrtcWhereItIsThere) {
  ::setenv("PAWL_LIBNVRTC", PAWL_STANDIN_NVRTC, 1);
  const DeviceFacts facts = DeviceNamed("emulated:sm_80").Facts();
  EXPECT_THAT(facts.toolchain, HasSubstr("; NVRTC 13.0.42 (" PAWL_STANDIN_NVRTC ")"));
  const Report right = Audited(Twice(), "emulated:sm_80");
  EXPECT_EQ(right.outcome.kind, OutcomeKind::kMeasured) << right.outcome.detail;
  EXPECT_GT(right.builds[0].registers, 0U);
  const Report wrong = Audited(
      OneKernel("kernel = \"one\"\n",
                "extern \"C\" __global__ void one(const float* X, float* Y, long long n) {}\n"
                "// PLEASE_FAIL\n"),
      "emulated:sm_80");
  EXPECT_EQ(wrong.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_THAT(wrong.outcome.detail, HasSubstr("NVRTC for sm_80: "));
  EXPECT_THAT(DeviceNamed("emulated:sm_86").Facts().toolchain,
              HasSubstr("which makes no code for sm_86"));
  ::setenv("PAWL_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
  EXPECT_THAT(DeviceNamed("emulated:sm_120").Facts().toolchain,
              HasSubstr("; no NVRTC: no source is compiled for a GPU"));
}

TEST(EmulatedDevice, HasClustersWhereTheArchitectureHas) {
  const Order order = OrderFor(LoadPackage("tests/data/planted_cuda/row_sum"), "leaves_cluster",
                               "fault=false", {{"rows", 2}, {"width", 8}});
  EXPECT_EQ(Audited(order, "emulated:sm_90").outcome.kind, OutcomeKind::kMeasured);
  const Report report = Audited(order, "emulated:sm_89");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_THAT(report.outcome.detail, HasSubstr("pawl::ClusterRank()"));
}

TEST(EmulatedDevice, SaysWhatDoesNotCompile) {
  const auto detail = [](const std::string& source) {
    const Report report = Audited(OneKernel("kernel = \"one\"\n", source));
    EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed) << report.outcome.detail;
    return report.outcome.detail;
  };
  EXPECT_THAT(
      detail("// one\n\nextern \"C\" __global__ void one(const float* X, float* Y, long long "
             "n) { Z[0] = n; }\n"),
      AllOf(HasSubstr("one.cu:3:"), HasSubstr("'Z' was not declared")));
  EXPECT_THAT(
      detail("extern \"C\" __global__ void one(const float* X, float* Y, int n) {}\n"),
      HasSubstr("one is launched with (const float*, float*, long long); its parameters are "
                "others"));
  EXPECT_THAT(
      detail("extern \"C\" __global__ void two(const float* X, float* Y, long long n) {}\n"),
      AllOf(HasSubstr("one.cu(launch):"), HasSubstr("'one' was not declared")));
  EXPECT_EQ(detail("// one\n#include <vector>\n"),
            "one.cu:2: includes <vector>, which the emulated device does not have: a header of "
            "the package, pawl_device.h, or one of CUDA's own language headers is wanted");
}

TEST(EmulatedDevice, TakesOrdinaryCuda) {
  const Report report = Audited(OneKernel(R"toml(kernel = "one"
grid  = ["ceil_div(n, 64)", 1, 1]
block = [32, 2, 1]
dynamic_shared_bytes = 512
)toml",
                                          R"cuda(#include <cuda_runtime.h>
#include <stdint.h>
#include <math.h>

#define WIDTH 64  // asm in a comment, extern __shared__ too
__constant__ float two[1] = {2.0f};

template <typename T, int kCount>
struct Tile {
  T values[kCount];
  __device__ __forceinline__ T& operator[](int i) { return values[i]; }
};

template <int kWidth>
__device__ __noinline__ float Scaled(const float* __restrict__ X, int64_t i) {
  __shared__ alignas(16) float staged[kWidth];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  staged[thread] = __ldg(X + i);
  __syncthreads();
  const float2 pair = make_float2(staged[thread], two[0]);
  return fmaxf(pair.x * pair.y, -INFINITY);
}

extern "C" __global__ void __launch_bounds__(64) one(const float* __restrict__ X,
                                                     float* __restrict__ Y, int64_t n) {
  extern __shared__ __align__(16) Tile<float, 64> tiles[];
  __shared__ unsigned seen;
  const int thread = threadIdx.y * 32 + threadIdx.x;
  if (thread == 0) seen = 0u;
  __syncthreads();
  atomicAdd(&seen, 1u);
  const int64_t i = blockIdx.x * (int64_t)WIDTH + thread;
  tiles[1][thread] = Scaled<WIDTH>(X, i < n ? i : n - 1);
  const unsigned votes = __ballot_sync(0xffffffffu, i < n);
  __syncwarp();
  if (__syncthreads_count(i < n) == 0 || __popc(votes) == 0 || seen != 64u) return;
  if (i < n) Y[i] = tiles[1][thread ^ 1 ^ 1];
}
)cuda"));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kMeasured) << report.outcome.detail;
  EXPECT_EQ(report.builds[0].shared_bytes, 260U);
}

TEST(EmulatedDevice, DefinesTheMacrosOfBuildOptions) {
  Order order = OneKernel("kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\n", R"(
#ifndef STAGES
#define STAGES 1
#endif
#ifdef GONE
#error GONE is defined
#endif
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < n) Y[i] = SCALED(X[i]) * ONE;
}
)");
  order.build_options = {"-DSTAGES=3", "--define-macro", "GONE", "-use_fast_math", "-DONE"};
  std::vector<std::string>& own = order.sources[*order.arms[0].source].build_options;
  own = {"-USTAGES", "--define-macro=STAGES=2",  "-U",       "GONE", "--maxrregcount=64",
         "-D",       "SCALED(x)=((x) * STAGES)", "-lineinfo"};
  EXPECT_EQ(Audited(order).outcome.detail, "");
  EXPECT_EQ(Audited(order, "emulated:sm_90?checks=off").outcome.detail, "");
  own.push_back("--undefine-macro=ONE");
  EXPECT_THAT(Audited(order).outcome.detail, HasSubstr("'ONE' was not declared"));
}

// What an output holds beforehand may be what it should hold.
TEST(EmulatedDevice, HoldsEveryElementOfAnOutputToBeWritten) {
  auto files = LoadPackage("tests/data/planted_cuda/twice")->files;
  std::erase_if(files, [](const auto& file) { return file.first.rfind("cuda/", 0) == 0; });
  std::string& text = files["operation.toml"];
  const std::size_t output = text.find("dtype   = \"f32\"", text.find("\"output\""));
  text.replace(output, 15, "dtype   = \"i32\"");
  files["reference.h"] =
      "#include <cstdint>\n#ifndef PAWL_REFERENCE\n#define PAWL_REFERENCE inline\n#endif\n"
      "PAWL_REFERENCE double reference_Y(const float*, std::int64_t, std::int64_t i) {\n"
      "  return i % 3 == 0 ? -1.0 : 1.0;\n}\n";
  files["cuda/committed.toml"] =
      "[[committed]]\nsource = \"one.cu\"\nkernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, "
      "1]\n";
  const auto found = [&](const std::string& condition, const std::string& device) {
    files["cuda/one.cu"] =
        "extern \"C\" __global__ void one(const float* X, int* Y, long long n) {\n"
        "  const long long i = blockIdx.x * 64ll + threadIdx.x;\n  if (i < n && " +
        condition + ") Y[i] = i % 3 == 0 ? -1 : 1;\n}\n";
    const Order order = OrderFor(LoadFiles(files, "twice"), "committed", "", {{"n", 1000}});
    return Audited(order, device).outcome.detail;
  };
  for (const char* device : {"emulated:sm_90", "emulated:sm_90?checks=off"}) {
    EXPECT_EQ(found("true", device), "");
    EXPECT_THAT(found("i % 9 != 3", device), HasSubstr("one: Y[")) << device;
  }
  EXPECT_EQ(found("i % 9 != 3", "emulated:sm_90"), "one: Y[3] was left unwritten");
}

TEST(EmulatedDevice, TakesTheHeadersThatNvrtcTakes) {
  std::ifstream file(SourceFolder() + "/tests/data/cuda_headers/all.cu");
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  for (const StandardHeader& header : StandardHeaders()) {
    EXPECT_THAT(source, HasSubstr("#include <" + std::string(header.name) + ">"));
  }
  EXPECT_EQ(FoundIn(source), "");
}

TEST(EmulatedDevice, RefusesWhatNeedsMoreMemoryThanItMayTake) {
  DeviceOptions options = EmulatedOptions();
  options.memory_bytes = 64 << 10;
  const auto device = OpenDevice("emulated:sm_90", options);
  ASSERT_TRUE(device) << device.error().message;
  const auto executed = (*device)->Execute(Twice(), [](Stage, ArmRole) {});
  ASSERT_FALSE(executed);
  EXPECT_EQ(executed.error().advice, Advice::kReject);
  EXPECT_EQ(executed.error().message,
            "emulated: twice needs 0 MiB for its buffers, input sets and references; a runner may "
            "take 0 MiB: give it a smaller shape");
  EXPECT_GT(MemoryFor(Twice(), true), MemoryFor(Twice(), false)) << "watching takes memory";
}

TEST(EmulatedDevice, LeavesNoTraceOfTheFolderItBuiltIn) {
  const Report report = Audited(Twice("off_by_one", "fault=true"));
  EXPECT_THAT(report.outcome.detail, HasSubstr("twice at twice/cuda/off_by_one.cu:8: thread"));
  EXPECT_THAT(report.outcome.detail, Not(HasSubstr("build.")));
}

}  // namespace
}  // namespace pawl::test
