// A product in tiles within tiles: a block's, its warps', their threads'. A block goes through its
// share of k in steps, several of which are on their way at once; its warps may share out each step
// (slices), several blocks the whole of k (split). Any shape: what lies past its sides is neither
// read nor written, and counts as 0.
//
// The sums of an element are added in one order: k within a slice, slices, then parts of k.

#include "pawl_device.h"

// pawl: knobs
constexpr int block_m = 128, block_n = 64;
constexpr int warp_tile_m = 64, warp_tile_n = 32;
constexpr int lanes_m = 8;
constexpr int k_step = 16;
constexpr int stages = 3;
enum class APath { natural, copies, registers };
constexpr APath a_path = APath::registers;
constexpr int slices = 2;
constexpr int split = 2;
enum class Reduction { last, kernel, cluster };
constexpr Reduction reduction = Reduction::last;
constexpr bool double_buffer = true;
constexpr int minimum_blocks = 1;
constexpr int raster = 0;
constexpr int lanes_n = 4, tile_m = 8, tile_n = 8;
constexpr int threads = 256, group = 1, groups = 8;
constexpr int unit_a = 4, unit_b = 4;
constexpr int tail_m = 1, tail_n = 1, tail_k = 1;
constexpr int floats_a = 2112, floats_b = 1024;
constexpr int fixed_m = 0, fixed_n = 0, fixed_k = 0;
// pawl: end

namespace {

constexpr bool natural = a_path == APath::natural;  // A's tile is row-major, else k-major
constexpr int stride_a = natural ? k_step + 4 : block_m + 4;
constexpr int slice_threads = threads / slices;
constexpr int quads = tile_m * tile_n / 4;  // of a thread's sums
// Floats of k that are moved at once, and whether there may be none.
constexpr int item_a = natural ? unit_a : a_path == APath::copies ? 1 : 4;
constexpr bool guarded_a = tail_m || tail_k;
constexpr bool guarded_b = tail_n || tail_k;
constexpr bool last_arriver = split > 1 && reduction == Reduction::last;
constexpr bool second_kernel = split > 1 && reduction == Reduction::kernel;
constexpr bool by_cluster = split > 1 && reduction == Reduction::cluster;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
static_assert(!by_cluster, "reduction = cluster: clusters need sm_90 or newer");
#endif

struct Shape {
  int m, n, k;
};

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

__device__ __forceinline__ void AddTo(float4& sum, float4 value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}

}  // namespace

#include "structured_tiles.h"

namespace {

// Where a thread's sums lie in its block's tile. Lanes are numbered n, m ..., n ...: a quarter of a
// warp then touches four quads of A and two of B, and lanes beside each other read the same.
struct Place {
  int slice, row, column;

  __device__ __forceinline__ Place() {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % (slice_threads / 32);
    slice = threadIdx.x / slice_threads;
    const int lane_m = lane / 2 % lanes_m;
    const int lane_n = lane % 2 + lane / (2 * lanes_m) * 2;
    row = warp / (block_n / warp_tile_n) * warp_tile_m + (natural ? lane_m : 4 * lane_m);
    column = warp % (block_n / warp_tile_n) * warp_tile_n + 4 * lane_n;
  }
  static __device__ constexpr int Down(int i) {
    return natural ? i * lanes_m : i / 4 * 4 * lanes_m + i % 4;
  }
  static __device__ constexpr int Along(int quad) { return quad * 4 * lanes_n; }
};

struct Fragments {
  float a[group][tile_m];
  float b[group][tile_n];
};

// The fragments of the slice's group `g` of a step.
__device__ __forceinline__ void Read(Fragments& fragments, const float* a_tile, const float* b_tile,
                                     const Place& place, int g) {
  const int kk = place.slice * (k_step / slices) + g * group;
  if constexpr (natural) {
#pragma unroll
    for (int i = 0; i < tile_m; ++i) {
      const float4 quad = Quad(a_tile + (place.row + Place::Down(i)) * stride_a + kk);
      fragments.a[0][i] = quad.x;
      fragments.a[1 % group][i] = quad.y;
      fragments.a[2 % group][i] = quad.z;
      fragments.a[3 % group][i] = quad.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < tile_m; i += 4) {
      const float4 quad = Quad(a_tile + kk * stride_a + place.row + Place::Down(i));
      fragments.a[0][i] = quad.x;
      fragments.a[0][i + 1] = quad.y;
      fragments.a[0][i + 2] = quad.z;
      fragments.a[0][i + 3] = quad.w;
    }
  }
#pragma unroll
  for (int at = 0; at < group; ++at) {
#pragma unroll
    for (int j = 0; j < tile_n; j += 4) {
      const float4 quad = Quad(b_tile + (kk + at) * block_n + place.column + Place::Along(j / 4));
      fragments.b[at][j] = quad.x;
      fragments.b[at][j + 1] = quad.y;
      fragments.b[at][j + 2] = quad.z;
      fragments.b[at][j + 3] = quad.w;
    }
  }
}

using Sums = float[tile_m][tile_n];

__device__ __forceinline__ void Multiply(Sums& sums, const Fragments& fragments) {
#pragma unroll
  for (int at = 0; at < group; ++at) {
#pragma unroll
    for (int i = 0; i < tile_m; ++i) {
#pragma unroll
      for (int jj = 0; jj < tile_n; ++jj) {
        const int j = i % 2 != 0 ? tile_n - 1 - jj : jj;  // back and forth: operands are used again
        sums[i][j] = fmaf(fragments.a[at][i], fragments.b[at][j], sums[i][j]);
      }
    }
  }
}

// The sums over one part of k.
__device__ __forceinline__ void Product(Sums& sums, float* memory, Tiles& tiles, const Place& place,
                                        int steps) {
  float* const a_tiles = memory;
  float* const b_tiles = memory + stages * floats_a;
  Fragments fragments[double_buffer ? 2 : 1];
  float4 held[held_a];
  const auto load = [&](int stage) {
    if constexpr (a_path == APath::registers) {
      tiles.LoadA(held);
    } else {
      tiles.CopyA(a_tiles + stage * floats_a);
    }
    tiles.CopyB(b_tiles + stage * floats_b);
    tiles.Next();
  };
  const auto store = [&](int stage) {
    if constexpr (a_path == APath::registers) tiles.StoreA(a_tiles + stage * floats_a, held);
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) {
    if (stage < steps) {
      load(stage);
      store(stage);
    }
    pawl::CpAsyncCommit();
  }
  int now = 0;            // the stage that is multiplied
  int free = stages - 1;  // the one that is loaded
  const auto read = [&](int buffer, int stage, int g) {
    Read(fragments[buffer], a_tiles + stage * floats_a, b_tiles + stage * floats_b, place, g);
  };
  if constexpr (double_buffer) {
    pawl::CpAsyncWait<stages - 2>();
    __syncthreads();
    if (steps > 0) read(0, 0, 0);
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const bool more = step + stages - 1 < steps;
    const int next = now + 1 == stages ? 0 : now + 1;
    if constexpr (!double_buffer) {
      // What is here for every thread, all are done with what is loaded over next.
      pawl::CpAsyncWait<stages - 2>();
      __syncthreads();
    }
    if (more) load(free);
    pawl::CpAsyncCommit();
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if constexpr (!double_buffer) {
        read(0, now, g);
        Multiply(sums, fragments[0]);
      } else {
        // The group after this one, of the next step if need be, is read while this is multiplied.
        if (g + 1 < groups) {
          read((g + 1) % 2, now, g + 1);
        } else {
          if (more) store(free);
          pawl::CpAsyncWait<stages - 2>();
          __syncthreads();
          if (step + 1 < steps) read(0, next, 0);
        }
        Multiply(sums, fragments[g % 2]);
      }
    }
    if (!double_buffer && more) store(free);
    now = next;
    free = free + 1 == stages ? 0 : free + 1;
  }
}

__device__ __forceinline__ float4 QuadOf(const Sums& sums, int quad) {
  const float* from = &sums[quad / (tile_n / 4)][quad % (tile_n / 4) * 4];
  return {from[0], from[1], from[2], from[3]};
}

// A thread's quad into C or a part of it.
__device__ __forceinline__ void Store(float* C, const float4& value, const Place& place, int from_m,
                                      int from_n, Shape shape, int quad) {
  const int row = from_m + place.row + Place::Down(quad / (tile_n / 4));
  const int column = from_n + place.column + Place::Along(quad % (tile_n / 4));
  if (tail_m && row >= shape.m) return;
  if (tail_n && column >= shape.n) return;
  float* to = C + static_cast<long long>(row) * shape.n + column;
  if constexpr (unit_b == 4) {
    *reinterpret_cast<float4*>(to) = value;
  } else {
    const int left = shape.n - column;
    to[0] = value.x;
    if (left > 1) to[1] = value.y;
    if (left > 2) to[2] = value.z;
    if (left > 3) to[3] = value.w;
  }
}

// Adds the slices' sums to the first one's, one slice after the other.
__device__ __forceinline__ void JoinSlices(Sums& sums, float4* exchange, const Place& place) {
  const int thread = threadIdx.x % slice_threads;
#pragma unroll 1
  for (int from = slices - 1; from > 0; --from) {
    if (place.slice == from) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        exchange[quad * slice_threads + thread] = QuadOf(sums, quad);
      }
    }
    __syncthreads();
    if (place.slice == from - 1) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        const float4 value = exchange[quad * slice_threads + thread];
        float* to = &sums[quad / (tile_n / 4)][quad % (tile_n / 4) * 4];
        to[0] += value.x;
        to[1] += value.y;
        to[2] += value.z;
        to[3] += value.w;
      }
    }
    __syncthreads();
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, minimum_blocks)
    matmul_structured(const float* __restrict__ A, const float* __restrict__ B,
                      float* __restrict__ C, long long m, long long n, long long k, float* parts,
                      unsigned* arrivals) {
  extern __shared__ __align__(16) float memory[];
  const Shape shape = {fixed_m > 0 ? fixed_m : static_cast<int>(m),
                       fixed_n > 0 ? fixed_n : static_cast<int>(n),
                       fixed_k > 0 ? fixed_k : static_cast<int>(k)};
  const int tiles_n = (shape.n + block_n - 1) / block_n;
  const int tile = blockIdx.x;
  int tile_row = tile / tiles_n;
  int tile_column = tile % tiles_n;
  if constexpr (raster > 0) {  // in bands of tile rows, down a column of the band after the other
    const int tiles_m = (shape.m + block_m - 1) / block_m;
    const int band = tile / (raster * tiles_n) * raster;
    const int in_band = tile % (raster * tiles_n);
    const int height = min(raster, tiles_m - band);
    tile_row = band + in_band % height;
    tile_column = in_band / height;
  }
  const int from_m = tile_row * block_m;
  const int from_n = tile_column * block_n;
  const int part = blockIdx.z;
  const int steps = (shape.k + k_step - 1) / k_step;
  const int first = split == 1 ? 0 : static_cast<int>(static_cast<long long>(steps) * part / split);
  const int last =
      split == 1 ? steps : static_cast<int>(static_cast<long long>(steps) * (part + 1) / split);

  const Place place;
  Sums sums = {};
  {
    Tiles tiles(A, B, shape, from_m, from_n, first * k_step);
    Product(sums, memory, tiles, place, last - first);
  }

  float4* const exchange = reinterpret_cast<float4*>(memory);  // over the tiles
  if constexpr (slices > 1 || by_cluster) __syncthreads();
  if constexpr (slices > 1) JoinSlices(sums, exchange, place);
  const int thread = threadIdx.x % slice_threads;

  if constexpr (split == 1 || second_kernel) {
    float* to = second_kernel ? parts + static_cast<long long>(part) * shape.m * shape.n : C;
    if (place.slice == 0) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        Store(to, QuadOf(sums, quad), place, from_m, from_n, shape, quad);
      }
    }
  }
  if constexpr (last_arriver) {
    __shared__ unsigned before;
    float4* const own = reinterpret_cast<float4*>(parts) +
                        static_cast<long long>(tile) * split * quads * slice_threads;
    if (place.slice == 0) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        __stcg(own + (part * quads + quad) * slice_threads + thread, QuadOf(sums, quad));
      }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) before = atomicAdd(arrivals + tile, 1u);
    __syncthreads();
    if (before != split - 1) return;
    __threadfence();
    for (int quad = place.slice; quad < quads; quad += slices) {
      float4 sum = {0, 0, 0, 0};
#pragma unroll
      for (int p = 0; p < split; ++p) {
        AddTo(sum, __ldcg(own + (p * quads + quad) * slice_threads + thread));
      }
      Store(C, sum, place, from_m, from_n, shape, quad);
    }
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (by_cluster) {
    // Every block of the cluster finishes its share of the tile.
    if (place.slice == 0) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        exchange[quad * slice_threads + thread] = QuadOf(sums, quad);
      }
    }
    pawl::ClusterSync();
    for (int quad = part * slices + place.slice; quad < quads; quad += split * slices) {
      float4 sum = {0, 0, 0, 0};
#pragma unroll
      for (int p = 0; p < split; ++p) {
        AddTo(sum, *pawl::MapShared(exchange + quad * slice_threads + thread, p));
      }
      Store(C, sum, place, from_m, from_n, shape, quad);
    }
    pawl::ClusterSync();  // nobody leaves while its memory is read
  }
#endif
}

// Adds up the parts of k that the blocks have left.
extern "C" __global__ void __launch_bounds__(256)
    matmul_structured_join(float* __restrict__ C, long long m, long long n,
                           float* __restrict__ parts) {
  const long long elements = m * n;
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * unit_b;
  if (at >= elements) return;
  if constexpr (unit_b == 4) {
    float4 sum = {0, 0, 0, 0};
#pragma unroll
    for (int p = 0; p < split; ++p) AddTo(sum, Quad(parts + p * elements + at));
    *reinterpret_cast<float4*>(C + at) = sum;
  } else {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < split; ++p) sum += parts[p * elements + at];
    C[at] = sum;
  }
}
