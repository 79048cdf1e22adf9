// Blocks of a cluster: when each other's shared memory may be touched, and what orders them.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two blocks of 64 threads; `other`: the other's `sum`.
std::string Found(const std::string& statements) {
  return FoundIn(R"(#include "pawl_device.h"
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ float sum[64];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  const unsigned rank = pawl::ClusterRank();
  float* const other = pawl::MapShared(sum, rank ^ 1);
  const float x = i < n ? 2 * X[i] : 0;
)" + statements + "\n}\n",
                 "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ncluster = [2, 1, 1]\n");
}

TEST(Clusters, ShareMemoryBetweenTheirBarriers) {
  EXPECT_EQ(Found(R"(  pawl::ClusterSync();
  other[threadIdx.x] = x;
  pawl::ClusterSync();
  const float mine = sum[threadIdx.x];
  pawl::ClusterSync();
  other[threadIdx.x] = mine;
  pawl::ClusterSync();
  if (i < n) Y[i] = sum[threadIdx.x];)"),
            "");
}

TEST(Clusters, TouchNothingOfABlockThatMayNotHaveStarted) {
  EXPECT_THAT(
      Found(R"(  other[threadIdx.x] = x;
  pawl::ClusterSync();
  if (i < n) Y[i] = x;)"),
      HasSubstr("one.cu:8: thread (0,0,0) of block (0,0,0) writes sum in shared memory, byte 0 "
                "of 256 (word 0) of block (1,0,0) before any ClusterSync(): that block may "
                "not have started"));
}

TEST(Clusters, MayNotLeaveWhileAnotherReads) {
  const auto found = [](const std::string& reader) {
    return Found(R"(  sum[threadIdx.x] = x;
  pawl::ClusterSync();
  float y = x;
  if (rank == )" +
                 reader + R"() {
    y += 0 * other[threadIdx.x];
  }
  if (i < n) Y[i] = y;)");
  };
  EXPECT_THAT(found("0"),
              HasSubstr("one.cu:12: block (1,0,0) leaves its cluster while thread (63,0,0) of "
                        "block (0,0,0) uses its shared memory: no cluster barrier lies between"));
  EXPECT_THAT(found("1"),
              HasSubstr("one.cu:12: thread (0,0,0) of block (1,0,0) reads sum in shared memory, "
                        "byte 0 of 256 (word 0) of block (0,0,0), which has left the cluster"));
}

TEST(Clusters, RaceWithoutABarrierOfTheirs) {
  EXPECT_THAT(
      Found(R"(  pawl::ClusterSync();
  sum[threadIdx.x] = x;
  __syncthreads();
  other[threadIdx.x] = x;
  pawl::ClusterSync();
  if (i < n) Y[i] = x;)"),
      AllOf(HasSubstr("race on shared memory"), HasSubstr("with no cluster barrier between")));
  EXPECT_THAT(
      Found(R"(  if (i < n) Y[i] = x;
  __syncthreads();
  if (rank == 1 && i < n) Y[i - 64] += 0;
  pawl::ClusterSync();)"),
      AllOf(HasSubstr("race on global memory"), HasSubstr("with no cluster barrier between")));
}

TEST(Clusters, CopyAsynchronouslyIntoTheirOwnBlock) {
  const auto copies = [](const std::string& into) {
    return R"(  pawl::ClusterSync();
  if (threadIdx.x == 0) pawl::CpAsync4()" +
           into + R"(, X);
  pawl::CpAsyncCommit();
  pawl::CpAsyncWait<0>();
  pawl::ClusterSync();
  if (i < n) Y[i] = x;)";
  };
  EXPECT_EQ(Found(copies("sum")), "");
  EXPECT_THAT(
      Found(copies("other")),
      AllOf(HasSubstr("one.cu:9"),
            HasSubstr("thread (0,0,0) of block (0,0,0): an asynchronous copy to sum in shared "
                      "memory, byte 0 of 256 (word 0), which is another block's")));
}

TEST(Clusters, HaveOnlyTheRanksTheyHave) {
  EXPECT_THAT(
      Found("  pawl::MapShared(sum, 2);\n  if (i < n) Y[i] = x;"),
      HasSubstr("one.cu:8: thread (0,0,0) of block (0,0,0) maps shared memory of rank 2 of a "
                "cluster of 2 blocks"));
  EXPECT_THAT(
      Found("  pawl::MapShared(Y, 1);\n  if (i < n) Y[i] = x;"),
      HasSubstr("one.cu:8: thread (0,0,0) of block (0,0,0) maps Y[0], which is not its block's "
                "shared memory"));
}

}  // namespace
}  // namespace pawl::test
