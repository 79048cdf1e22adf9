// The control of every shape that no other control fits: a warp a row, an element a lane at a time,
// every access guarded. Mean first, then the variance around it, the row from the cache.

namespace {

constexpr int threads = 256;
constexpr float eps = 1e-5f;

__device__ __forceinline__ float WarpSum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_warp(const float* __restrict__ X, const float* __restrict__ gamma,
                    const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                    long long width) {
  const int lane = threadIdx.x % 32;
  const long long row = static_cast<long long>(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const float* x = X + row * width;
  float* y = Y + row * width;
  float sum = 0;
  for (long long i = lane; i < width; i += 32) sum += x[i];
  const float mean = WarpSum(sum) / width;
  float squares = 0;
  for (long long i = lane; i < width; i += 32) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(WarpSum(squares) / width + eps);
  for (long long i = lane; i < width; i += 32) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}
