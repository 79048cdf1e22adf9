// Structs that calls take and return by value: what they load and store is watched, of 16 bytes and
// of more, which go by memory.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Functions too long to be inlined for their size, each called more than once: Doubled, marked as
// `function`, of Quad (16 bytes) and of Eight (32). `body` sets y from x (2 X[i]); it has shared
// arrays of 64, 17 quads, and eights.
std::string Kernel(const std::string& body, const std::string& function = "__device__") {
  return R"(struct __align__(16) Quad { float v[4]; };
struct Eight { float v[8]; };
template <int kCount, typename T>
__device__ T Turned(T its) {
  for (int turn = 0; turn < 3; ++turn) {
    for (int k = 0; k < kCount; ++k) its.v[k] = its.v[k] + its.v[k] * (turn == 3);
    for (int k = 1; k < kCount; ++k) its.v[k] = its.v[k - 1] > 3e38f ? its.v[0] : its.v[k];
  }
  return its;
}
)" + function +
         R"( Quad Doubled(Quad its) {
  its = Turned<4>(its);
  for (int k = 0; k < 4; ++k) its.v[k] *= 2;
  return Turned<4>(its);
}
)" + function +
         R"( Eight Doubled(Eight its) {
  its = Turned<8>(its);
  for (int k = 0; k < 8; ++k) its.v[k] *= 2;
  return Turned<8>(its);
}
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ Quad quads[64];
  __shared__ Eight eights[64];
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  const float x = i < n ? X[i] : 0;
  const float zero = n == 0;
  const Quad quad{x, x, x, x};
  const Eight eight{x, x, x, x, x, x, x, x};
  const Quad* const at = reinterpret_cast<const Quad*>(X);
  float y = 2 * x;
)" + body +
         "\n  if (i < n) Y[i] = y;\n}\n";
}

TEST(ByValue, WhatACallReturnsIsWritten) {
  const std::string body = R"(  quads[threadIdx.x] = Doubled(quad);
  __syncthreads();
  y = quads[threadIdx.x].v[3];
  eights[threadIdx.x] = Doubled(eight);
  __syncthreads();
  y += eights[threadIdx.x].v[7] - 2 * x;)";
  for (const char* function : {"__device__", "__device__ __noinline__", "static __device__"}) {
    EXPECT_EQ(FoundIn(Kernel(body, function)), "") << function;
  }
}

TEST(ByValue, AnOutputIsWrittenByACall) {
  EXPECT_EQ(FoundIn(Kernel(R"(  const long long q = i % 250;
  if (i < 250) reinterpret_cast<Quad*>(Y)[q] = Doubled(at[q]);
  if (i < 1000) return;)")),
            "");
}

TEST(ByValue, WhatACallTakesIsRead) {
  EXPECT_THAT(FoundIn(Kernel("  y += zero * Doubled(at[i]).v[0];")),
              AllOf(HasSubstr("one.cu:31: thread ("),
                    HasSubstr("reads 16 bytes out of range: X element 1000, of 1000")));
  EXPECT_THAT(FoundIn(Kernel("  y += zero * Doubled(((const Eight*)X)[i]).v[0];")),
              HasSubstr("out of range: X element 1000, of 1000"));
  EXPECT_THAT(FoundIn(Kernel("  if (i == 1000) quads[n % 64] = quad;\n"
                             "  y += zero * Doubled(quads[threadIdx.x]).v[0];")),
              HasSubstr("reads quads in shared memory, byte 0 of 1024 (word 0), which no thread of "
                        "the block has written"));
  EXPECT_THAT(FoundIn(Kernel(R"(  eights[threadIdx.x] = eight;
  y += zero * Doubled(eights[threadIdx.x ^ 32]).v[0];)")),
              HasSubstr("reads eights in shared memory"));
}

TEST(ByValue, WhatACallReturnsIsHeldToItsPlace) {
  // A store that nobody reads is no store to the compiler.
  const std::string use = "\n  __syncthreads();\n  y += zero * quads[threadIdx.x / 2].v[0];";
  EXPECT_THAT(FoundIn(Kernel("  if (i == 5) reinterpret_cast<Quad*>(Y)[250] = Doubled(quad);")),
              HasSubstr("writes 16 bytes out of range: Y element 1000, of 1000"));
  EXPECT_THAT(FoundIn(Kernel("  if (i == 5) *(Eight*)(Y + 993) = Doubled(eight);")),
              HasSubstr("out of range: Y element 993, of 1000"));
  EXPECT_THAT(FoundIn(Kernel("  quads[threadIdx.x / 2] = Doubled(quad);" + use)),
              HasSubstr("race on shared memory: thread (1,0,0) of block (0,0,0) writes quads"));
  EXPECT_THAT(FoundIn(Kernel("  *(Quad*)((char*)quads + 8) = Doubled(quad);" + use)),
              HasSubstr("no multiple of 16"));
}

// Recursion, and calls through a pointer: what they store is not seen, and not called unwritten.
TEST(ByValue, WhatCannotBePartOfTheKernelIsNotCalledUnwritten) {
  const std::string deep =
      "__device__ Quad Deep(Quad its, int depth) {\n"
      "  if (depth == 0) return Doubled(its);\n"
      "  Quad under = Deep(its, depth - 1);\n"
      "  under.v[0] = Deep(its, depth / 2).v[1];\n"
      "  return under;\n}\n"
      "__device__ Quad Plain(Quad its) { its.v[3] *= 2; return its; }\n";
  const auto kernel = [&](const std::string& body) {
    std::string text = Kernel(body);
    return text.insert(text.find("extern \"C\""), deep);
  };
  const std::string use = "  __syncthreads();\n  y = quads[threadIdx.x].v[3];";
  EXPECT_EQ(FoundIn(kernel("  quads[threadIdx.x] = Deep(quad, n % 7 + 1);\n" + use)), "");
  EXPECT_EQ(FoundIn(kernel("  Quad (*const call)(Quad) = n > 5 ? (Quad(*)(Quad))Doubled : Plain;\n"
                           "  quads[threadIdx.x] = call(quad);\n" +
                           use)),
            "");
  EXPECT_THAT(FoundIn(kernel("  if (threadIdx.x > 3) quads[threadIdx.x] = Doubled(quad);\n" + use)),
              HasSubstr("which no thread of the block has written"));
}

}  // namespace
}  // namespace pawl::test
