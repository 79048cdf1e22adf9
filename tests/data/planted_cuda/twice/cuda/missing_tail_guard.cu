// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (fault || i < n) Y[i] = 2 * X[i];
}
