// A team of threads a node: `lanes` threads side by side have its features, `splits` such rows of
// lanes take turns at its edges, each with several in flight. What a warp's part of the team has
// summed is joined by shuffles, the warps' sums in shared memory. A team's loops are as long as its
// own node's edges: shuffles are among its own lanes only.

// pawl: knobs
constexpr int features_per_thread = 4;
constexpr int splits = 2;
constexpr int edges_in_flight = 4;
enum class Indices { loaded, shuffled };
constexpr Indices indices = Indices::shuffled;
constexpr int rows_per_block = 4;
constexpr int lanes = 16;
constexpr int team = lanes * splits;
constexpr int threads = team * rows_per_block;
constexpr int warp_team = 32;
constexpr int warps = team / warp_team;
constexpr int load_width = 4;
constexpr int shape_nodes = 4096, shape_features = 64;
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
using Index = Integers<narrow>::type;  // of a float of X or Y

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
using Vector = Floats<load_width>::type;

__device__ __forceinline__ void Spread(float* to, float from) { to[0] = from; }
__device__ __forceinline__ void Spread(float* to, float2 from) {
  to[0] = from.x;
  to[1] = from.y;
}
__device__ __forceinline__ void Spread(float* to, float4 from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
}
__device__ __forceinline__ void Join(const float* from, float& to) { to = from[0]; }
__device__ __forceinline__ void Join(const float* from, float2& to) { to = {from[0], from[1]}; }
__device__ __forceinline__ void Join(const float* from, float4& to) {
  to = {from[0], from[1], from[2], from[3]};
}

using Features = float[features_per_thread];

constexpr int warp_splits = warp_team / lanes;  // rows of lanes within a warp

// A thread's place in its team, and the lanes it shuffles with.
struct Place {
  int warp;     // of the team
  int in_warp;  // of warp_team
  int split;    // within the warp
  unsigned mask;
};

__device__ __forceinline__ Place PlaceOf(int in_team) {
  const int in_warp = in_team % warp_team;
  unsigned mask = 0xffffffffu;
  if constexpr (warp_team < 32) {
    const int first = static_cast<int>(threadIdx.x) % 32 / warp_team * warp_team;
    mask = ((1u << (warp_team & 31)) - 1) << first;
  }
  return {in_team / warp_team, in_warp, in_warp / lanes, mask};
}

// Adds the weighted rows of up to edges_in_flight edges; all are loaded before the first is added.
// `x` is at the thread's first feature, of which `left` are in the matrix.
__device__ __forceinline__ void Add(Features& sums, const float* x,
                                    const int (&sources)[edges_in_flight],
                                    const float (&weights)[edges_in_flight],
                                    const bool (&there)[edges_in_flight], int left) {
  Features values[edges_in_flight] = {};
#pragma unroll
  for (int i = 0; i < edges_in_flight; ++i) {
    const float* const from = x + static_cast<Index>(sources[i]) * shape_features;
#pragma unroll
    for (int f = 0; f < features_per_thread; f += load_width) {
      if (there[i] && (whole || f < left)) {
        Spread(values[i] + f, *reinterpret_cast<const Vector*>(from + f));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < edges_in_flight; ++i) {
#pragma unroll
    for (int f = 0; f < features_per_thread; ++f) sums[f] = fmaf(weights[i], values[i][f], sums[f]);
  }
}

// Every thread reads s and w of its own edges.
__device__ __forceinline__ void AddLoaded(Features& sums, const float* x, const float* w,
                                          const int* s, int begin, int end, const Place& place,
                                          int left) {
  for (int e = begin + place.warp * warp_splits + place.split; e < end;
       e += splits * edges_in_flight) {
    int sources[edges_in_flight];
    float weights[edges_in_flight];
    bool there[edges_in_flight];
#pragma unroll
    for (int i = 0; i < edges_in_flight; ++i) {
      const int edge = e + i * splits;
      there[i] = edge < end;
      sources[i] = there[i] ? s[edge] : 0;
      weights[i] = there[i] ? w[edge] : 0.0f;
    }
    Add(sums, x, sources, weights, there, left);
  }
}

// A warp's part of the team reads as many edges as it has lanes at once, and hands them round.
__device__ __forceinline__ void AddShuffled(Features& sums, const float* x, const float* w,
                                            const int* s, int begin, int end, const Place& place,
                                            int left) {
  for (int base = begin + place.warp * warp_team; base < end; base += team) {
    const int own = base + place.in_warp;
    const int source = own < end ? s[own] : 0;
    const float weight = own < end ? w[own] : 0.0f;
    const int count = end - base < warp_team ? end - base : warp_team;
    for (int e = 0; e < count; e += warp_splits * edges_in_flight) {
      int sources[edges_in_flight];
      float weights[edges_in_flight];
      bool there[edges_in_flight];
#pragma unroll
      for (int i = 0; i < edges_in_flight; ++i) {
        const int edge = e + i * warp_splits + place.split;
        const int from = edge % warp_team;  // past the run: some lane's, whose row is not read
        sources[i] = __shfl_sync(place.mask, source, from, warp_team);
        weights[i] = __shfl_sync(place.mask, weight, from, warp_team);
        there[i] = edge < count;
      }
      Add(sums, x, sources, weights, there, left);
    }
  }
}

__device__ __forceinline__ void StoreRow(float* to, const Features& sums, int left) {
#pragma unroll
  for (int f = 0; f < features_per_thread; f += load_width) {
    if (whole || f < left) {
      Vector value;
      Join(sums + f, value);
      *reinterpret_cast<Vector*>(to + f) = value;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    neighbour_aggregation_teams(const float* __restrict__ X, const float* __restrict__ w,
                                const int* __restrict__ p, const int* __restrict__ s,
                                float* __restrict__ Y, long long, long long, long long) {
  const int row_in_block = static_cast<int>(threadIdx.x) / team;
  const int in_team = static_cast<int>(threadIdx.x) % team;
  const Place place = PlaceOf(in_team);
  const int lane = in_team % lanes;
  const Index node = static_cast<Index>(blockIdx.x) * rows_per_block + row_in_block;
  const bool real = node < shape_nodes;
  const int begin = real ? p[node] : 0;
  const int end = real ? p[node + 1] : 0;
  for (Index first = 0; first < shape_features; first += lanes * features_per_thread) {
    const Index feature = first + lane * features_per_thread;
    const int left = feature < shape_features ? static_cast<int>(shape_features - feature) : 0;
    Features sums = {};
    if constexpr (indices == Indices::shuffled) {
      AddShuffled(sums, X + feature, w, s, begin, end, place, left);
    } else {
      AddLoaded(sums, X + feature, w, s, begin, end, place, left);
    }
#pragma unroll
    for (int distance = lanes; distance < warp_team; distance *= 2) {
#pragma unroll
      for (int f = 0; f < features_per_thread; ++f) {
        sums[f] += __shfl_xor_sync(place.mask, sums[f], distance);
      }
    }
    if constexpr (warps > 1) {
      __shared__ float partial[rows_per_block][warps][lanes][features_per_thread];
      __syncthreads();  // the sums of the features before have been read
      if (place.split == 0) {
#pragma unroll
        for (int f = 0; f < features_per_thread; ++f) {
          partial[row_in_block][place.warp][lane][f] = sums[f];
        }
      }
      __syncthreads();
      if (place.warp == 0 && place.split == 0) {
#pragma unroll
        for (int warp = 1; warp < warps; ++warp) {
#pragma unroll
          for (int f = 0; f < features_per_thread; ++f) {
            sums[f] += partial[row_in_block][warp][lane][f];
          }
        }
      }
    }
    if (real && place.warp == 0 && place.split == 0) {
      StoreRow(Y + node * shape_features + feature, sums, left);
    }
  }
}
