// The control. Where the shape is of whole tiles, a block computes 32 x 16 rows (i, j) of eight
// channels: three stages of asynchronous copies bring eight steps of k each, and a thread holds
// 4 x 2 rows of a quad of channels. Else an element a thread.

#include "pawl_device.h"

namespace {

constexpr int tile_i = 32, tile_j = 16, tile_c = 8;
constexpr int k_step = 8;
constexpr int stages = 3;
constexpr int threads = 128;
constexpr int across_i = 8, across_j = 8;  // threads along i and j; two more along the channels
constexpr int rows_i = tile_i / across_i, rows_j = tile_j / across_j;

// k_step steps of `rows` rows, a quad at a time: [k][row][channel] in shared memory. `from` is at
// the tile's first row, step and channel.
template <int rows>
__device__ __forceinline__ void Copy(float* tile, const float* from, long long n, long long c,
                                     int thread) {
  constexpr int quads = rows * tile_c / 4;  // of one k
#pragma unroll
  for (int item = thread; item < quads * k_step; item += threads) {
    const int kk = item / quads;
    const int row = item % quads / (tile_c / 4);
    const int channel = item % (tile_c / 4) * 4;
    pawl::CpAsync16(tile + (kk * rows + row) * tile_c + channel,
                    from + (row * n + kk) * c + channel);
  }
}

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    triangle_contraction_piped(const float* __restrict__ A, const float* __restrict__ B,
                               float* __restrict__ O, long long n, long long c) {
  __shared__ __align__(16) float a_tiles[stages][k_step * tile_i * tile_c];
  __shared__ __align__(16) float b_tiles[stages][k_step * tile_j * tile_c];
  const int thread = threadIdx.x;
  const int channel = thread % 2 * 4;
  const int j = thread / 2 % across_j;
  const int i = thread / 2 / across_j;
  const long long first_channel = static_cast<long long>(blockIdx.x) * tile_c;
  const long long first_j = static_cast<long long>(blockIdx.y) * tile_j;
  const long long first_i = static_cast<long long>(blockIdx.z) * tile_i;
  A += first_i * n * c + first_channel;
  B += first_j * n * c + first_channel;

  float4 sums[rows_i][rows_j] = {};
  const long long steps = n / k_step;
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (s < steps) {
      Copy<tile_i>(a_tiles[s], A + s * k_step * c, n, c, thread);
      Copy<tile_j>(b_tiles[s], B + s * k_step * c, n, c, thread);
    }
    pawl::CpAsyncCommit();
  }
  int stage = 0;
  for (long long step = 0; step < steps; ++step) {
    pawl::CpAsyncWait<stages - 2>();
    __syncthreads();  // this stage is there for all, and the one before has been read by all
    const long long next = step + stages - 1;
    if (next < steps) {
      const int free = stage == 0 ? stages - 1 : stage - 1;
      Copy<tile_i>(a_tiles[free], A + next * k_step * c, n, c, thread);
      Copy<tile_j>(b_tiles[free], B + next * k_step * c, n, c, thread);
    }
    pawl::CpAsyncCommit();
#pragma unroll
    for (int kk = 0; kk < k_step; ++kk) {
      float4 a[rows_i], b[rows_j];
#pragma unroll
      for (int r = 0; r < rows_i; ++r) {
        a[r] = Quad(a_tiles[stage] + (kk * tile_i + i + r * across_i) * tile_c + channel);
      }
#pragma unroll
      for (int r = 0; r < rows_j; ++r) {
        b[r] = Quad(b_tiles[stage] + (kk * tile_j + j + r * across_j) * tile_c + channel);
      }
#pragma unroll
      for (int r = 0; r < rows_i; ++r) {
#pragma unroll
        for (int q = 0; q < rows_j; ++q) {
          sums[r][q].x = fmaf(a[r].x, b[q].x, sums[r][q].x);
          sums[r][q].y = fmaf(a[r].y, b[q].y, sums[r][q].y);
          sums[r][q].z = fmaf(a[r].z, b[q].z, sums[r][q].z);
          sums[r][q].w = fmaf(a[r].w, b[q].w, sums[r][q].w);
        }
      }
    }
    stage = stage == stages - 1 ? 0 : stage + 1;
  }
#pragma unroll
  for (int r = 0; r < rows_i; ++r) {
#pragma unroll
    for (int q = 0; q < rows_j; ++q) {
      const long long row = (first_i + i + r * across_i) * n + first_j + j + q * across_j;
      *reinterpret_cast<float4*>(O + row * c + first_channel + channel) = sums[r][q];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    triangle_contraction_guarded(const float* __restrict__ A, const float* __restrict__ B,
                                 float* __restrict__ O, long long n, long long c) {
  const long long element = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (element >= n * n * c) return;
  const long long channel = element % c;
  const float* const a = A + element / c / n * n * c + channel;
  const float* const b = B + element / c % n * n * c + channel;
  float sum = 0;
  for (long long k = 0; k < n; ++k) sum = fmaf(a[k * c], b[k * c], sum);
  O[element] = sum;
}
