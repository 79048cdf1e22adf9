// pawl: knobs
constexpr bool fault = false;
// pawl: end

// The row after the one meant is there too: no address is out of range.
extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  __shared__ float tile[4][16];
  const int thread = threadIdx.x;
  const long long i = blockIdx.x * 64 + thread;
  tile[thread / 16][thread % 16] = i < n ? X[i] : 0;
  __syncthreads();
  const int column = fault && thread / 16 > 0 ? thread % 16 + 16 : thread % 16;
  const int row = fault && thread / 16 > 0 ? thread / 16 - 1 : thread / 16;
  if (i < n) Y[i] = 2 * tile[row][column];
}
