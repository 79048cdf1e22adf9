// Shared memory and launches: what a kernel has, and what no GPU would give it.

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/emulated/emulated_kernel.h"
#include "worker/device/emulated/cuda_text.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SharedMemory, IsCountedForEachKernel) {
  // 33 KB and 17 KB, each allowed; together they would not be.
  const std::string source = R"(template <int kFloats>
__device__ __attribute__((noinline)) float Through(float value) {
  __shared__ float tile[kFloats];
  tile[threadIdx.x] = value;
  __syncthreads();
  return tile[threadIdx.x];
}
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  const float x = Through<8448>(i < n ? X[i] : 0);
  if (i < n) Y[i] = 2 * x;
}
extern "C" __global__ void two(const float* X, float* Y, long long n) {
  __shared__ float tile[4352];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  tile[threadIdx.x] = i < n ? X[i] : 0;
  if (i < n) Y[i] = 2 * tile[threadIdx.x];
}
)";
  const auto launch = [](const std::string& kernel) {
    return "[[committed.launch]]\nkernel = \"" + kernel +
           "\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\n";
  };
  const std::string both =
      R"(extern "C" __global__ void both(const float* X, float* Y, long long n) {
  __shared__ float tile[4352];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  tile[threadIdx.x] = Through<8448>(i < n ? X[i] : 0);
  __syncthreads();
  if (i < n) Y[i] = 2 * tile[threadIdx.x];
}
)";
  // The compiler of a GPU would say it first.
  ::setenv("PAWL_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
  const auto device = OpenDevice("emulated:sm_89", EmulatedOptions());
  ASSERT_TRUE(device);
  const auto audited = [&](const Order& order) {
    return (*device)->Execute(order, [](Stage, ArmRole) {})->report;
  };
  const Report right = audited(OneKernel(launch("one") + launch("two"), source));
  EXPECT_EQ(right.outcome.detail, "");
  EXPECT_EQ(right.builds[0].shared_bytes, 33'792U);
  const Report wrong = audited(OneKernel(launch("two") + launch("both"), source + both));
  EXPECT_EQ(wrong.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_EQ(wrong.outcome.detail,
            "both: static shared memory of a block, bytes: 51200 needed, 49152 allowed on sm_89");
}

TEST(SharedMemory, MayBeDeclaredOutsideOfFunctions) {
  const std::string source = R"(extern __shared__ float s[];
namespace inner {
extern __shared__ __align__(16) float4 quads[];
}
__device__ float Read(int i) { return s[i]; }
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  s[threadIdx.x] = i < n ? X[i] : 0;
  __syncthreads();
  const float4 quad = inner::quads[threadIdx.x / 4];
  const float x = threadIdx.x % 4 == 1 ? quad.y : Read(threadIdx.x);
  if (i < n) Y[i] = 2 * x;
  if (BEYOND && i == 0) reinterpret_cast<float4*>(s)[16].x = 1;
}
)";
  const std::string launch =
      "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ndynamic_shared_bytes = 256\n";
  EXPECT_EQ(FoundIn("#define BEYOND 0\n" + source, launch), "");
  EXPECT_THAT(FoundIn("#define BEYOND 1\n" + source, launch),
              HasSubstr("writes 4 bytes out of range: dynamic shared memory byte 256, of 256"));
}

TEST(SharedMemory, IsMarkedToItsLastByte) {
  const auto kernel = [](const std::string& body) {
    return R"(struct Six { short a, b, c; };
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ __align__(4) Six tile[64];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  int zero = 0;
)" + body + "\n  if (i < n) Y[i] = 2 * X[i] + zero;\n}\n";
  };
  EXPECT_EQ(FoundIn(kernel("  if (threadIdx.x % 2 == 0) tile[threadIdx.x] = Six{};\n"
                           "  __syncthreads();\n  zero = tile[threadIdx.x / 2 * 2].c;")),
            "");
  EXPECT_THAT(
      FoundIn(kernel("  if (threadIdx.x == 0) tile[0] = Six{};\n"
                     "  if (threadIdx.x == 1) tile[0].c = 1;\n"
                     "  __syncthreads();\n  zero = tile[0].c;")),
      HasSubstr("one.cu:7: race on shared memory: thread (1,0,0) of block (0,0,0) writes tile "
                "in shared memory, byte 4 of 384"));
}

// Up to the 512 KB that CUDA gives a thread.
TEST(LocalMemory, MayBeLarge) {
  const auto found = [](std::size_t floats) {
    return FoundIn("constexpr long long kFloats = " + std::to_string(floats) + R"(;
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  float local[kFloats];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  const long long step = n / 2;
  for (long long k = threadIdx.x; k < kFloats; k += step) local[k] = i < n ? X[i] : 0;
  __syncthreads();
  float sum = 0, count = 0;
  for (long long k = threadIdx.x; k < kFloats; k += step) sum += local[k];
  for (long long k = threadIdx.x; k < kFloats; k += step) count += 0.5f;
  if (i < n) Y[i] = sum / count;
}
)");
  };
  EXPECT_EQ(found(20'000), "");
  EXPECT_EQ(found(128'000), "");
}

// Also where it touches nothing in between: 2 MB, of which only the far end.
TEST(LocalMemory, EndsBeforeAnotherThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(FoundIn(R"(__device__ __attribute__((noinline)) float Far(float x, long long n) {
  float local[500000];
  for (long long k = threadIdx.x; k < 500000; k += n * 500) local[k] = x;
  __syncwarp();
  return local[threadIdx.x + n - 1000];
}
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  float x = i < n ? X[i] : 0;
  if (threadIdx.x >= 32) x = Far(x, n);
  if (i < n) Y[i] = 2 * x;
}
)"),
               "");
}

TEST(Launches, KeepTheirBounds) {
  const std::string source = R"(template <int kThreads>
__device__ void Twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * (long long)kThreads + threadIdx.x;
  if (i < n) Y[i] = 2 * X[i];
}
constexpr int kThreads = 128;
extern "C" __global__ void __launch_bounds__(kThreads, 2)
    one(const float* X, float* Y, long long n) {
  Twice<256>(X, Y, n);
}
)";
  const auto launch = [](const std::string& threads) {
    return "kernel = \"one\"\ngrid = [\"ceil_div(n, 256)\", 1, 1]\nblock = [" + threads +
           ", 1, 1]\n";
  };
  const Report report = Audited(OneKernel(launch("256"), source));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kLaunchFailed);
  EXPECT_EQ(report.outcome.detail,
            "one at one.cu:8: launched with 256 threads a block, of which its __launch_bounds__ "
            "allow 128");
  std::string fits = source;
  fits.replace(fits.find("= 128"), 5, "= 256");
  EXPECT_EQ(FoundIn(fits, launch("256")), "");
}

TEST(Launches, HoldBoundsWhereverTheyStand) {
  EXPECT_EQ(
      *WithLaunchBounds("__launch_bounds__(a(1, 2), 3) __global__ void k(int x) {\n}", "k.cu"),
      "__launch_bounds__(a(1, 2), 3) __global__ void k(int x) { PAWL_BOUNDS((a(1, 2)));\n}");
  EXPECT_EQ(
      *WithLaunchBounds("#define K \\\n __launch_bounds__(1)\n// __launch_bounds__(2)\n", "k.cu"),
      "#define K \\\n __launch_bounds__(1)\n// __launch_bounds__(2)\n");
  const auto declared =
      WithLaunchBounds("\n__global__ void __launch_bounds__(64) k(int x);", "k.cu");
  ASSERT_FALSE(declared);
  EXPECT_EQ(
      declared.error().message,
      "k.cu:2: __launch_bounds__ of a kernel that is only declared; the emulated device holds "
      "launches against those at its definition: put them there");
}

TEST(Atomics, AreHeldToTheirAddresses) {
  const auto found = [](const std::string& statement) {
    return FoundIn(
        "extern \"C\" __global__ void one(const float* X, float* Y, long long n) {\n"
        "  const long long i = blockIdx.x * 64ll + threadIdx.x;\n"
        "  if (i < n) Y[i] = 2 * X[i];\n  if (i == 0) " +
        statement + ";\n}\n");
  };
  EXPECT_THAT(found("atomicAdd((unsigned*)((char*)Y + 6), 0u)"),
              HasSubstr("one.cu:4: thread (0,0,0) of block (0,0,0): an atomic on Y[1], which is no "
                        "multiple of 4"));
  EXPECT_THAT(found("atomicAdd((float*)X + 3, 0.0f)"),
              HasSubstr("one.cu:4: thread (0,0,0) of block (0,0,0) writes to the input X[3]"));
  EXPECT_THAT(found("atomicAdd(Y + n, 0.0f)"),
              HasSubstr("one.cu:4: thread (0,0,0) of block (0,0,0) writes 4 bytes out of range: Y "
                        "element 1000, of 1000"));
}

TEST(Kernels, StopWhereTheySaySo) {
  const auto found = [](const std::string& statement) {
    return FoundIn(
        "#include <cassert>\n"
        "extern \"C\" __global__ void one(const float* X, float* Y, long long n) {\n"
        "  const long long i = blockIdx.x * 64ll + threadIdx.x;\n  " +
        statement + ";\n  if (i < n) Y[i] = 2 * X[i];\n}\n");
  };
  EXPECT_EQ(found("if (i == 70) __trap()"),
            "one at one.cu:4: thread (6,0,0) of block (1,0,0) stops at __trap()");
  EXPECT_EQ(found("assert(i < 64)"),
            "one at one.cu:4: thread (0,0,0) of block (1,0,0) stops at assert(i < 64)");
  EXPECT_EQ(found("assert(i < 64 * 16)"), "");
}

}  // namespace
}  // namespace pawl::test
