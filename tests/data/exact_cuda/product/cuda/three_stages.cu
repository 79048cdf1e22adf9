// A tiled product with several stages of asynchronous copies in flight. An element of C is one
// thread's sum in the order of k.

#include "pawl_device.h"

// pawl: knobs
constexpr int k_step = 16;
constexpr int stages = 3;
// pawl: end

namespace {
constexpr int side = 32;
constexpr int floats = side * k_step;  // of a stage's A, and of its B
}  // namespace

extern "C" __global__ void __launch_bounds__(64)
    product(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
            long long m, long long n, long long k) {
  extern __shared__ __align__(16) float tiles[];
  float* const a_tiles = tiles;
  float* const b_tiles = tiles + stages * floats;
  const int thread = threadIdx.x;
  const int row = thread / 8 * 4;
  const int column = thread % 8 * 4;
  A += blockIdx.y * side * k;
  B += blockIdx.x * side;
  C += blockIdx.y * side * n + blockIdx.x * side;
  const int steps = static_cast<int>(k / k_step);

  // A group each, also when nothing is left: CpAsyncWait counts groups.
  const auto copy = [&](int step) {
    if (step < steps) {
      float* const a = a_tiles + step % stages * floats;
      float* const b = b_tiles + step % stages * floats;
      for (int i = thread; i < floats / 4; i += 64) {
        const int in_row = i / (k_step / 4);
        const int kk = i % (k_step / 4) * 4;
        pawl::CpAsync16(a + in_row * k_step + kk, A + in_row * k + step * k_step + kk);
      }
      for (int i = thread; i < floats / 4; i += 64) {
        const int kk = i / (side / 4);
        const int in_column = i % (side / 4) * 4;
        pawl::CpAsync16(b + kk * side + in_column, B + (step * k_step + kk) * n + in_column);
      }
    }
    pawl::CpAsyncCommit();
  };

  float sums[4][4] = {};
  for (int step = 0; step < stages - 1; ++step) copy(step);
  for (int step = 0; step < steps; ++step) {
    pawl::CpAsyncWait<stages - 2>();
    __syncthreads();
    const float* const a = a_tiles + step % stages * floats;
    const float* const b = b_tiles + step % stages * floats;
    for (int kk = 0; kk < k_step; ++kk) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          sums[i][j] += a[(row + i) * k_step + kk] * b[kk * side + column + j];
        }
      }
    }
    // Into the stage that was multiplied a step ago: all have passed the barrier since.
    copy(step + stages - 1);
  }
  for (int i = 0; i < 4; ++i) {
    const float4 quad = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    *reinterpret_cast<float4*>(C + (row + i) * n + column) = quad;
  }
}
