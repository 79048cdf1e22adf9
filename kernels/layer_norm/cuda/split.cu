// warps_per_row warps share a row, a block holds several rows. Mean first, then the variance around
// it: two passes over a row, the second from the cache.

// pawl: knobs
constexpr int warps_per_row = 2;
constexpr int threads = 256;
constexpr int rows_per_block = 4;
// pawl: end

namespace {

constexpr float eps = 1e-5f;

// The sum over a row's threads, in each of them. `partial`: a place a warp, its row's first.
// Every thread of the block must come here.
__device__ __forceinline__ float RowSum(float value, float* partial, int warp, int lane) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  if constexpr (warps_per_row == 1) return value;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < warps_per_row; ++i) sum += partial[i];
  return sum;
}

__device__ __forceinline__ float4 Quad(const float* row, long long quad) {
  return reinterpret_cast<const float4*>(row)[quad];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_split(const float* __restrict__ X, const float* __restrict__ gamma,
                     const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                     long long width) {
  // One for each of the two sums: the second need not wait until the first has been read.
  __shared__ float partial[2][rows_per_block][warps_per_row];
  const int lane = threadIdx.x % 32;
  const int row_in_block = threadIdx.x / (32 * warps_per_row);
  const int warp = threadIdx.x / 32 % warps_per_row;
  const long long row = static_cast<long long>(blockIdx.x) * rows_per_block + row_in_block;
  const float* x = X + row * width;
  float* y = Y + row * width;
  const long long quads = width / 4;
  const long long first = warp * 32 + lane;
  constexpr int stride = 32 * warps_per_row;

  float sum = 0;
  for (long long i = first; i < quads; i += stride) {
    const float4 quad = Quad(x, i);
    sum += (quad.x + quad.y) + (quad.z + quad.w);
  }
  const float mean = RowSum(sum, partial[0][row_in_block], warp, lane) / width;

  float squares = 0;
  for (long long i = first; i < quads; i += stride) {
    const float4 quad = Quad(x, i);
    const float4 d = {quad.x - mean, quad.y - mean, quad.z - mean, quad.w - mean};
    squares += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
  }
  const float variance = RowSum(squares, partial[1][row_in_block], warp, lane) / width;
  const float scale = rsqrtf(variance + eps);

  for (long long i = first; i < quads; i += stride) {
    const float4 quad = Quad(x, i);
    const float4 g = Quad(gamma, i);
    const float4 b = Quad(beta, i);
    const float4 out = {(quad.x - mean) * scale * g.x + b.x, (quad.y - mean) * scale * g.y + b.y,
                        (quad.z - mean) * scale * g.z + b.z, (quad.w - mean) * scale * g.w + b.w};
    reinterpret_cast<float4*>(y)[i] = out;
  }
}
