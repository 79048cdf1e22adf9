// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const float next = fault || i + 1 < n ? X[i + 1] : 0;
  Y[i] = 2 * X[i] + 0 * next;
}
