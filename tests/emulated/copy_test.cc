// Asynchronous copies: between which memories, and what must leave them alone while in flight.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Found(const std::string& statements) {
  return FoundIn(R"(#include "pawl_device.h"
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ __align__(16) float tile[256];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < n) Y[i] = 2 * X[i];
  if (i == 0) {
)" + statements + "\n  }\n}\n");
}

TEST(Copies, GoFromGlobalToSharedMemory) {
  EXPECT_EQ(Found("pawl::CpAsync16(tile, X); pawl::CpAsyncCommit(); pawl::CpAsyncWait<0>();"), "");
  EXPECT_THAT(Found("pawl::CpAsync4(Y, X);"),
              HasSubstr("one.cu:7: thread (0,0,0) of block (0,0,0): an asynchronous copy to Y[0], "
                        "which is not shared memory"));
  EXPECT_THAT(
      Found("pawl::CpAsync4(tile, tile + 8);"),
      HasSubstr("one.cu:7: thread (0,0,0) of block (0,0,0): an asynchronous copy from tile in "
                "shared memory, byte 32 of 1024 (word 8), which is not global memory"));
}

TEST(Copies, NeedAddressesOfTheirSize) {
  EXPECT_THAT(
      Found("pawl::CpAsync16(tile + 1, X);"),
      HasSubstr("one.cu:7: thread (0,0,0) of block (0,0,0): an asynchronous copy of 16 bytes, "
                "whose destination, tile in shared memory, byte 4 of 1024 (word 1), is no "
                "multiple of 16"));
  EXPECT_THAT(
      Found("pawl::CpAsync8(tile, X + 3);"),
      HasSubstr("an asynchronous copy of 8 bytes, whose source, X[3], is no multiple of 8"));
}

TEST(Copies, KeepTheirSourceUntilTheyAreWaitedFor) {
  EXPECT_THAT(Found("pawl::CpAsync4(tile, Y); Y[0] = 2 * X[0];"),
              AllOf(HasSubstr("one.cu:7"),
                    HasSubstr("thread (0,0,0) of block (0,0,0) writes Y[0], which an asynchronous "
                              "copy that is still in flight reads")));
  EXPECT_EQ(Found("pawl::CpAsync4(tile, Y); pawl::CpAsyncCommit(); pawl::CpAsyncWait<0>();\n"
                  "Y[0] = 2 * X[0];"),
            "");
}

}  // namespace
}  // namespace pawl::test
