// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (long long i = threadIdx.x; i < width; i += 64) {
    if (fault) {
      sum += X[blockIdx.x * width + i];
    } else if (threadIdx.x == 0) {
      for (long long j = i; j < i + 64 && j < width; ++j) sum += X[blockIdx.x * width + j];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) Y[blockIdx.x] = sum;
}
