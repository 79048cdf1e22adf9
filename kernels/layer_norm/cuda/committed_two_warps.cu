// The control of rows that two warps can share in whole quads (widths that are multiples of 8):
// each takes half of a row, a block four rows. Mean first, then the variance around it.

namespace {

constexpr int threads = 256;
constexpr int rows_per_block = threads / 64;
constexpr float eps = 1e-5f;

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// The sum over a row's two warps, in each of their threads. Every thread of the block comes here.
__device__ __forceinline__ float RowSum(float value, float* halves, int half, int lane) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  if (lane == 0) halves[half] = value;
  __syncthreads();
  return halves[0] + halves[1];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_two_warps(const float* __restrict__ X, const float* __restrict__ gamma,
                         const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                         long long width) {
  __shared__ float sums[2][rows_per_block][2];
  const int lane = threadIdx.x % 32;
  const int half = threadIdx.x / 32 % 2;
  const int row_in_block = threadIdx.x / 64;
  const long long row = static_cast<long long>(blockIdx.x) * rows_per_block + row_in_block;
  // Of a row that is not there no element is; its warps still come to the barriers.
  const long long begin = half * (width / 2) + lane * 4;
  const long long end = row < rows ? (half + 1) * (width / 2) : 0;
  const float* x = X + row * width;
  float* y = Y + row * width;

  float sum = 0;
  for (long long i = begin; i < end; i += 128) {
    const float4 quad = Quad(x + i);
    sum += (quad.x + quad.y) + (quad.z + quad.w);
  }
  const float mean = RowSum(sum, sums[0][row_in_block], half, lane) / width;

  float squares = 0;
  for (long long i = begin; i < end; i += 128) {
    const float4 quad = Quad(x + i);
    const float4 d = {quad.x - mean, quad.y - mean, quad.z - mean, quad.w - mean};
    squares += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
  }
  const float scale = rsqrtf(RowSum(squares, sums[1][row_in_block], half, lane) / width + eps);

  for (long long i = begin; i < end; i += 128) {
    const float4 quad = Quad(x + i);
    const float4 g = Quad(gamma + i);
    const float4 b = Quad(beta + i);
    const float4 out = {(quad.x - mean) * scale * g.x + b.x, (quad.y - mean) * scale * g.y + b.y,
                        (quad.z - mean) * scale * g.z + b.z, (quad.w - mean) * scale * g.w + b.w};
    __stwb(reinterpret_cast<float4*>(y + i), out);  // an assignment may become four stores
  }
}
