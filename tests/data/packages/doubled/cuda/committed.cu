// Slower than it need be: what a search is to find.
extern "C" __global__ void slow(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i] + 1;
}
