// pawl: knobs
constexpr bool fault = false;
// pawl: end

// Four blocks share a row. The fault adds their sums as they come; without it the last to arrive adds
// them in their order.
extern "C" __global__ void row_sum(const float* X, float* Y, long long rows, long long width,
                                   float* partial, unsigned* arrived) {
  const long long row = blockIdx.x / 4;
  const int part = blockIdx.x % 4;
  float sum = 0;
  for (long long i = part * 32 + threadIdx.x; i < width; i += 128) sum += X[row * width + i];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x > 0) return;
  if (fault) {
    atomicAdd(&Y[row], sum);
    return;
  }
  partial[blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(&arrived[row], 1u) < 3) return;
  __threadfence();
  sum = 0;
  for (int i = 0; i < 4; ++i) sum += partial[row * 4 + i];
  Y[row] = sum;
}
