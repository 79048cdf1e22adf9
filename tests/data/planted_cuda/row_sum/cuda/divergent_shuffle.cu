// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  float sum = 0;
  for (long long i = threadIdx.x; i < width; i += 32) sum += X[blockIdx.x * width + i];
  for (int distance = 16; distance > 0; distance /= 2) {
    if (!fault || threadIdx.x < distance) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x == 0) Y[blockIdx.x] = sum;
}
