#pragma once
// How the tiles of a step come into shared memory. Included by structured.cu after its knobs, which
// this is written in.
//
// A step's items are dealt to the threads in passes, of which each is a constant away from the
// first, so that with a fixed shape a copy is one instruction. A's items lie along k: `across` of
// them beside each other (8 floats of k where they are transposed: whole sectors of global memory,
// and a bank each in shared memory), then down the rows.

namespace {

template <int kFloats, bool kGuarded>
__device__ __forceinline__ void CopyItem(float* to, const float* from, bool whole) {
  if constexpr (kFloats == 4 && kGuarded) pawl::CpAsync16(to, from, whole);
  if constexpr (kFloats == 4 && !kGuarded) pawl::CpAsync16(to, from);
  if constexpr (kFloats == 1 && kGuarded) pawl::CpAsync4(to, from, whole);
  if constexpr (kFloats == 1 && !kGuarded) pawl::CpAsync4(to, from);
}

constexpr int across_a = natural ? k_step / item_a : 8 / item_a;
constexpr int down_a = threads / across_a;
constexpr int items_a = block_m * k_step / item_a;
constexpr int passes_a = (items_a + threads - 1) / threads;
constexpr int held_a = a_path == APath::registers ? passes_a : 1;
constexpr int across_b = block_n / unit_b;
constexpr int items_b = k_step * across_b;
constexpr int passes_b = (items_b + threads - 1) / threads;
static_assert(passes_a * threads == items_a || items_a < threads);
static_assert(passes_b * threads == items_b || items_b < threads);
static_assert(threads % across_a == 0 && (threads % across_b == 0 || across_b % threads == 0));
static_assert(block_m % down_a == 0 || down_a % block_m == 0);

__device__ constexpr int RowA(int pass) { return pass * down_a % block_m; }
__device__ constexpr int KA(int pass) { return pass * down_a / block_m * 8; }
__device__ constexpr int KB(int pass) { return pass * threads / across_b; }
__device__ constexpr int ColumnB(int pass) { return pass * threads % across_b * unit_b; }
__device__ constexpr int AtA(int row, int kk) {
  return natural ? row * stride_a + kk : kk * stride_a + row;
}

// Brings the tiles of one step after the other.
class Tiles {
 public:
  __device__ __forceinline__ Tiles(const float* A, const float* B, Shape shape, int from_m,
                                   int from_n, int from_k)
      : k_(shape.k), n_(shape.n) {
    const int thread = threadIdx.x;
    const int row = thread / across_a % block_m;
    const int kk = thread % across_a * item_a + thread / across_a / block_m * 8;
    const int b_kk = thread / across_b;
    const int column = thread % across_b * unit_b;
    a_ = A + static_cast<long long>(from_m + row) * shape.k + from_k + kk;
    b_ = B + static_cast<long long>(from_k + b_kk) * shape.n + from_n + column;
    at_a_ = AtA(row, kk);
    at_b_ = b_kk * block_n + column;
    left_m_ = shape.m - from_m - row;
    left_n_ = shape.n - from_n - column;
    left_ka_ = shape.k - from_k - kk;
    left_kb_ = shape.k - from_k - b_kk;
  }

  __device__ __forceinline__ void CopyA(float* tile) const {
#pragma unroll
    for (int pass = 0; pass < passes_a; ++pass) {
      if (items_a < threads && threadIdx.x >= items_a) break;
      constexpr int floats = a_path == APath::registers ? 1 : item_a;
      CopyItem<floats, guarded_a>(tile + at_a_ + AtA(RowA(pass), KA(pass)), From(pass),
                                  IsThere(pass));
    }
  }

  // In two halves: out of global memory, and into k-major order.
  __device__ __forceinline__ void LoadA(float4 (&held)[held_a]) const {
#pragma unroll
    for (int pass = 0; pass < held_a; ++pass) {
      if (items_a < threads && threadIdx.x >= items_a) break;
      const float* from = From(pass);
      held[pass] = {0, 0, 0, 0};
      if (!IsThere(pass)) continue;
      if constexpr (unit_a == 4) {
        held[pass] = Quad(from);
      } else {
        const int left = left_ka_ - KA(pass);
        held[pass].x = from[0];
        if (left > 1) held[pass].y = from[1];
        if (left > 2) held[pass].z = from[2];
        if (left > 3) held[pass].w = from[3];
      }
    }
  }
  __device__ __forceinline__ void StoreA(float* tile, const float4 (&held)[held_a]) const {
#pragma unroll
    for (int pass = 0; pass < held_a; ++pass) {
      if (items_a < threads && threadIdx.x >= items_a) break;
      float* to = tile + at_a_ + AtA(RowA(pass), KA(pass));
      to[0] = held[pass].x;
      to[stride_a] = held[pass].y;
      to[2 * stride_a] = held[pass].z;
      to[3 * stride_a] = held[pass].w;
    }
  }

  __device__ __forceinline__ void CopyB(float* tile) const {
#pragma unroll
    for (int pass = 0; pass < passes_b; ++pass) {
      if (items_b < threads && threadIdx.x >= items_b) break;
      CopyItem<unit_b, guarded_b>(
          tile + at_b_ + KB(pass) * block_n + ColumnB(pass), b_ + KB(pass) * n_ + ColumnB(pass),
          (!tail_n || ColumnB(pass) < left_n_) && (!tail_k || KB(pass) < left_kb_));
    }
  }

  __device__ __forceinline__ void Next() {
    a_ += k_step;
    b_ += static_cast<long long>(k_step) * n_;
    left_ka_ -= k_step;
    left_kb_ -= k_step;
  }

 private:
  __device__ __forceinline__ const float* From(int pass) const {
    return a_ + RowA(pass) * k_ + KA(pass);
  }
  __device__ __forceinline__ bool IsThere(int pass) const {
    return (!tail_m || RowA(pass) < left_m_) && (!tail_k || KA(pass) < left_ka_);
  }

  const float* a_;
  const float* b_;
  const int k_, n_;
  int at_a_, at_b_;
  int left_m_, left_n_, left_ka_, left_kb_;
};

}  // namespace
