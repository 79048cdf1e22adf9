// A tiled product: a block of threads computes a tile of C, staging k_step columns of A and rows of
// B in shared memory. Each element of C is summed in the order of k by one thread.

#include "pawl_device.h"

// pawl: knobs
constexpr bool transpose_a = true;
constexpr bool quad_stage = true;
constexpr int k_step = 32;
constexpr int block_m = 64, block_n = 64;
enum class Staging { shared, exact, guarded, pipeline };
constexpr Staging staging = Staging::guarded;
constexpr int thread_tile_m = 4, thread_tile_n = 4;
constexpr int threads = 256;
constexpr int quads_a = 512, quads_b = 512;
constexpr int floats_a = (block_m + 4) * k_step, floats_b = k_step * block_n;
constexpr int buffers = 1;
// pawl: end

namespace {

constexpr int item = quad_stage ? 4 : 1;  // floats staged at a time
constexpr int items_a = quads_a * 4 / item;
constexpr int items_b = quads_b * 4 / item;

// Where A's element (row, kk) of a tile lies: k-major rows are padded, so that the quads of a k stay
// aligned and a warp's stores spread over the banks.
__device__ __forceinline__ int AtA(int row, int kk) {
  return transpose_a ? kk * (block_m + 4) + row : row * k_step + kk;
}

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// One item of A: `row` and `kk` within the tile at `A`.
__device__ __forceinline__ void StageA(float* tile, const float* A, long long k, int row, int kk) {
  const float* from = A + row * k + kk;
  if (!quad_stage) {
    tile[AtA(row, kk)] = *from;
  } else if (!transpose_a) {
    *reinterpret_cast<float4*>(tile + AtA(row, kk)) = Quad(from);
  } else {
    const float4 quad = Quad(from);
    tile[AtA(row, kk)] = quad.x;
    tile[AtA(row, kk + 1)] = quad.y;
    tile[AtA(row, kk + 2)] = quad.z;
    tile[AtA(row, kk + 3)] = quad.w;
  }
}

__device__ __forceinline__ void StageB(float* tile, const float* B, long long n, int kk, int column) {
  const float* from = B + kk * n + column;
  if (quad_stage) {
    *reinterpret_cast<float4*>(tile + kk * block_n + column) = Quad(from);
  } else {
    tile[kk * block_n + column] = *from;
  }
}

__device__ __forceinline__ void StageItemA(float* tile, const float* A, long long k, int i) {
  StageA(tile, A, k, i / (k_step / item), i % (k_step / item) * item);
}

__device__ __forceinline__ void StageItemB(float* tile, const float* B, long long n, int i) {
  StageB(tile, B, n, i / (block_n / item), i % (block_n / item) * item);
}

__device__ __forceinline__ void Stage(float* a_tile, float* b_tile, const float* A, const float* B,
                                      long long n, long long k, int thread) {
  if constexpr (staging == Staging::shared) {
    // Both tiles are squares of one size: a place in one is a place in the other.
    for (int i = thread; i < items_a; i += threads) {
      const int row = i / (k_step / item);
      const int column = i % (k_step / item) * item;
      StageA(a_tile, A, k, row, column);
      StageB(b_tile, B, n, row, column);
    }
  } else if constexpr (staging == Staging::exact) {
#pragma unroll
    for (int pass = 0; pass < items_a / threads; ++pass) {
      StageItemA(a_tile, A, k, pass * threads + thread);
      StageItemB(b_tile, B, n, pass * threads + thread);
    }
  } else {
    constexpr int most = items_a > items_b ? items_a : items_b;
    for (int i = thread; i < most; i += threads) {
      if (i < items_a) StageItemA(a_tile, A, k, i);
      if (i < items_b) StageItemB(b_tile, B, n, i);
    }
  }
}

// Deals out a tile of `down` rows, `across` items each: a thread stays at its place along the row and goes
// down by as many rows as the threads fill at once. So its addresses differ by constants, and only a
// last turn that the tile does not fill is checked.
template <int down, int across, typename Take>
__device__ __forceinline__ void Deal(int thread, const Take& take) {
  static_assert(threads % across == 0, "a row of the tile is no whole share of the threads");
  constexpr int rows = threads / across;
#pragma unroll
  for (int row = 0; row < down / rows * rows; row += rows) take(row + thread / across, thread % across);
  constexpr int dealt = down / rows * rows;
  if constexpr (dealt < down) {
    if (dealt + thread / across < down) take(dealt + thread / across, thread % across);
  }
}

// The same as asynchronous copies: they cannot turn a quad of A into k-major order, so transposed A
// goes a float at a time, a warp 8 k of 4 rows: whole sectors in global memory, and a bank each.
__device__ __forceinline__ void Copy(float* a_tile, float* b_tile, const float* A, const float* B,
                                     long long n, long long k, int thread) {
  if constexpr (transpose_a) {
#pragma unroll
    for (int along = 0; along < k_step; along += 8) {
      Deal<block_m, 8>(thread, [&](int row, int kk) {
        pawl::CpAsync4(a_tile + AtA(row, along + kk), A + row * k + along + kk);
      });
    }
  } else {
    Deal<block_m, k_step / 4>(thread, [&](int row, int quad) {
      pawl::CpAsync16(a_tile + AtA(row, quad * 4), A + row * k + quad * 4);
    });
  }
  Deal<k_step, block_n / 4>(thread, [&](int kk, int quad) {
    pawl::CpAsync16(b_tile + kk * block_n + quad * 4, B + kk * n + quad * 4);
  });
  pawl::CpAsyncCommit();
}

using Sums = float[thread_tile_m][thread_tile_n];

__device__ __forceinline__ void Multiply(Sums& sums, const float* a_tile, const float* b_tile,
                                         int row, int column) {
#pragma unroll 8
  for (int kk = 0; kk < k_step; ++kk) {
    float a[thread_tile_m];
    float b[thread_tile_n];
#pragma unroll
    for (int i = 0; i < thread_tile_m; i += transpose_a ? 4 : 1) {
      if constexpr (transpose_a) {
        const float4 quad = Quad(a_tile + AtA(row + i, kk));
        a[i] = quad.x;
        a[i + 1] = quad.y;
        a[i + 2] = quad.z;
        a[i + 3] = quad.w;
      } else {
        a[i] = a_tile[AtA(row + i, kk)];
      }
    }
#pragma unroll
    for (int j = 0; j < thread_tile_n; j += 4) {
      const float4 quad = Quad(b_tile + kk * block_n + column + j);
      b[j] = quad.x;
      b[j + 1] = quad.y;
      b[j + 2] = quad.z;
      b[j + 3] = quad.w;
    }
#pragma unroll
    for (int i = 0; i < thread_tile_m; ++i) {
#pragma unroll
      for (int j = 0; j < thread_tile_n; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    matmul_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                 long long m, long long n, long long k) {
  __shared__ __align__(16) float a_tiles[buffers][floats_a];
  __shared__ __align__(16) float b_tiles[buffers][floats_b];
  const int thread = threadIdx.x;
  const int row = thread / (block_n / thread_tile_n) * thread_tile_m;
  const int column = thread % (block_n / thread_tile_n) * thread_tile_n;
  A += static_cast<long long>(blockIdx.y) * block_m * k;
  B += static_cast<long long>(blockIdx.x) * block_n;
  C += static_cast<long long>(blockIdx.y) * block_m * n + static_cast<long long>(blockIdx.x) * block_n;

  Sums sums = {};
  if constexpr (staging == Staging::pipeline) {
    Copy(a_tiles[0], b_tiles[0], A, B, n, k, thread);
    int buffer = 0;
    for (long long at = 0; at < k; at += k_step, buffer ^= 1) {
      const int next = (buffer + 1) % buffers;
      pawl::CpAsyncWait<0>();
      // The tiles are here for every thread, and all are done with those that are copied over next.
      __syncthreads();
      if (at + k_step < k) {
        Copy(a_tiles[next], b_tiles[next], A + at + k_step, B + (at + k_step) * n, n, k, thread);
      }
      Multiply(sums, a_tiles[buffer], b_tiles[buffer], row, column);
    }
  } else {
    for (long long at = 0; at < k; at += k_step) {
      Stage(a_tiles[0], b_tiles[0], A + at, B + at * n, n, k, thread);
      __syncthreads();
      Multiply(sums, a_tiles[0], b_tiles[0], row, column);
      __syncthreads();
    }
  }

#pragma unroll
  for (int i = 0; i < thread_tile_m; ++i) {
#pragma unroll
    for (int j = 0; j < thread_tile_n; j += 4) {
      const float4 quad = {sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]};
      // By name: an assignment here is compiled to four stores of floats.
      __stwb(reinterpret_cast<float4*>(C + (row + i) * n + column + j), quad);
    }
  }
}
