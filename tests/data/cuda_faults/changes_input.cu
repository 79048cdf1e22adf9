// Right, and moves one of its inputs a little.
extern "C" __global__ void changes_input(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = 2 * in[i] + 1;
  if (i == 5) const_cast<float*>(in)[i] += 1;
}
