// pawl: knobs
constexpr bool fault = false;
// pawl: end

// Eight warps share a row, each a span of width / 8. In rounds of 32 lanes: the last round is a whole
// one only where the span is a multiple of 32.
extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width) {
  __shared__ float partial[8];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int span = width / 8;
  float sum = 0;
  for (int round = 0; round * 32 < span; ++round) {
    const long long i = warp * span + round * 32 + lane;
    const bool mine = round * 32 + lane < span;
    if ((fault || mine) && i < width) sum += X[blockIdx.x * width + i];
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, distance);
  }
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += partial[i];
  Y[blockIdx.x] = sum;
}
