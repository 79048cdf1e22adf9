// The control of every shape that no other control fits: the textbook's tiled product. A 16 x 16
// block computes a tile of C of its size, an element a thread.

namespace {

constexpr int side = 16;

}  // namespace

extern "C" __global__ void __launch_bounds__(side* side)
    matmul_naive(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                 long long m, long long n, long long k) {
  __shared__ float a_tile[side][side];
  __shared__ float b_tile[side][side];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int tiles_n = static_cast<int>((n + side - 1) / side);
  const long long row = static_cast<long long>(blockIdx.x / tiles_n) * side + y;
  const long long column = static_cast<long long>(blockIdx.x % tiles_n) * side + x;
  float sum = 0;
  for (long long at = 0; at < k; at += side) {
    a_tile[y][x] = row < m && at + x < k ? A[row * k + at + x] : 0.0f;
    b_tile[y][x] = at + y < k && column < n ? B[(at + y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < side; ++kk) sum += a_tile[y][kk] * b_tile[kk][x];
    __syncthreads();
  }
  if (row < m && column < n) C[row * n + column] = sum;
}
