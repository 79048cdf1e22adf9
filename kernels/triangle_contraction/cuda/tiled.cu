// A block of threads computes tile_i x tile_j rows of tile_c channels of O, bringing k_step steps
// of A's and B's rows at a time to shared memory as [k][row][channel], or reading them straight. A
// thread's rows lie across_i (across_j) apart, so that neighbours read neighbouring rows. Groups of
// threads (slices) and blocks of a cluster may share out k; their sums meet in shared memory and
// are added in one order.

#include "pawl_device.h"

// pawl: knobs
enum class Staging { shared, pipeline, direct };
constexpr Staging staging = Staging::pipeline;
constexpr int channels = 4;
constexpr int thread_tile_i = 4, thread_tile_j = 4;
constexpr int tile_i = 32, tile_j = 16, tile_c = 8;
constexpr int k_step = 8;
constexpr int copy = 4;
constexpr int stages = 3;
constexpr int slices = 2;
constexpr int cluster = 1;
constexpr int min_blocks = 1;
constexpr int across_i = tile_i / thread_tile_i, across_j = tile_j / thread_tile_j;
constexpr int across_c = tile_c / channels;
constexpr int group = across_i * across_j * across_c;
constexpr int threads = group * slices;
constexpr int warp_rows = 32 / across_c;
constexpr int warp_j = 4, warp_i = warp_rows / warp_j;
constexpr int stage_floats = k_step * tile_c * (tile_i + tile_j);
constexpr int parts = slices * cluster;
constexpr int side = 128, depth = 32;
constexpr int k_part = side / cluster;
constexpr int whole = 1;
constexpr int narrow = 1;
// pawl: end

namespace {

template <int n>
struct Integers {
  using type = long long;
};
template <>
struct Integers<1> {
  using type = int;
};
using Index = Integers<narrow>::type;  // of a float

constexpr Index k_floats = depth;  // from one k to the next
constexpr Index row_floats = static_cast<Index>(side) * depth;

template <int n>
struct Floats;
template <>
struct Floats<1> {
  using type = float;
};
template <>
struct Floats<2> {
  using type = float2;
};
template <>
struct Floats<4> {
  using type = float4;
};

__device__ __forceinline__ void Spread(float (&to)[1], float from) { to[0] = from; }
__device__ __forceinline__ void Spread(float (&to)[2], float2 from) {
  to[0] = from.x;
  to[1] = from.y;
}
__device__ __forceinline__ void Spread(float (&to)[4], float4 from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}
__device__ __forceinline__ float Joined(const float (&from)[1]) { return from[0]; }
__device__ __forceinline__ float2 Joined(const float (&from)[2]) { return {from[0], from[1]}; }
__device__ __forceinline__ float4 Joined(const float (&from)[4]) {
  return {from[0], from[1], from[2], from[3]};
}

using Channels = float[channels];
using ChannelVector = Floats<channels>::type;

__device__ __forceinline__ void Load(Channels& to, const float* from) {
  Spread(to, *reinterpret_cast<const ChannelVector*>(from));
}
__device__ __forceinline__ void Store(float* to, const Channels& from) {
  *reinterpret_cast<ChannelVector*>(to) = Joined(from);
}

constexpr bool aligned = depth % channels == 0;  // a thread's channels are a vector in the matrices

using Sums = float[thread_tile_i][thread_tile_j][channels];
using RowsA = float[thread_tile_i][channels];
using RowsB = float[thread_tile_j][channels];

__device__ __forceinline__ void Multiply(Sums& sums, const RowsA& a, const RowsB& b) {
#pragma unroll
  for (int r = 0; r < thread_tile_i; ++r) {
#pragma unroll
    for (int q = 0; q < thread_tile_j; ++q) {
#pragma unroll
      for (int v = 0; v < channels; ++v) sums[r][q][v] = fmaf(a[r][v], b[q][v], sums[r][q][v]);
    }
  }
}

// Where a thread's first row and channel stand in the tile.
struct Place {
  int i, j, channel;
};

__device__ __forceinline__ Place PlaceOf(int in_group) {
  const int position = in_group / across_c;
  const int in_warp = position % warp_rows;
  const int warp = position / warp_rows;
  constexpr int warps_j = across_j / warp_j;
  return {warp / warps_j * warp_i + in_warp / warp_j, warp % warps_j * warp_j + in_warp % warp_j,
          in_group % across_c * channels};
}

// What is left of the matrices from a tile's first row, k and channel on; only `whole` tiles need
// not ask.
struct Left {
  Index rows, steps, channels;
};

// `copy` floats; those outside the matrix become 0.
__device__ __forceinline__ void Copy(float* to, const float* from, bool inside) {
  using Item = Floats<copy>::type;
  if constexpr (staging == Staging::pipeline && copy == 4) {
    whole ? pawl::CpAsync16(to, from) : pawl::CpAsync16(to, from, inside);
  } else if constexpr (staging == Staging::pipeline) {
    whole ? pawl::CpAsync4(to, from) : pawl::CpAsync4(to, from, inside);
  } else {
    Item item = {};
    if (whole || inside) item = *reinterpret_cast<const Item*>(from);
    *reinterpret_cast<Item*>(to) = item;
  }
}

// k_step steps of `rows` rows of one operand. `from` is at the tile's first row, step and channel.
template <int rows>
__device__ __forceinline__ void Stage(float* tile, const float* from, const Left& left,
                                      int thread) {
  constexpr int across = tile_c / copy;
  constexpr int items = rows * across;  // of one k
  constexpr int step_floats = rows * tile_c;
  if constexpr (threads % items == 0) {
    // A thread has the same row and channels at every k of its.
    constexpr int apart = threads / items;
    const int channel = thread % across * copy;
    const int row = thread / across % rows;
    const int first = thread / items;
    const bool inside = row < left.rows && channel < left.channels;
    from += row * row_floats + first * k_floats + channel;
    tile += first * step_floats + row * tile_c + channel;
#pragma unroll
    for (int kk = 0; kk < k_step; kk += apart) {
      if (k_step % apart != 0 && first + kk >= k_step) continue;
      Copy(tile + kk * step_floats, from + kk * k_floats, inside && first + kk < left.steps);
    }
  } else {
#pragma unroll 4
    for (int item = thread; item < items * k_step; item += threads) {
      const int channel = item % across * copy;
      const int row = item / across % rows;
      const int kk = item / items;
      Copy(tile + kk * step_floats + row * tile_c + channel,
           from + row * row_floats + kk * k_floats + channel,
           row < left.rows && kk < left.steps && channel < left.channels);
    }
  }
}

// The sums over the steps of a stage that are this slice's.
__device__ __forceinline__ void AddStage(Sums& sums, const float* stage, const Place& place,
                                         int slice) {
  const float* a_tile = stage + slice * tile_i * tile_c + place.i * tile_c + place.channel;
  const float* b_tile =
      stage + k_step * tile_i * tile_c + slice * tile_j * tile_c + place.j * tile_c + place.channel;
#pragma unroll 8
  for (int kk = 0; kk < k_step; kk += slices) {
    RowsA a;
    RowsB b;
#pragma unroll
    for (int r = 0; r < thread_tile_i; ++r) {
      Load(a[r], a_tile + (kk * tile_i + r * across_i) * tile_c);
    }
#pragma unroll
    for (int q = 0; q < thread_tile_j; ++q) {
      Load(b[q], b_tile + (kk * tile_j + q * across_j) * tile_c);
    }
    Multiply(sums, a, b);
  }
}

// A thread's channels of one row and k of a matrix; those outside are 0.
__device__ __forceinline__ void LoadGuarded(Channels& to, const float* from, bool inside,
                                            Index channels_left) {
  if constexpr (aligned) {
    ChannelVector value = {};
    if (whole || (inside && channels_left > 0)) {
      value = *reinterpret_cast<const ChannelVector*>(from);
    }
    Spread(to, value);
  } else {
#pragma unroll
    for (int v = 0; v < channels; ++v) to[v] = inside && v < channels_left ? from[v] : 0.0f;
  }
}

__device__ __forceinline__ void StoreGuarded(float* to, const Channels& from, bool inside,
                                             Index channels_left) {
  if constexpr (aligned) {
    if (whole || (inside && channels_left > 0)) Store(to, from);
  } else {
#pragma unroll
    for (int v = 0; v < channels; ++v) {
      if (inside && v < channels_left) to[v] = from[v];
    }
  }
}

// All threads that add up one tile. Without sm_90 no cluster of more than one block is launched.
__device__ __forceinline__ void Meet() {
#if __CUDA_ARCH__ >= 900
  if constexpr (cluster > 1) return pawl::ClusterSync();
#endif
  __syncthreads();
}

// Where the cluster's `block`th has what lies at `shared` in this one.
__device__ __forceinline__ const float* SharedOf(float* shared, [[maybe_unused]] int block) {
#if __CUDA_ARCH__ >= 900
  if constexpr (cluster > 1) return pawl::MapShared(shared, static_cast<unsigned>(block));
#endif
  return shared;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    triangle_contraction_tiled(const float* __restrict__ A, const float* __restrict__ B,
                               float* __restrict__ O, long long, long long) {
  extern __shared__ __align__(16) float shared[];
  const int thread = threadIdx.x;
  const int slice = thread / group;
  const int in_group = thread % group;
  const Place place = PlaceOf(in_group);
  const int rank = static_cast<int>(blockIdx.x) % cluster;
  const Index first_channel = static_cast<Index>(blockIdx.x) / cluster * tile_c;
  const Index first_j = static_cast<Index>(blockIdx.y) * tile_j;
  const Index first_i = static_cast<Index>(blockIdx.z) * tile_i;
  const Index first_k = static_cast<Index>(rank) * k_part;
  const Index end_k = first_k + k_part < side ? first_k + k_part : side;
  const Index steps_left = side - first_k, channels_left = depth - first_channel;
  A += first_i * row_floats + first_k * k_floats + first_channel;
  B += first_j * row_floats + first_k * k_floats + first_channel;

  Sums sums = {};
  if constexpr (staging == Staging::direct) {
    A += place.i * row_floats + place.channel;
    B += place.j * row_floats + place.channel;
    const Index own_channels = channels_left - place.channel;
#pragma unroll 2
    for (Index k = slice; k < end_k - first_k; k += slices) {
      RowsA a;
      RowsB b;
#pragma unroll
      for (int r = 0; r < thread_tile_i; ++r) {
        LoadGuarded(a[r], A + r * across_i * row_floats + k * k_floats,
                    first_i + place.i + r * across_i < side, own_channels);
      }
#pragma unroll
      for (int q = 0; q < thread_tile_j; ++q) {
        LoadGuarded(b[q], B + q * across_j * row_floats + k * k_floats,
                    first_j + place.j + q * across_j < side, own_channels);
      }
      Multiply(sums, a, b);
    }
  } else {
    const int steps =
        first_k < end_k ? static_cast<int>((end_k - first_k + k_step - 1) / k_step) : 0;
    const auto bring = [&](int step, float* stage) {
      const Index k = static_cast<Index>(step) * k_step;
      Stage<tile_i>(stage, A + k * k_floats, {side - first_i, steps_left - k, channels_left},
                    thread);
      Stage<tile_j>(stage + k_step * tile_i * tile_c, B + k * k_floats,
                    {side - first_j, steps_left - k, channels_left}, thread);
    };
    if constexpr (staging == Staging::pipeline) {
#pragma unroll
      for (int step = 0; step < stages - 1; ++step) {
        if (step < steps) bring(step, shared + step * stage_floats);
        pawl::CpAsyncCommit();
      }
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        pawl::CpAsyncWait<stages - 2>();
        __syncthreads();  // this stage is there for all, and the one before has been read by all
        const int next = step + stages - 1;
        if (next < steps) bring(next, shared + next % stages * stage_floats);
        pawl::CpAsyncCommit();
        AddStage(sums, shared + step % stages * stage_floats, place, slice);
      }
    } else {
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        bring(step, shared);
        __syncthreads();
        AddStage(sums, shared, place, slice);
        __syncthreads();
      }
    }
  }

  const auto store = [&](int r, int q, const Channels& values) {
    const Index i = first_i + place.i + r * across_i;
    const Index j = first_j + place.j + q * across_j;
    StoreGuarded(O + i * row_floats + j * k_floats + first_channel + place.channel, values,
                 i < side && j < side, channels_left - place.channel);
  };
  if constexpr (parts == 1) {
#pragma unroll
    for (int r = 0; r < thread_tile_i; ++r) {
#pragma unroll
      for (int q = 0; q < thread_tile_j; ++q) store(r, q, sums[r][q]);
    }
  } else {
    // Where a group's sums lie: [slice][row][thread of the group][channel].
    constexpr int rows = thread_tile_i * thread_tile_j;
    const auto at = [&](int of_slice, int row) {
      return ((of_slice * rows + row) * group + in_group) * channels;
    };
    __syncthreads();  // the last stage has been read
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      Store(shared + at(slice, row), sums[row / thread_tile_j][row % thread_tile_j]);
    }
    Meet();
    for (int row = rank * slices + slice; row < rows; row += parts) {
      Channels total = {};
#pragma unroll
      for (int block = 0; block < cluster; ++block) {
        const float* const theirs = SharedOf(shared, block);
#pragma unroll
        for (int of_slice = 0; of_slice < slices; ++of_slice) {
          Channels part;
          Load(part, theirs + at(of_slice, row));
#pragma unroll
          for (int v = 0; v < channels; ++v) total[v] += part[v];
        }
      }
      store(row / thread_tile_j, row % thread_tile_j, total);
    }
    if constexpr (cluster > 1) Meet();  // a block's memory is read until here
  }
}
