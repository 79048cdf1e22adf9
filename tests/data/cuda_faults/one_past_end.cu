// Right, and writes one element too many.
extern "C" __global__ void one_past_end(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i <= n) out[i] = 2 * (i < n ? in[i] : 0) + 1;
}
