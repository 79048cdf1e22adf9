extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) Y[i] = 2 * X[i];
}
