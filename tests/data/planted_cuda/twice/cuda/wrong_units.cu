// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  extern __shared__ float tile[];
  constexpr int half_bytes = 64 * sizeof(float);
  float* const second = tile + (fault ? half_bytes : half_bytes / sizeof(float));
  const long long at = blockIdx.x * 128 + threadIdx.x;
  if (at < n) tile[threadIdx.x] = X[at];
  if (at + 64 < n) second[threadIdx.x] = X[at + 64];
  __syncthreads();
  if (at < n) Y[at] = 2 * tile[threadIdx.x];
  if (at + 64 < n) Y[at + 64] = 2 * second[threadIdx.x];
}
