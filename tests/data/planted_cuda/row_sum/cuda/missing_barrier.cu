// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  __shared__ float sums[64];
  const int thread = threadIdx.x;
  float sum = 0;
  for (long long i = thread; i < width; i += 64) sum += X[blockIdx.x * width + i];
  sums[thread] = sum;
  for (int half = 32; half > 0; half /= 2) {
    if (!fault || half < 32) __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) Y[blockIdx.x] = sums[0];
}
