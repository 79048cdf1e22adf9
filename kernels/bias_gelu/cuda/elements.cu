// Bias and GELU a vector at a time. The flat walk takes the matrix as one list of vectors; the walk
// down rows keeps a thread in one column of them, so that its bias is loaded once.

// pawl: knobs
constexpr int vector = 4;
constexpr int elements = 8;
constexpr int threads = 256;
enum class Walk { flat, rows };
constexpr Walk walk = Walk::flat;
enum class Form { tanh, exponential };
constexpr Form form = Form::exponential;
enum class Load { plain, streaming };
constexpr Load load = Load::plain;
enum class Store { plain, streaming };
constexpr Store store = Store::plain;
constexpr int vectors = elements / vector;
constexpr int row_vectors = 192;
constexpr int total = 4096 * row_vectors;
constexpr int flat_block = threads * vectors;
constexpr int lanes = 192;
constexpr int rows_together = 1;
constexpr int rows_block = 2;
constexpr int blocks = 2048;
constexpr int shape_rows = 4096;
constexpr int whole = 1;
constexpr int narrow = 1;
// pawl: end

namespace {

template <int n>
struct Floats;
template <>
struct Floats<1> {
  using type = float;
};
template <>
struct Floats<2> {
  using type = float2;
};
template <>
struct Floats<4> {
  using type = float4;
};
using Vector = Floats<vector>::type;

template <int n>
struct Integers {
  using type = long long;
};
template <>
struct Integers<1> {
  using type = int;
};
using Index = Integers<narrow>::type;  // of a vector

__device__ __forceinline__ float Gelu(float x, float bias) {
  const float z = x + bias;
  constexpr float root = 0.79788456080286535588f;  // of 2 / pi
  if constexpr (form == Form::tanh) {
    const float half = 0.5f * z;
    return fmaf(half, tanhf(z * fmaf(root * 0.044715f, z * z, root)), half);
  } else {
    // 1 + tanh(t) = 2 / (1 + exp(-2t)). Where the exponential overflows the quotient is 0, which is
    // the limit.
    return __fdividef(z, 1.0f + __expf(z * fmaf(-2 * root * 0.044715f, z * z, -2 * root)));
  }
}
__device__ __forceinline__ float2 Gelu(float2 x, float2 bias) {
  return {Gelu(x.x, bias.x), Gelu(x.y, bias.y)};
}
__device__ __forceinline__ float4 Gelu(float4 x, float4 bias) {
  return {Gelu(x.x, bias.x), Gelu(x.y, bias.y), Gelu(x.z, bias.z), Gelu(x.w, bias.w)};
}

__device__ __forceinline__ Vector LoadX(const Vector* from) {
  if constexpr (load == Load::streaming) return __ldcs(from);
  return *from;
}

__device__ __forceinline__ void StoreY(Vector* to, Vector value) {
  if constexpr (store == Store::streaming) {
    __stcs(to, value);
  } else {
    *to = value;
  }
}

__device__ __forceinline__ void WalkFlat(const Vector* __restrict__ X, const Vector* __restrict__ b,
                                         Vector* __restrict__ Y) {
  const Index stride = static_cast<Index>(blocks) * flat_block;
  for (Index base = static_cast<Index>(blockIdx.x) * flat_block; base < total; base += stride) {
    Vector x[vectors], bias[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const Index i = base + v * threads + static_cast<int>(threadIdx.x);
      if (whole || i < total) {
        x[v] = LoadX(X + i);
        bias[v] = b[i % row_vectors];
      }
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const Index i = base + v * threads + static_cast<int>(threadIdx.x);
      if (whole || i < total) StoreY(Y + i, Gelu(x[v], bias[v]));
    }
  }
}

__device__ __forceinline__ void WalkRows(const Vector* __restrict__ X, const Vector* __restrict__ b,
                                         Vector* __restrict__ Y) {
  const int down = static_cast<int>(threadIdx.x) / lanes;
  const Index column =
      static_cast<Index>(blockIdx.y) * lanes + static_cast<int>(threadIdx.x) % lanes;
  if (down >= rows_together || column >= row_vectors) return;
  const Vector bias = b[column];
  const Index stride = static_cast<Index>(blocks) * rows_block;
  for (Index base = static_cast<Index>(blockIdx.x) * rows_block; base < shape_rows;
       base += stride) {
    Vector x[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const Index row = base + v * rows_together + down;
      if (whole || row < shape_rows) x[v] = LoadX(X + row * row_vectors + column);
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const Index row = base + v * rows_together + down;
      if (whole || row < shape_rows) StoreY(Y + row * row_vectors + column, Gelu(x[v], bias));
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    bias_gelu_elements(const float* __restrict__ X, const float* __restrict__ b,
                       float* __restrict__ Y, long long, long long) {
  const auto* const x = reinterpret_cast<const Vector*>(X);
  const auto* const bias = reinterpret_cast<const Vector*>(b);
  auto* const y = reinterpret_cast<Vector*>(Y);
  if constexpr (walk == Walk::rows) {
    WalkRows(x, bias, y);
  } else {
    WalkFlat(x, bias, y);
  }
}
