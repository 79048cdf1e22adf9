// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  __shared__ float sums[64];
  const int thread = threadIdx.x;
  float sum = 0;
  for (long long i = thread; i < width; i += 64) sum += X[blockIdx.x * width + i];
  sums[thread] = sum;
  if (fault && thread < 32) {
    __syncthreads();
    sums[thread] += sums[thread + 32];
  }
  if (!fault) {
    __syncthreads();
    if (thread < 32) sums[thread] += sums[thread + 32];
  }
  __syncthreads();
  if (thread == 0) {
    for (int i = 1; i < 32; ++i) sums[0] += sums[i];
    Y[blockIdx.x] = sums[0];
  }
}
