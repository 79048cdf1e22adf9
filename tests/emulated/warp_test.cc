// What the emulated device makes of warps: who waits for whom, what __syncwarp orders.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"
#include "worker/device/emulated/warp_clock.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A kernel of 64 threads a block whose `body` has i, x (2 X[i]) and lane, and sets y.
std::string Kernel(const std::string& body) {
  return "extern \"C\" __global__ void one(const float* X, float* Y, long long n) {\n"
         "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
         "  const unsigned lane = threadIdx.x % 32;\n"
         "  const float x = i < n ? 2 * X[i] : 0;\n"
         "  float y = 0;\n" +
         body + "\n  if (i < n) Y[i] = y;\n}\n";
}

TEST(WarpClock, KnowsTheSmallestGroupOfTwo) {
  EXPECT_EQ(LanesOf(1), 0xffffffffu);
  EXPECT_EQ(LanesOf(3), 0xffff0000u);
  EXPECT_EQ(LanesOf(GroupOf(7)), 1u << 7);
  EXPECT_EQ(LanesOf(CommonGroup(GroupOf(16), GroupOf(31))), 0xffff0000u);
  EXPECT_EQ(LanesOf(CommonGroup(GroupOf(15), GroupOf(16))), 0xffffffffu);
  EXPECT_EQ(LanesOf(CommonGroup(CommonGroup(GroupOf(4), GroupOf(5)), GroupOf(6))), 0xf0u);
}

TEST(WarpClock, OrdersWhoHasMet) {
  WarpClock clock;
  const auto start = clock.Now(0);
  EXPECT_FALSE(clock.Before(0, start, 1));
  clock.Meet(~0u, true);
  EXPECT_TRUE(clock.Before(0, start, 1));
  const auto whole = clock.Now(3);
  clock.Meet(0x0000ffffu, false);
  EXPECT_TRUE(clock.Before(3, whole, 4)) << "both have met";
  EXPECT_FALSE(clock.Before(3, whole, 20));
  EXPECT_FALSE(clock.Before(20, whole, 3));
  EXPECT_TRUE(clock.Before(20, start, 3)) << "from before they parted";
  const auto half = clock.Now(3);
  EXPECT_FALSE(clock.Before(3, half, 4));
  // 4 meets 20, and hands on what it knows of 3.
  clock.Meet(1u << 4 | 1u << 20, false);
  EXPECT_TRUE(clock.Before(3, whole, 20));
  EXPECT_FALSE(clock.Before(3, half, 20));
  EXPECT_TRUE(clock.AllBefore(CommonGroup(GroupOf(4), GroupOf(5)), whole, 20));
  EXPECT_FALSE(clock.AllBefore(1, whole, 20)) << "21 has not met anybody";
  const auto last = clock.Now(31);
  clock.Meet(~0u, true);
  EXPECT_TRUE(clock.Before(31, last, 0));
  EXPECT_TRUE(clock.Before(3, half, 20));
  EXPECT_EQ(clock.Met(0), nullptr) << "one number says it all again";
}

TEST(Warps, DoNotWaitForLanesThatHaveLeftTheKernel) {
  EXPECT_EQ(FoundIn(Kernel(R"(
  if (lane >= 20) { if (i < n) Y[i] = x; return; }
  __syncwarp();
  const unsigned votes = __ballot_sync(0xffffffffu, 1);
  const int all = __all_sync(0xffffffffu, 1) && !__any_sync(0xffffffffu, 0);
  if (lane == 19) { if (i < n) Y[i] = x; return; }
  const float other = __shfl_xor_sync(0xffffffffu, x, lane < 16 ? 1 : 0);
  y = votes == 0xfffffu && all && __shfl_xor_sync(0xffffffffu, other, lane < 16 ? 1 : 0) == x ? x : 0;)")),
            "");
}

TEST(Warps, CannotReadALaneThatHasLeftTheKernel) {
  EXPECT_THAT(FoundIn(Kernel(R"(
  if (lane == 31) { if (i < n) Y[i] = x; return; }
  y = x + 0 * __shfl_sync(0xffffffffu, x, 31);)")),
              AllOf(HasSubstr("one.cu:8: thread (0,0,0) of block (0,0,0) reads lane 31 by "
                              "__shfl_sync(), which has left the kernel")));
}

TEST(Warps, VoteAsManyAsThereAre) {
  EXPECT_EQ(FoundIn(Kernel(R"(
  y = __all_sync(0xffffffffu, 1) == 1 && __all_sync(0xffffffffu, lane > 0) == 0 &&
      __any_sync(0xffffffffu, lane == 15) == 1 ? x : 0;)"),
                    "kernel = \"one\"\ngrid = [\"ceil_div(n, 48)\", 1, 1]\nblock = [48, 1, 1]\n"),
            "");
}

TEST(Warps, SayWhoIsNotInItsMask) {
  EXPECT_THAT(FoundIn(Kernel("  __syncwarp(0x1u);\n  y = y > 1e30f ? y : x;")),
              HasSubstr("one.cu:6: thread (1,0,0) of block (0,0,0) is lane 1, which is not in the "
                        "mask 0x1 of its __syncwarp()"));
}

TEST(Warps, AggregateAtomicsByTheActiveMask) {
  EXPECT_EQ(FoundIn(Kernel(R"(
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (lane % 3 == 0) {
    const unsigned active = __activemask();
    const int leader = __ffs(active) - 1;
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(&count, __popc(active));
    first = __shfl_sync(active, first, leader);
    const unsigned mine = first + __popc(active & ((1u << lane) - 1));
    if (mine >= 22) __trap();
  } else if (lane % 3 == 1) {
    __syncwarp(__activemask());
  }
  __syncthreads();
  y = count == 22 ? x : 0;)")),
            "");
}

// Which lanes are active together is nothing to rely on.
TEST(Warps, AreNotWholeBecauseTheyLookIt) {
  EXPECT_THAT(FoundIn(Kernel("  y = x + 0 * __shfl_sync(__activemask(), x, 0);")),
              HasSubstr("reads lane 0 by __shfl_sync(), which is not in its mask 0x80000000"));
}

std::string Exchange(const std::string& between, unsigned distance) {
  return Kernel(
      "  __shared__ float tile[64];\n"
      "  for (int round = 0; round < 3; ++round) {\n"
      "    tile[threadIdx.x] = x;\n    " +
      between + "\n    y = tile[threadIdx.x ^ " + std::to_string(distance) +
      "];\n    y += tile[threadIdx.x ^ " + std::to_string(distance / 2) + "];\n    " + between +
      "\n  }\n  y = y > 1e30f ? y : x;");
}

TEST(Warps, AreOrderedBySyncwarpAndNothingLess) {
  EXPECT_EQ(FoundIn(Exchange("__syncwarp();", 16)), "");
  EXPECT_THAT(FoundIn(Exchange("__shfl_sync(0xffffffffu, x, 0);", 16)),
              HasSubstr("tile in shared memory"));
}

TEST(Warps, AreOrderedByHalvesWhereTheMaskIsAHalf) {
  const std::string half = "__syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);";
  EXPECT_EQ(FoundIn(Exchange(half, 8)), "");
  EXPECT_EQ(FoundIn(Exchange("__syncwarp(0xfu << lane / 4 * 4);", 2)), "");
  EXPECT_EQ(FoundIn(Exchange(half + " __syncwarp();", 16)), "");
  EXPECT_THAT(FoundIn(Kernel(R"(
  __shared__ float tile[64];
  tile[threadIdx.x] = x;
  __syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);
  y = tile[threadIdx.x ^ 1];
  if (lane < 16) tile[threadIdx.x + 16] = 0;)")),
              HasSubstr("race on shared memory: thread (16,0,0) of block (0,0,0) writes tile in "
                        "shared memory, byte 64 of 256 (word 16), which thread (0,0,0) of block "
                        "(0,0,0) wrote, with no barrier between"));
}

TEST(Warps, RememberAllReadersOfAHalf) {
  const auto kernel = [](const std::string& mask) {
    return Kernel(R"(
  __shared__ float sum[4];
  float* const mine = &sum[threadIdx.x / 16];
  if (lane % 16 == 15) *mine = x;
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  __syncwarp(half);
  for (int round = 0; round < 2; ++round) {
    y += *mine;
    __syncwarp()" +
                  mask + R"();
    if (lane % 16 == 15) *mine = x;
    __syncwarp(half);
  }
  y = y > 1e30f ? y : x;)");
  };
  EXPECT_EQ(FoundIn(kernel("half")), "");
  EXPECT_THAT(FoundIn(kernel("1u << lane")), HasSubstr("threads of warp 0 read"));
}

}  // namespace
}  // namespace pawl::test
