// pawl: knobs
constexpr bool fault = false;
// pawl: end

// Four elements a thread; the fault leaves out the last.
extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  for (int j = 0; j < (fault ? 3 : 4); ++j) {
    const long long i = blockIdx.x * 256 + threadIdx.x + j * 64;
    if (i < n) Y[i] = 2 * X[i];
  }
}
