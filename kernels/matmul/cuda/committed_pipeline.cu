// The control of m and n that are multiples of 64, with k of 32: as in committed_registers.cu, but
// while one pair of tiles is multiplied the next one is on its way, by asynchronous copies.

#include "pawl_device.h"

namespace {

constexpr int side = 64;  // of a block's tile of C
constexpr int k_step = 32;
constexpr int threads = 256;
constexpr int own = 4;              // a thread's rows and columns
constexpr int stride_a = side + 4;  // a warp's copies spread over the banks, quads stay aligned

struct Tiles {
  float a[k_step][stride_a];  // k-major
  float b[k_step][side];
};

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// A goes a float at a time, since a copy of more cannot turn it into k-major order: a warp takes 8
// k of 4 rows, whole sectors in global memory and a bank each in shared memory.
__device__ __forceinline__ void Copy(Tiles& tiles, const float* A, const float* B, long long n,
                                     long long k, int thread) {
  const int row = thread / 8;
  const int kk = thread % 8;
#pragma unroll
  for (int down = 0; down < side; down += threads / 8) {
#pragma unroll
    for (int along = 0; along < k_step; along += 8) {
      pawl::CpAsync4(&tiles.a[along + kk][down + row], A + (down + row) * k + along + kk);
    }
  }
  const int column = thread % (side / 4) * 4;
#pragma unroll
  for (int along = 0; along < k_step; along += threads / (side / 4)) {
    const int b_kk = along + thread / (side / 4);
    pawl::CpAsync16(&tiles.b[b_kk][column], B + b_kk * n + column);
  }
  pawl::CpAsyncCommit();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    matmul_pipeline(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                    long long m, long long n, long long k) {
  __shared__ __align__(16) Tiles tiles[2];
  const int thread = threadIdx.x;
  const int tiles_n = static_cast<int>(n / side);
  A += static_cast<long long>(blockIdx.x / tiles_n) * side * k;
  B += static_cast<long long>(blockIdx.x % tiles_n) * side;
  C += static_cast<long long>(blockIdx.x / tiles_n) * side * n +
       static_cast<long long>(blockIdx.x % tiles_n) * side;
  const int row = thread / (side / own) * own;
  const int column = thread % (side / own) * own;

  float sums[own][own] = {};
  Copy(tiles[0], A, B, n, k, thread);
  int buffer = 0;
  for (long long at = 0; at < k; at += k_step, buffer ^= 1) {
    pawl::CpAsyncWait<0>();
    // The tiles are here for every thread, and all are done with those that are copied over next.
    __syncthreads();
    if (at + k_step < k) {
      Copy(tiles[buffer ^ 1], A + at + k_step, B + (at + k_step) * n, n, k, thread);
    }
    const Tiles& now = tiles[buffer];
#pragma unroll 8
    for (int kk = 0; kk < k_step; ++kk) {
      const float4 a = Quad(&now.a[kk][row]);
      const float4 b = Quad(&now.b[kk][column]);
      const float as[own] = {a.x, a.y, a.z, a.w};
      const float bs[own] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < own; ++i) {
#pragma unroll
        for (int j = 0; j < own; ++j) sums[i][j] += as[i] * bs[j];
      }
    }
  }
  // Stores of quads by name: an assignment here is compiled to four of floats.
#pragma unroll
  for (int i = 0; i < own; ++i) {
    const float4 quad = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    __stwb(reinterpret_cast<float4*>(C + (row + i) * n + column), quad);
  }
}
