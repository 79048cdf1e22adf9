// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  float sum = 0;
  for (long long i = threadIdx.x; i < width; i += 64) sum += X[blockIdx.x * width + i];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp > 0) return;
  // Of 32 places only as many as there are warps have been written.
  sum = lane < (fault ? 32 : 2) ? partial[lane] : 0;
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (lane == 0) Y[blockIdx.x] = sum;
}
