// The control: a warp a node. Where the features are whole quads, its halves take turns at the
// edges, four of them in flight each, a lane a quad. Else a lane a feature, edge after edge.

namespace {

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int nodes_of_block = 4;
constexpr int lanes = 16;  // of a half
constexpr int in_flight = 4;

__device__ __forceinline__ float Both(float value) {
  return value + __shfl_xor_sync(all_lanes, value, lanes);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * nodes_of_block)
    neighbour_aggregation_quads(const float* __restrict__ X, const float* __restrict__ w,
                                const int* __restrict__ p, const int* __restrict__ s,
                                float* __restrict__ Y, long long nodes, long long features,
                                long long) {
  const long long node = static_cast<long long>(blockIdx.x) * nodes_of_block + threadIdx.y;
  if (node >= nodes) return;
  const int half = threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  const long long quads = features / 4;
  const long long begin = p[node], end = p[node + 1];
  for (long long first = 0; first < quads; first += lanes) {
    const long long quad = first + lane;
    const bool mine = quad < quads;
    float4 sum = {};
    for (long long e = begin + half; e < end; e += 2 * in_flight) {
      float weights[in_flight];
      float4 values[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const bool there = mine && e + 2 * i < end;
        weights[i] = there ? w[e + 2 * i] : 0.0f;
        values[i] = there ? reinterpret_cast<const float4*>(X)[s[e + 2 * i] * quads + quad]
                          : float4{0.0f, 0.0f, 0.0f, 0.0f};
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        sum.x = fmaf(weights[i], values[i].x, sum.x);
        sum.y = fmaf(weights[i], values[i].y, sum.y);
        sum.z = fmaf(weights[i], values[i].z, sum.z);
        sum.w = fmaf(weights[i], values[i].w, sum.w);
      }
    }
    sum = {Both(sum.x), Both(sum.y), Both(sum.z), Both(sum.w)};
    if (half == 0 && mine) reinterpret_cast<float4*>(Y)[node * quads + quad] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(32 * nodes_of_block)
    neighbour_aggregation_guarded(const float* __restrict__ X, const float* __restrict__ w,
                                  const int* __restrict__ p, const int* __restrict__ s,
                                  float* __restrict__ Y, long long nodes, long long features,
                                  long long) {
  const long long node = static_cast<long long>(blockIdx.x) * nodes_of_block + threadIdx.y;
  if (node >= nodes) return;
  const long long begin = p[node], end = p[node + 1];
  for (long long feature = threadIdx.x; feature < features; feature += 32) {
    float sum = 0;
    for (long long e = begin; e < end; ++e) {
      sum = fmaf(w[e], X[s[e] * features + feature], sum);
    }
    Y[node * features + feature] = sum;
  }
}
