// pawl: knobs
constexpr bool fault = false;
// pawl: end

// The fault writes the next block's first element too, and writes the right value.
extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  Y[i] = 2 * X[i];
  if (fault && threadIdx.x == 63 && i + 1 < n) Y[i + 1] = 2 * X[i + 1];
}
