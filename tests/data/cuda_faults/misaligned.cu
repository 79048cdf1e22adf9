// Reads four floats at once from an address that is no multiple of 16, and needs all four: of one alone
// the compiler would read four bytes.
extern "C" __global__ void misaligned(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i + 8 < n) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(in + 1));
    out[i] = four.x + four.y + four.z + four.w + in[i];
  }
}
