// The control: a block of 256 threads a row, any width; sums over the block by a tree in shared
// memory.

namespace {

constexpr int threads = 256;
constexpr float eps = 1e-5f;

__device__ float BlockSum(float value, float* sums) {
  const int thread = threadIdx.x;
  __syncthreads();  // the sum before has been read
  sums[thread] = value;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  __syncthreads();
  return sums[0];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_committed(const float* __restrict__ X, const float* __restrict__ gamma,
                         const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                         long long width) {
  __shared__ float sums[threads];
  const float* x = X + static_cast<long long>(blockIdx.x) * width;
  float* y = Y + static_cast<long long>(blockIdx.x) * width;
  float sum = 0;
  for (long long i = threadIdx.x; i < width; i += threads) sum += x[i];
  const float mean = BlockSum(sum, sums) / width;
  float squares = 0;
  for (long long i = threadIdx.x; i < width; i += threads) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(BlockSum(squares, sums) / width + eps);
  for (long long i = threadIdx.x; i < width; i += threads) {
    y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  }
}
