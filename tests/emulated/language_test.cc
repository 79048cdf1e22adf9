// What ordinary kernels use of the language beside what the shipped ones do.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::HasSubstr;

// `body` sets y, which must be 2 x; it has t, i, x, and a shared array of 64.
std::string Kernel(const std::string& body, const std::string& before = "") {
  return before + R"(
extern "C" __global__ void one(const float* X, float* Y, long long n) {
  __shared__ float all[64];
  const int t = threadIdx.x;
  const long long i = blockIdx.x * 64ll + t;
  const float x = i < n ? X[i] : 0;
  all[t] = x;
  __syncthreads();
  float y = 0;
)" + body +
         "\n  if (i < n) Y[i] = y;\n}\n";
}

const char* const kDynamic =
    "kernel = \"one\"\ngrid = [16, 1, 1]\nblock = [64, 1, 1]\ndynamic_shared_bytes = 512\n";

TEST(Language, IsWhatOrdinaryKernelsUse) {
  for (const char* body : {
           "y = 2 * x + (min((int)n, threadIdx.x + 5u) - max(5u + t, t));",
           "const bool mine = t % 2 == 0; y = 2 * x + (__shfl_sync(~0u, mine, 0) - 1);",
           "const unsigned char small = 200; y = 2 * x + (__shfl_xor_sync(~0u, small, 1) - 200);",
           "float copy; memcpy(&copy, all + t, sizeof copy); y = 2 * copy;",
           "float two[2]; memset(two, 0, sizeof two); two[0] = x; y = 2 * two[0] + two[1];",
           "y = 2 * x + (__popc(__match_any_sync(~0u, t % 4)) - 8);",
           "int same; __match_all_sync(~0u, 7, &same); y = 2 * x + (same - 1);",
           "y = 2 * x + (int)__reduce_add_sync(~0u, 2u) - 64;",
           "y = 2 * x + (__reduce_max_sync(~0u, t % 32) - __reduce_min_sync(~0u, t % 32 + 31));",
           "y = 2 * x + (__brev(1u << 31) - 1 + __byte_perm(0x03020100, 0, 0x0003) - 3);",
           "y = 2 * x + (__dp4a(0x01ff0102, 0x01010101, 0) - 3);",
           "y = 2 * x + (__funnelshift_l(0x80000000u, 1, 1) - 3);",
           "y = 2 * x + (__dp4a(200u, 1u, 0u) - 200u);",
           "y = 2 * x + (min(255u, __float2uint_rn(-3.0f)) + __float2int_rz(0.0f / (x - x)));",
           "y = 2 * x; if (t % 32 < 16) y += __reduce_add_sync(0xffffu, 1) - 16;",
           "const float none = 0.0f / (x - x);"
           " y = 2 * x + (__popc(__match_any_sync(~0u, none)) - 32);",
           "y = ldexpf(x, 1) + __float2int_ru(0.5f) - 1;",
       }) {
    EXPECT_EQ(FoundIn(Kernel(body)), "") << body;
  }
}

// Lanes that have left are nobody's: CUDA's own pass them over.
TEST(Language, CollectivesPassOverLanesThatHaveLeft) {
  for (const char* body :
       {"__reduce_add_sync(~0u, 1) - 28", "__popc(__match_any_sync(~0u, 3)) - 28",
        "__popc(__match_all_sync(~0u, 3, &all_same)) - 28"}) {
    EXPECT_EQ(FoundIn(Kernel("int all_same; if (i < n) Y[i] = 2 * x;\n  if (t % 32 > 27) return;\n"
                             "  y = 2 * x + (" +
                             std::string(body) + ");")),
              "")
        << body;
  }
}

TEST(Language, TakesConstantsThatAreStaticAndDynamicSharedRows) {
  EXPECT_EQ(FoundIn(Kernel("y = w[0] * x + v[0];",
                           "static __constant__ float w[2] = {2, 1};\n__constant__ float v[1];\n")),
            "");
  const std::string rows = "rows[t][1] = x; __syncthreads(); y = 2 * rows[t][1];";
  EXPECT_EQ(FoundIn(Kernel("extern __shared__ float rows[][2];\n  " + rows), kDynamic), "");
  EXPECT_EQ(FoundIn(Kernel(rows, "extern __shared__ float rows[][2];"), kDynamic), "");
}

// The C library's own is not instrumented: what it touches is watched all the same.
TEST(Language, WatchesWhatMemcpyAndMemsetTouch) {
  EXPECT_THAT(FoundIn(Kernel("float copy[8]; memcpy(copy, X + i, n % 7 * 4 + 4); y = copy[0];")),
              HasSubstr("out of range: X element"));
  EXPECT_THAT(FoundIn(Kernel("y = 2 * x; if (t == 0) memset(all, 0, n % 7 * 4 + 8);")), "");
  EXPECT_THAT(FoundIn(Kernel("if (t == 0) memset(all, 0, n % 7 * 4 + 8); y = 2 * all[t];")),
              HasSubstr("race on shared memory"));
}

// A copy of a struct reads its padding, which nobody writes.
TEST(Language, PaddingIsNotCalledUnwritten) {
  for (const char* type : {"struct P { char c; float f; };", "struct P { int c; double f; };",
                           "struct __align__(16) P { float f, c, more; };"}) {
    const std::string before = std::string(type) + "\n";
    EXPECT_EQ(FoundIn(Kernel("__shared__ P s[64]; s[t].c = 1; s[t].f = x; __syncthreads();\n"
                             "  P p = s[t ^ 1]; P* z = &p; p = s[t]; y = 2 * z->f + z->c - 1;",
                             before)),
              "")
        << type;
    EXPECT_THAT(FoundIn(Kernel("__shared__ P s[64]; if (t != 3) { s[t].c = 1; s[t].f = x; }\n"
                               "  __syncthreads(); P p = s[t]; P* z = &p; y = 2 * z->f + z->c - 1;",
                               before)),
                HasSubstr("no thread of the block has written"))
        << type;
  }
}

}  // namespace
}  // namespace pawl::test
