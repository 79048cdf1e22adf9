// Writes where nothing is mapped.
extern "C" __global__ void illegal_address(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i + (1ll << 40)] = 2 * in[i] + 1;
}
