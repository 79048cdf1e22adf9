// An assertion that does not hold.
#include <cassert>
extern "C" __global__ void device_assert(const float* in, float* out, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  assert(n < 0);
  if (i < n) out[i] = 2 * in[i] + 1;
}
