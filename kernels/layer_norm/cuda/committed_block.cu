// The control of long rows of whole quads: a block a row, one barrier. Sums and squares are of the
// distances from the row's first element, so that a mean far from 0 cancels nothing.

namespace {

constexpr int threads = 128;
constexpr int warps = threads / 32;
constexpr float eps = 1e-5f;

__device__ __forceinline__ float4 Quad(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_block(const float* __restrict__ X, const float* __restrict__ gamma,
                     const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                     long long width) {
  __shared__ float2 parts[warps];
  const float* x = X + static_cast<long long>(blockIdx.x) * width;
  float* y = Y + static_cast<long long>(blockIdx.x) * width;
  const float first = x[0];
  float sum = 0;
  float squares = 0;
  for (long long i = threadIdx.x * 4; i < width; i += threads * 4) {
    const float4 quad = Quad(x + i);
    const float4 d = {quad.x - first, quad.y - first, quad.z - first, quad.w - first};
    sum += (d.x + d.y) + (d.z + d.w);
    squares += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    squares += __shfl_xor_sync(0xffffffffu, squares, distance);
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = {sum, squares};
  __syncthreads();
  sum = 0;
  squares = 0;
#pragma unroll
  for (int warp = 0; warp < warps; ++warp) {
    sum += parts[warp].x;
    squares += parts[warp].y;
  }
  const float distance = sum / width;
  const float mean = first + distance;
  const float variance = squares / width - distance * distance;
  const float scale = rsqrtf(fmaxf(variance, 0.0f) + eps);
  for (long long i = threadIdx.x * 4; i < width; i += threads * 4) {
    const float4 quad = Quad(x + i);
    const float4 g = Quad(gamma + i);
    const float4 b = Quad(beta + i);
    const float4 out = {(quad.x - mean) * scale * g.x + b.x, (quad.y - mean) * scale * g.y + b.y,
                        (quad.z - mean) * scale * g.z + b.z, (quad.w - mean) * scale * g.w + b.w};
    __stwb(reinterpret_cast<float4*>(y + i), out);  // an assignment may become four stores
  }
}
