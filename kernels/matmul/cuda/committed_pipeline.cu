// The control of m and n that are multiples of 64, with k of 32: as in committed_registers.cu, but
// while one pair of tiles is multiplied the next one is on its way, by asynchronous copies.

#include "pawl_device.h"

namespace {

constexpr int side = 64;  // of a block's tile of C
constexpr int k_step = 32;
constexpr int threads = 256;
constexpr int own = 4;              // a thread's rows and columns
constexpr int stride_a = side + 4;  // a warp's copies spread over the banks, quads stay aligned
constexpr int floats_a = stride_a * k_step, floats_b = k_step * side;
constexpr int buffers = 2;

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// A goes a float at a time, since a copy of more cannot turn it into k-major order: a warp takes 8
// k of 4 rows, whole sectors in global memory and a bank each in shared memory.
__device__ __forceinline__ void Copy(float* a_tile, float* b_tile, const float* A, const float* B,
                                     long long n, long long k, int thread) {
#pragma unroll
  for (int along = 0; along < k_step; along += 8) {
#pragma unroll
    for (int down = 0; down < side; down += threads / 8) {
      const int row = down + thread / 8;
      const int kk = thread % 8;
      pawl::CpAsync4(a_tile + (along + kk) * stride_a + row, A + row * k + along + kk);
    }
  }
#pragma unroll
  for (int down = 0; down < k_step; down += threads / (side / 4)) {
    const int kk = down + thread / (side / 4);
    const int column = thread % (side / 4) * 4;
    pawl::CpAsync16(b_tile + kk * side + column, B + kk * n + column);
  }
  pawl::CpAsyncCommit();
}

using Sums = float[own][own];

__device__ __forceinline__ void Multiply(Sums& sums, const float* a_tile, const float* b_tile,
                                         int row, int column) {
#pragma unroll 8
  for (int kk = 0; kk < k_step; ++kk) {
    const float4 a = Quad(a_tile + kk * stride_a + row);
    const float4 b = Quad(b_tile + kk * side + column);
    const float as[own] = {a.x, a.y, a.z, a.w};
    const float bs[own] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < own; ++i) {
#pragma unroll
      for (int j = 0; j < own; ++j) sums[i][j] += as[i] * bs[j];
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    matmul_pipeline(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                    long long m, long long n, long long k) {
  __shared__ __align__(16) float a_tiles[buffers][floats_a];
  __shared__ __align__(16) float b_tiles[buffers][floats_b];
  const int thread = threadIdx.x;
  const int row = thread / (side / own) * own;
  const int column = thread % (side / own) * own;
  A += static_cast<long long>(blockIdx.y) * side * k;
  B += static_cast<long long>(blockIdx.x) * side;
  C += static_cast<long long>(blockIdx.y) * side * n +
       static_cast<long long>(blockIdx.x) * side;

  Sums sums = {};
  Copy(a_tiles[0], b_tiles[0], A, B, n, k, thread);
  int buffer = 0;
  for (long long at = 0; at < k; at += k_step, buffer ^= 1) {
    const int next = (buffer + 1) % buffers;  // said as `buffer ^ 1`, it costs 22 registers more
    pawl::CpAsyncWait<0>();
    // The tiles are here for every thread, and all are done with those that are copied over next.
    __syncthreads();
    if (at + k_step < k) {
      Copy(a_tiles[next], b_tiles[next], A + at + k_step, B + (at + k_step) * n, n, k, thread);
    }
    Multiply(sums, a_tiles[buffer], b_tiles[buffer], row, column);
  }
  // Stores of quads by name: an assignment here is compiled to four of floats.
#pragma unroll
  for (int i = 0; i < own; ++i) {
    const float4 quad = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    __stwb(reinterpret_cast<float4*>(C + (row + i) * n + column), quad);
  }
}
