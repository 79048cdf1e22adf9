#include "pawl_device.h"

// pawl: knobs
constexpr bool fault = false;
// pawl: end

// Four tiles of 64 through two buffers.
extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  __shared__ __align__(16) float tiles[2][64];
  const int thread = threadIdx.x;
  const long long first = blockIdx.x * 256LL;
  const auto copy = [&](int tile) {
    const long long at = first + tile * 64 + thread;
    pawl::CpAsync4(&tiles[tile % 2][thread], X + at, at < n);
    pawl::CpAsyncCommit();
  };
  copy(0);
  for (int tile = 0; tile < 4; ++tile) {
    if (tile + 1 < 4) copy(tile + 1);
    if (tile + 1 < 4) {
      pawl::CpAsyncWait<1>();
    } else {
      pawl::CpAsyncWait<0>();
    }
    __syncthreads();
    const int buffer = (fault && tile == 3) ? (tile + 1) % 2 : tile % 2;
    const long long at = first + tile * 64 + thread;
    if (at < n) Y[at] = 2 * tiles[buffer][thread];
    __syncthreads();
  }
}
