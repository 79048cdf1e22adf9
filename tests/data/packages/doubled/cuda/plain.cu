// An element a thread.

// pawl: knobs
constexpr int threads = 256;
// pawl: end

extern "C" __global__ void __launch_bounds__(threads)
    right(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)threads + threadIdx.x;
  if (i < n) out[i] = 2 * in[i] + 1;
}
