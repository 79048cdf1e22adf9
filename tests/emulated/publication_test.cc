// What orders blocks in global memory: a fence and an atomic behind it, an atomic in the other
// block.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"
#include "worker/device/emulated/publication.h"
#include "worker/device/emulated/who.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kUnordered = "with nothing that orders the two blocks between";

// Each block leaves X in Y; the last one to arrive doubles all of it. The texts stand before the
// writes, between them and the arrival, before and after the atomic, and in the last block.
struct Steps {
  std::string before, between = "__syncthreads();", arriving = "__threadfence();", arrived;
  std::string last = "if (threadIdx.x == 0) count = 0;", doubled = "threadIdx.x";
};
std::string LastBlock(const Steps& steps) {
  return R"(__device__ unsigned count = 0;
__device__ unsigned others[16];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ unsigned before;
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  )" + steps.before +
         R"(
  if (i < n) Y[i] = X[i];
  )" + steps.between +
         R"(
  if (threadIdx.x == 0) {
    )" + steps.arriving +
         R"(
    before = atomicAdd(&count, 1u);
    )" + steps.arrived +
         R"(
  }
  __syncthreads();
  if (before + 1 != gridDim.x) return;
  )" + steps.last +
         R"(
  for (long long k = )" +
         steps.doubled + R"(; k < n; k += 64) Y[k] = 2 * Y[k];
}
)";
}

TEST(LastBlock, MayReadWhatTheOthersHaveLeft) { EXPECT_EQ(FoundIn(LastBlock({})), ""); }

TEST(LastBlock, MayBeToldByFencesOfAllThreads) {
  Steps steps;
  steps.between = "__threadfence(); __syncthreads();";
  steps.arriving = "";
  EXPECT_EQ(FoundIn(LastBlock(steps)), "");
}

TEST(LastBlock, NeedsAFence) {
  Steps steps;
  steps.arriving = "";
  EXPECT_THAT(FoundIn(LastBlock(steps)),
              AllOf(HasSubstr("one.cu:17: race on global memory: thread (0,0,0) of block (15,0,0) "
                              "reads Y[0], which thread (0,0,0) of block (0,0,0) wrote"),
                    HasSubstr(kUnordered)));
}

TEST(LastBlock, NeedsABarrierBeforeTheFence) {
  Steps steps;
  steps.between = "";
  EXPECT_THAT(FoundIn(LastBlock(steps)), HasSubstr(kUnordered));
}

TEST(LastBlock, NeedsTheFenceBehindTheWrites) {
  Steps steps;
  steps.before = "__threadfence();";
  steps.arriving = "";
  EXPECT_THAT(FoundIn(LastBlock(steps)), HasSubstr(kUnordered));
}

TEST(LastBlock, NeedsTheFenceBeforeTheAtomic) {
  Steps steps;
  steps.arriving = "";
  steps.arrived = "__threadfence();";
  EXPECT_THAT(FoundIn(LastBlock(steps)), HasSubstr(kUnordered));
}

TEST(LastBlock, NeedsTheFenceOfTheThreadThatArrives) {
  Steps steps;
  steps.between = "if (threadIdx.x == 1) __threadfence(); __syncthreads();";
  steps.arriving = "";
  EXPECT_THAT(FoundIn(LastBlock(steps)), HasSubstr(kUnordered));
}

TEST(LastBlock, NeedsTheSameAtomic) {
  Steps steps;
  steps.arriving = "__threadfence(); atomicAdd(&others[0], blockIdx.x);";
  EXPECT_EQ(FoundIn(LastBlock(steps)), "") << "an atomic elsewhere takes nothing away";
  steps.arriving = "";
  steps.arrived = "__threadfence(); atomicAdd(&others[blockIdx.x], 1u);";
  EXPECT_THAT(FoundIn(LastBlock(steps)), HasSubstr(kUnordered));
}

TEST(LastBlock, MustLeaveItsCounterAsItFoundIt) {
  Steps steps;
  steps.last = "";
  EXPECT_THAT(FoundIn(LastBlock(steps)), AllOf(HasSubstr("Y["), HasSubstr("wrong")))
      << "a variable keeps its value from run to run";
}

// The blocks of a cluster have their variables, each of them, at addresses of its own.
TEST(LastBlock, MayBeOfACluster) {
  constexpr const char* kPairs =
      "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ncluster = [2, 1, 1]\n";
  EXPECT_EQ(FoundIn(LastBlock({}), kPairs), "");
  Steps steps;
  steps.arriving = "";
  EXPECT_THAT(FoundIn(LastBlock(steps), kPairs), HasSubstr("race on global memory"));
}

// A warp a block: __syncwarp in the barrier's place, and shuffles order nothing.
std::string LastWarp(const std::string& before, const std::string& after) {
  return R"(__device__ unsigned count = 0;
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 32ll + threadIdx.x;
  if (i < n) Y[i] = X[i];
  )" + before +
         R"(
  unsigned arrived = 0;
  if (threadIdx.x == 0) {
    __threadfence();
    arrived = atomicAdd(&count, 1u);
  }
  arrived = __shfl_sync(0xffffffffu, arrived, 0);
  if (arrived + 1 < gridDim.x) return;
  )" + after +
         R"(
  for (long long k = threadIdx.x; k < n; k += 32) Y[k] = 2 * Y[k];
  if (threadIdx.x == 0) count = 0;
}
)";
}

TEST(LastBlock, MayBeAWarp) {
  constexpr const char* kWarps =
      "kernel = \"one\"\ngrid = [\"ceil_div(n, 32)\", 1, 1]\nblock = [32, 1, 1]\n";
  EXPECT_EQ(FoundIn(LastWarp("__syncwarp();", "__syncwarp();"), kWarps), "");
  EXPECT_THAT(FoundIn(LastWarp("", "__syncwarp();"), kWarps), HasSubstr(kUnordered));
  EXPECT_THAT(FoundIn(LastWarp("__syncwarp();", ""), kWarps), HasSubstr(kUnordered));
}

// Each block does `before` arriving, without a barrier of its own; the last one does `last`.
std::string Arriving(const std::string& before, const std::string& last,
                     const std::string& arriving = "__threadfence();") {
  return R"(__device__ unsigned count, sum;
__device__ float table[4];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ unsigned seen;
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  float zero = 0;
  )" + before +
         R"(
  if (i < n) Y[i] = 2 * X[i] + zero;
  if (threadIdx.x == 0) {
    )" + arriving +
         R"(
    seen = atomicAdd(&count, 1u);
  }
  __syncthreads();
  if (seen + 1 != gridDim.x) return;
  )" + last +
         R"(
  if (threadIdx.x == 0) count = 0;
}
)";
}

TEST(Arrivals, OrderAtomicsOnlyBeforeTheirBarrier) {
  constexpr const char* kLast =
      "if (threadIdx.x == 0) { __threadfence(); if (sum != 1024) __trap(); sum = 0; }";
  EXPECT_EQ(FoundIn(Arriving("atomicAdd(&sum, 1u); __syncthreads();", kLast)), "");
  EXPECT_EQ(FoundIn(Arriving("atomicAdd(&sum, 1u); __threadfence(); __syncthreads();", kLast, "")),
            "");
  EXPECT_THAT(FoundIn(Arriving("atomicAdd(&sum, 1u);", kLast)),
              AllOf(HasSubstr("one.cu:15"),
                    HasSubstr("of block (15,0,0) reads the __device__ variable sum"),
                    HasSubstr("which threads of block ("), HasSubstr(kUnordered)));
  EXPECT_THAT(FoundIn(Arriving("atomicAdd(&sum, 1u);", "if (threadIdx.x == 32) sum = 0;")),
              AllOf(HasSubstr("writes the __device__ variable sum"), HasSubstr(kUnordered)));
}

TEST(Arrivals, OrderReadsOnlyBeforeTheirBarrier) {
  constexpr const char* kReads = "zero = table[threadIdx.x % 4];";
  constexpr const char* kLast = "if (threadIdx.x < 4) table[threadIdx.x] = 0;";
  const std::string reads = kReads;
  EXPECT_EQ(FoundIn(Arriving(reads + " __syncthreads();", kLast)), "");
  EXPECT_EQ(FoundIn(Arriving(reads + " __threadfence(); __syncthreads();", kLast, "")), "");
  EXPECT_THAT(FoundIn(Arriving(reads, kLast)),
              AllOf(HasSubstr("one.cu:15"), HasSubstr("writes the __device__ variable table"),
                    HasSubstr("of block ("), HasSubstr(" read, "), HasSubstr(kUnordered)));
  EXPECT_THAT(FoundIn(Arriving("if (blockIdx.x < 3) " + reads, kLast)), HasSubstr(kUnordered))
      << "the blocks that read are long gone";
  EXPECT_THAT(FoundIn(Arriving("if (blockIdx.x == 3) " + reads, kLast)), HasSubstr(kUnordered))
      << "several of one block";
  EXPECT_EQ(FoundIn(Arriving("if (threadIdx.x == 0) " + reads, kLast)), "") << "its own";
  EXPECT_EQ(FoundIn(Arriving("if (threadIdx.x < 32) { " + reads + " __syncwarp(); }", kLast)), "")
      << "those of its warp";
  EXPECT_THAT(FoundIn(Arriving("if (threadIdx.x < 32) __syncwarp(); if (threadIdx.x < 32) " + reads,
                               kLast)),
              HasSubstr(kUnordered));
}

TEST(Arrivals, OrderReadsAndAtomicsOfAClusterByItsBarriers) {
  constexpr const char* kPairs =
      "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ncluster = [2, 1, 1]\n";
  constexpr const char* kLast =
      "if (threadIdx.x < 4) table[threadIdx.x] = 0; if (threadIdx.x == 0) sum = 0;";
  const auto found = [&](const std::string& barrier) {
    return FoundIn("#include \"pawl_device.h\"\n" +
                       Arriving("zero = table[threadIdx.x % 4]; atomicAdd(&sum, 1u); " + barrier +
                                    " if (blockIdx.x % 2 == 1 && threadIdx.x == 0) { "
                                    "zero = table[0]; atomicAdd(&sum, 1u); }",
                                kLast),
                   kPairs);
  };
  EXPECT_EQ(found("pawl::ClusterSync();"), "");
  EXPECT_EQ(found("__syncthreads();"), "") << "each of its blocks arrives for itself";
  EXPECT_THAT(found(""), HasSubstr("race on global memory"));
}

// Nothing but the count: its last arrival has seen them all.
TEST(Arrivals, LetTheLastOnePutTheCountBack) {
  EXPECT_EQ(FoundIn(Arriving("", "", "")), "");
  // Each warp for itself.
  EXPECT_EQ(FoundIn(R"(__device__ unsigned count;
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < n) Y[i] = X[i];
  __syncwarp();
  unsigned arrived = 0;
  if (threadIdx.x % 32 == 0) {
    __threadfence();
    arrived = atomicAdd(&count, 1u);
  }
  arrived = __shfl_sync(0xffffffffu, arrived, 0);
  if (arrived + 1 < 2 * gridDim.x) return;
  __syncwarp();
  for (long long k = threadIdx.x % 32; k < n; k += 32) Y[k] = 2 * Y[k];
  if (threadIdx.x % 32 == 1) count = 0;
}
)"),
            "");
}

TEST(DeviceVariables, AreGlobalMemoryOfAllBlocks) {
  EXPECT_THAT(FoundIn(R"(__device__ float latest[4];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < n) Y[i] = 2 * X[i];
  if (threadIdx.x == 0) latest[1] = 1;
}
)"),
              AllOf(HasSubstr("one.cu:5: race on global memory: thread (0,0,0) of block (1,0,0) "
                              "writes the __device__ variable latest, byte 4 of 16 (word 1), which "
                              "thread (0,0,0) of block (0,0,0) wrote"),
                    HasSubstr(kUnordered)));
  EXPECT_THAT(FoundIn(R"(__device__ float latest[4];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  float* const at = latest;
  if (i < n) Y[i] = 2 * X[i];
  if (i == 0) at[n - 996] = 1;
}
)"),
              AllOf(HasSubstr("one.cu:6"),
                    HasSubstr("thread (0,0,0) of block (0,0,0) writes 4 bytes out of range: the "
                              "__device__ variable latest byte 16, of 16")));
}

TEST(DeviceVariables, BeginAsTheyAreDeclared) {
  EXPECT_EQ(FoundIn(R"(__device__ float factors[3] = {0, 2, 1};
__device__ int zero;
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < n) Y[i] = factors[1 + zero] * X[i];
}
)"),
            "");
}

TEST(DeviceVariables, AreOneForTheBlocksOfACluster) {
  EXPECT_EQ(
      FoundIn(R"(#include "pawl_device.h"
__device__ unsigned count;
__device__ float twos[16];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (threadIdx.x == 0) atomicAdd(&count, 1u);
  if (threadIdx.x == 1) twos[blockIdx.x] = 2;
  pawl::ClusterSync();
  if (i < n) Y[i] = twos[blockIdx.x ^ 1] * X[i];
  if (threadIdx.x == 0 && atomicAdd(&count, 0u) % 2 != 0) __trap();
  pawl::ClusterSync();
}
)",
              "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ncluster = [2, 1, 1]\n"),
      "");
}

TEST(DeviceVariables, AreOneForCopiesOfACluster) {
  EXPECT_THAT(
      FoundIn(R"(#include "pawl_device.h"
__device__ float table[4];
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ float tile[4];
  const long long i = blockIdx.x * 512ll + threadIdx.x;
  if (i < n) Y[i] = 2 * X[i];
  if (threadIdx.x == 0 && pawl::ClusterRank() == 1) pawl::CpAsync4(tile, table);
  pawl::ClusterSync();
  if (threadIdx.x == 0 && pawl::ClusterRank() == 0) table[0] = 0;
  pawl::ClusterSync();
  pawl::CpAsyncCommit();
  pawl::CpAsyncWait<0>();
}
)",
              "kernel = \"one\"\ngrid = [2, 1, 1]\nblock = [512, 1, 1]\ncluster = [2, 1, 1]\n"),
      AllOf(HasSubstr("one.cu:9"), HasSubstr("writes the __device__ variable table, byte 0 of 16"),
            HasSubstr("which an asynchronous copy that is still in flight reads")));
}

// Without kernels: what one block hands on to the next but one.
TEST(Publications, HandOnWhatTheyHaveAcquired) {
  const auto at = [](std::uint32_t epoch) { return Instant{0, 0, epoch, epoch, 0, -1}; };
  Publications publications;
  publications.BeginLaunch();
  publications.BeginCluster();
  const PastAccess write{0, 0, 0, false, 1, 0, publications.stamp()};
  publications.Fence(at(1), nullptr);
  const PastAccess late{0, 0, 0, false, 1, 0, publications.stamp()};
  publications.Atomic(100, at(1), nullptr);
  publications.BeginCluster();
  publications.Atomic(100, at(2), nullptr);
  EXPECT_TRUE(publications.Reaches(write, at(2), nullptr));
  EXPECT_FALSE(publications.Reaches(late, at(2), nullptr)) << "written after the fence";
  publications.Fence(at(2), nullptr);
  publications.Atomic(200, at(2), nullptr);
  publications.BeginCluster();
  EXPECT_FALSE(publications.Reaches(write, at(3), nullptr));
  publications.Atomic(200, at(3), nullptr);
  EXPECT_TRUE(publications.Reaches(write, at(3), nullptr));
  publications.BeginCluster();
  publications.Atomic(300, at(4), nullptr);
  EXPECT_FALSE(publications.Reaches(write, at(4), nullptr));
}

// Whom a fence of thread 0 of rank 0 covers, behind no barrier, a barrier, one of the cluster.
TEST(Publications, CoverSeveralThreadsBehindTheirBarrier) {
  struct Case {
    std::uint16_t rank, threads;
    WarpClock::Moment moment;
    bool none, barrier, cluster_barrier;
  };
  for (const Case& access :
       {Case{0, kSeveralWarps, 0, false, true, true}, Case{1, kSeveralWarps, 0, false, false, true},
        Case{0, kSeveralRanks, 0, false, false, true},
        Case{0, 1, 0, true, true, true},  // the first warp before a __syncwarp
        Case{0, 1, 1, false, true, true},
        Case{0, kLanes + 1, 0, false, true, true}}) {  // the second
    const auto covered = [&](std::uint32_t epoch, std::uint32_t cluster_epoch) {
      Publications publications;
      publications.BeginLaunch();
      publications.BeginCluster();
      const Instant fence{0, 0, epoch, cluster_epoch, 1, -1};
      publications.Fence(fence, nullptr);
      publications.Atomic(100, fence, nullptr);
      publications.BeginCluster();
      const Instant later{0, 0, 9, 9, 0, -1};
      publications.Atomic(100, later, nullptr);
      return publications.Reaches({0, access.rank, access.threads, true, 2, access.moment, 0},
                                  later, nullptr);
    };
    EXPECT_EQ(covered(2, 1), access.none) << access.threads << " of rank " << access.rank;
    EXPECT_EQ(covered(3, 1), access.barrier) << access.threads << " of rank " << access.rank;
    EXPECT_EQ(covered(3, 3), access.cluster_barrier) << access.threads << " of " << access.rank;
  }
}

}  // namespace
}  // namespace pawl::test
