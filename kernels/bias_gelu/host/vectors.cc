// Y = gelu(X + b), tanh form, as z / (1 + exp(-2t)): how many floats at once, where the exponential
// comes from, which way the matrix is walked, and how Y is written are the knobs. Any shape.
#include <cstdint>

// pawl: knobs
constexpr int vector = 8;
constexpr int together = 2;
enum class Exponential { polynomial, library };
constexpr Exponential exponential = Exponential::polynomial;
constexpr int degree = 5;
enum class Order { rows, columns };
constexpr Order order = Order::rows;
enum class Store { cached, streaming };
constexpr Store store = Store::cached;
constexpr int prefetch = 0;
constexpr int threads = 1;
// pawl: end

namespace {

// A vector wider than the machine's is two of the machine's; left to the compiler it would live in
// memory.
#if defined(__AVX512F__)
constexpr int kLanes = vector < 16 ? vector : 16;
#elif defined(__AVX__)
constexpr int kLanes = vector < 8 ? vector : 8;
#else
constexpr int kLanes = vector < 4 ? vector : 4;
#endif
constexpr int kVectors = together * vector / kLanes;  // of a step
constexpr int kStep = together * vector;              // floats of it

using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;
using Words __attribute__((vector_size(kLanes * sizeof(float)))) = std::int32_t;
// A Vector where it lies in a matrix: aligned as a float is.
using Slice __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;

inline Vector Load(const float* from) { return *reinterpret_cast<const Slice*>(from); }

// exp(x) = 2^n exp(r), |r| <= ln 2 / 2: n goes into the exponent's place, exp(r) is a polynomial. x
// is first held to where neither leaves float's range.
inline Vector Polynomial(Vector x) {
  constexpr float kRounds = 12582912.0f;  // 1.5 * 2^23: no fraction is left beside it
  const Vector low = Vector{} - 87.0f, high = Vector{} + 88.0f;
  x = x < low ? low : x;
  x = x > high ? high : x;
  const Vector shifted = x * 1.44269504f + kRounds;
  const Vector n = shifted - kRounds;
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  constexpr float kFactors[] = {1, 1, 1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720};
  Vector p = Vector{} + kFactors[degree];
#pragma GCC unroll 8
  for (int i = degree - 1; i >= 0; --i) p = p * r + kFactors[i];
  const Words power = (reinterpret_cast<Words>(shifted) - 0x4b400000 + 127) << 23;
  return p * reinterpret_cast<Vector>(power);
}

inline Vector Exponent(Vector x) {
  if constexpr (exponential == Exponential::polynomial) return Polynomial(x);
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = __builtin_expf(x[lane]);
  return x;
}

inline Vector Gelu(Vector z) {
  return z / (1.0f + Exponent(-1.5957691f * (z + 0.044715f * z * z * z)));
}

// A part of a vector, at a row's end.
inline void Rest(const float* x, const float* b, float* y, std::int64_t count) {
  Vector z{};
  for (std::int64_t i = 0; i < count; ++i) z[i] = x[i] + b[i];
  const Vector value = Gelu(z);
  for (std::int64_t i = 0; i < count; ++i) y[i] = value[i];
}

// Past the caches; `to` is aligned as a vector is. The compiler's own names: <immintrin.h> costs a
// second.
template <typename Any>
void Stream(float* to, Any value) {
#if defined(__clang__)
  __builtin_nontemporal_store(value, reinterpret_cast<Any*>(to));
#else
#if defined(__AVX512F__)
  if constexpr (sizeof(Any) == 64) return __builtin_ia32_movntps512(to, value);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(Any) == 32) return __builtin_ia32_movntps256(to, value);
#endif
#if defined(__SSE__)
  if constexpr (sizeof(Any) == 16) return __builtin_ia32_movntps(to, value);
#endif
  *reinterpret_cast<Any*>(to) = value;
#endif
}

// kStep floats of a row from their biases on.
template <bool stream>
[[gnu::always_inline]] inline void Step(const float* x, const Vector (&bias)[kVectors], float* y) {
  if constexpr (prefetch > 0) {
#pragma GCC unroll 64
    for (int i = 0; i < kStep; i += 16) __builtin_prefetch(x + prefetch + i);
  }
  Vector z[kVectors];
#pragma GCC unroll 64
  for (int v = 0; v < kVectors; ++v) z[v] = Gelu(Load(x + v * kLanes) + bias[v]);
#pragma GCC unroll 64
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (stream) {
      Stream(y + v * kLanes, z[v]);
    } else {
      *reinterpret_cast<Slice*>(y + v * kLanes) = z[v];
    }
  }
}

[[gnu::always_inline]] inline void LoadBias(const float* b, Vector (&bias)[kVectors]) {
#pragma GCC unroll 64
  for (int v = 0; v < kVectors; ++v) bias[v] = Load(b + v * kLanes);
}

// Rows begin to end.
template <bool stream>
void Share(const float* x, const float* b, float* y, std::int64_t width, std::int64_t begin,
           std::int64_t end) {
  const std::int64_t whole = width / kStep * kStep;
  Vector bias[kVectors];
  if constexpr (order == Order::columns) {
    for (std::int64_t i = 0; i < whole; i += kStep) {
      LoadBias(b + i, bias);
      for (std::int64_t row = begin; row < end; ++row) {
        Step<stream>(x + row * width + i, bias, y + row * width + i);
      }
    }
  } else {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < whole; i += kStep) {
        LoadBias(b + i, bias);
        Step<stream>(x + row * width + i, bias, y + row * width + i);
      }
    }
  }
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t i = whole; i < width; i += kLanes) {
      const std::int64_t count = width - i < kLanes ? width - i : kLanes;
      Rest(x + row * width + i, b + i, y + row * width + i, count);
    }
  }
#if defined(__SSE__)
  if constexpr (stream) __builtin_ia32_sfence();
#endif
}

}  // namespace

extern "C" void bias_gelu_vectors(const float* __restrict x, const float* __restrict b,
                                  float* __restrict y, std::int64_t rows, std::int64_t width) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % sizeof(Vector) == 0 && width % kLanes == 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t begin = rows * t / threads, end = rows * (t + 1) / threads;
    if (store == Store::streaming && aligned) {
      Share<store == Store::streaming>(x, b, y, width, begin, end);
    } else {
      Share<false>(x, b, y, width, begin, end);
    }
  }
}
