// Reads four floats at once from an address that is no multiple of 16.
extern "C" __global__ void misaligned(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i + 8 < n) out[i] = reinterpret_cast<const float4*>(in + 1)[0].x + in[i];
}
