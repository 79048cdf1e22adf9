// The control. Where rows are whole quads, a thread keeps a quad of the bias and walks down its
// rows, all of which it has loaded before it computes the first; else an element a thread.

namespace {

// tanh(t) = 1 - 2 / (1 + exp(2t)): the exponential and one division in place of a tanh. Where the
// exponential overflows the quotient is 0, which is the limit.
__device__ __forceinline__ float Gelu(float z) {
  const float minus_two_t = z * fmaf(-1.5957691216f * 0.044715f, z * z, -1.5957691216f);
  return __fdividef(z, 1.0f + __expf(minus_two_t));
}

__device__ __forceinline__ float4 Gelu(float4 x, float4 bias) {
  return {Gelu(x.x + bias.x), Gelu(x.y + bias.y), Gelu(x.z + bias.z), Gelu(x.w + bias.w)};
}

constexpr int quads_across = 64;
constexpr int rows_down = 4;
constexpr int rows_of_thread = 2;

}  // namespace

extern "C" __global__ void __launch_bounds__(quads_across* rows_down)
    bias_gelu_quads(const float* __restrict__ X, const float* __restrict__ b, float* __restrict__ Y,
                    long long rows, long long width) {
  const long long quads = width / 4;
  const long long quad = static_cast<long long>(blockIdx.y) * quads_across + threadIdx.x;
  if (quad >= quads) return;
  const float4* const x = reinterpret_cast<const float4*>(X) + quad;
  float4* const y = reinterpret_cast<float4*>(Y) + quad;
  const float4 bias = reinterpret_cast<const float4*>(b)[quad];
  const long long first =
      static_cast<long long>(blockIdx.x) * (rows_down * rows_of_thread) + threadIdx.y;
  float4 values[rows_of_thread];
#pragma unroll
  for (int i = 0; i < rows_of_thread; ++i) {
    const long long row = first + i * rows_down;
    if (row < rows) values[i] = x[row * quads];
  }
#pragma unroll
  for (int i = 0; i < rows_of_thread; ++i) {
    const long long row = first + i * rows_down;
    if (row < rows) y[row * quads] = Gelu(values[i], bias);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    bias_gelu_guarded(const float* __restrict__ X, const float* __restrict__ b,
                      float* __restrict__ Y, long long rows, long long width) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= rows * width) return;
  Y[i] = Gelu(X[i] + b[i % width]);
}
