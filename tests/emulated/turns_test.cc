// Whose turn it is: threads go on from the first to the last or from the last to the first, behind
// what they wait for as at the kernel's beginning.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::ElementsAreArray;

// Y[i]: how many threads have come before thread i of a grid of `threads` to what stands behind
// `wait`; wanted is their order.
void ExpectTurns(const std::string& wait, const std::string& launch, std::size_t threads) {
  SCOPED_TRACE(wait);
  const Order order = OneKernel("kernel = \"one\"\n" + launch, R"(#include "pawl_device.h"
__device__ unsigned before = 0u;
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
)" + wait + R"(
  const unsigned turn = atomicAdd(&before, 1u);
  if (i < n) Y[i] = turn;
}
)");
  for (const bool watched : {true, false}) {
    for (const bool descending : {false, true}) {
      SCOPED_TRACE(descending ? "descending" : "ascending");
      const Ran ran = RunLaunches(order, {descending, false, watched});
      ASSERT_EQ(ran.finding, std::nullopt);
      std::vector<float> turns = ran.buffers.at("Y");
      turns.resize(threads);
      std::vector<float> wanted;
      for (std::size_t i = 0; i < threads; ++i) {
        wanted.push_back(static_cast<float>(descending ? threads - 1 - i : i));
      }
      EXPECT_THAT(turns, ElementsAreArray(wanted));
    }
  }
}

TEST(Turns, GoFromFirstToLastAndBackBehindABarrier) {
  const std::string blocks = "grid = [2, 1, 1]\nblock = [80, 1, 1]\n";
  ExpectTurns("", blocks, 160);
  ExpectTurns("  __syncthreads();", blocks, 160);
  ExpectTurns("  __syncthreads();\n  const int all = __syncthreads_count(1);", blocks, 160);
}

TEST(Turns, GoFromFirstToLastAndBackBehindAWarpOperation) {
  const std::string blocks = "grid = [2, 1, 1]\nblock = [64, 1, 1]\n";
  ExpectTurns("  __syncwarp();", blocks, 128);
  ExpectTurns("  __syncthreads();\n  __shfl_xor_sync(~0u, lane, 1);", blocks, 128);
  ExpectTurns("  __syncwarp(lane < 8 ? 0xffu : 0xffffff00u);", blocks, 128);
}

TEST(Turns, GoFromFirstToLastAndBackBehindAClusterBarrier) {
  const std::string blocks = "grid = [4, 1, 1]\nblock = [64, 1, 1]\ncluster = [2, 1, 1]\n";
  ExpectTurns("  pawl::ClusterSync();", blocks, 256);
  ExpectTurns("  pawl::ClusterSync();\n  __syncthreads();\n  pawl::ClusterSync();", blocks, 256);
}

// 64 values of a normal fill have the same sum in any order, 64 of a uniform one have not.
TEST(Turns, ShowTheOrderOfASumByAtomicsWhereItsRoundingDoes) {
  const auto found = [](const Fill& fill) {
    Order order = OneKernel("kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\n", R"(
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  const float x = i < n ? X[i] : 0;
  atomicAdd(&sum, x);
  __syncthreads();
  const unsigned last_bit = __float_as_uint(sum) & 1u;
  if (i < n) Y[i] = 2 * x * (1 + last_bit * 1.2e-7f);
}
)");
    order.buffers[0].fill = fill;
    return Audited(order).outcome.detail;
  };
  EXPECT_EQ(found({FillKind::kNormal, 0, 1}), "");
  EXPECT_THAT(found({FillKind::kUniform, -1, 1}), testing::HasSubstr("not deterministic: Y["));
}

}  // namespace
}  // namespace pawl::test
