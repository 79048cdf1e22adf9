// The control of m and n that are multiples of 64, with k of 4: a block of 256 threads computes a
// 64 x 64 tile of C, a thread 4 x 4 of it in registers. A lies k-major in shared memory, so that a
// thread reads four rows of one k at once.

namespace {

constexpr int side = 64;  // of a block's tile of C
constexpr int k_step = 32;
constexpr int threads = 256;
constexpr int own = 4;              // a thread's rows and columns
constexpr int stride_a = side + 4;  // a warp's stores spread over the banks, quads stay aligned

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    matmul_registers(const float* __restrict__ A, const float* __restrict__ B,
                     float* __restrict__ C, long long m, long long n, long long k) {
  __shared__ __align__(16) float a_tile[k_step][stride_a];
  __shared__ __align__(16) float b_tile[k_step][side];
  const int thread = threadIdx.x;
  const int tiles_n = static_cast<int>(n / side);
  A += static_cast<long long>(blockIdx.x / tiles_n) * side * k;
  B += static_cast<long long>(blockIdx.x % tiles_n) * side;
  C += static_cast<long long>(blockIdx.x / tiles_n) * side * n +
       static_cast<long long>(blockIdx.x % tiles_n) * side;
  // What this thread stages: in two passes of 16 k, a quad of A along k and one of B along n.
  const int a_row = thread / 2 % side;
  const int a_kk = thread % 2 * 4 + thread / (2 * side) * 8;
  const int b_kk = thread / (side / 4);
  const int b_column = thread % (side / 4) * 4;
  // What it computes.
  const int row = thread / (side / own) * own;
  const int column = thread % (side / own) * own;

  float sums[own][own] = {};
  for (long long at = 0; at < k; at += k_step) {
#pragma unroll
    for (int pass = 0; pass < k_step; pass += 16) {
      // Past the end of k nothing is added: k is a multiple of 4, so a quad is inside or outside.
      float4 quad = {0, 0, 0, 0};
      if (at + pass + a_kk < k) quad = Quad(A + a_row * k + at + pass + a_kk);
      a_tile[pass + a_kk][a_row] = quad.x;
      a_tile[pass + a_kk + 1][a_row] = quad.y;
      a_tile[pass + a_kk + 2][a_row] = quad.z;
      a_tile[pass + a_kk + 3][a_row] = quad.w;
      quad = {0, 0, 0, 0};
      if (at + pass + b_kk < k) quad = Quad(B + (at + pass + b_kk) * n + b_column);
      *reinterpret_cast<float4*>(&b_tile[pass + b_kk][b_column]) = quad;
    }
    __syncthreads();
#pragma unroll 8
    for (int kk = 0; kk < k_step; ++kk) {
      const float4 a = Quad(&a_tile[kk][row]);
      const float4 b = Quad(&b_tile[kk][column]);
      const float as[own] = {a.x, a.y, a.z, a.w};
      const float bs[own] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < own; ++i) {
#pragma unroll
        for (int j = 0; j < own; ++j) sums[i][j] += as[i] * bs[j];
      }
    }
    __syncthreads();
  }
  // Stores of quads by name: an assignment here is compiled to four of floats.
#pragma unroll
  for (int i = 0; i < own; ++i) {
    const float4 quad = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    __stwb(reinterpret_cast<float4*>(C + (row + i) * n + column), quad);
  }
}
