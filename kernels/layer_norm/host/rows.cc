// Y = (X - mean) / sqrt(variance + 1e-5) * gamma + beta over each row: how the statistics are
// gathered, how wide and how many at once, and how Y is written are the knobs. Any number of rows
// and any width.
#include <cstdint>

// pawl: knobs
constexpr int vector = 8;
constexpr int accumulators = 4;
enum class Statistics { welford, two_pass, shifted, one_pass };
constexpr Statistics statistics = Statistics::two_pass;
constexpr int rows_together = 1;
constexpr int prefetch_rows = 0;
enum class Store { cached, streaming };
constexpr Store store = Store::cached;
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
constexpr int kVectors = accumulators * vector / kLanes;  // of a step of the statistics
constexpr int kStep = accumulators * vector;              // elements of it
constexpr float kEpsilon = 1e-5f;

using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;
// The same where it lies in a matrix: aligned as a float is.
using Slice __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;

inline Vector Load(const float* from) { return *reinterpret_cast<const Slice*>(from); }

inline float Sum(const Vector (&parts)[kVectors]) {
  Vector all = parts[0];
  for (int v = 1; v < kVectors; ++v) all += parts[v];
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += all[lane];
  return sum;
}

// A row's mean and the reciprocal of its standard deviation.
struct Scale {
  float mean, factor;
};

inline Scale ScaleOf(float mean, float variance) {
  return {mean, 1.0f / __builtin_sqrtf((variance > 0 ? variance : 0) + kEpsilon)};
}

// The sums over a row of what `term` makes of its elements, a vector or one float at a time.
template <typename Term>
[[gnu::always_inline]] inline float SumOf(const float* x, std::int64_t width, Term term) {
  Vector parts[kVectors] = {};
  std::int64_t i = 0;
  for (; i + kStep <= width; i += kStep) {
#pragma GCC unroll 64
    for (int v = 0; v < kVectors; ++v) parts[v] += term(Load(x + i + v * kLanes));
  }
  float rest = 0;
  for (; i < width; ++i) rest += term(x[i]);
  return Sum(parts) + rest;
}

// The mean first, then the squares about it: the row is read twice, the second time from the cache.
inline Scale TwoPass(const float* x, std::int64_t width) {
  const float count = static_cast<float>(width);
  const float mean = SumOf(x, width, [](auto value) { return value; }) / count;
  const float squares = SumOf(x, width, [mean](auto value) {
    const auto apart = value - mean;
    return apart * apart;
  });
  return ScaleOf(mean, squares / count);
}

// The sums of values and of squares about `origin` in one reading. With an origin far from the mean
// the two cancel; an element of the row is near enough.
inline Scale OnePass(const float* x, std::int64_t width, float origin) {
  Vector sums[kVectors] = {}, squares[kVectors] = {};
  std::int64_t i = 0;
  for (; i + kStep <= width; i += kStep) {
#pragma GCC unroll 64
    for (int v = 0; v < kVectors; ++v) {
      const Vector apart = Load(x + i + v * kLanes) - origin;
      sums[v] += apart;
      squares[v] += apart * apart;
    }
  }
  float sum = Sum(sums), square = Sum(squares);
  for (; i < width; ++i) {
    const float apart = x[i] - origin;
    sum += apart;
    square += apart * apart;
  }
  const float count = static_cast<float>(width);
  const float mean = sum / count;
  return ScaleOf(origin + mean, square / count - mean * mean);
}

// Welford's running mean and squares in every lane, joined by Chan's formula.
struct Moments {
  float count = 0, mean = 0, squares = 0;

  void Join(float more, float mean_of_more, float squares_of_more) {
    const float all = count + more;
    const float apart = mean_of_more - mean;
    mean += apart * (more / all);
    squares += squares_of_more + apart * apart * (count * more / all);
    count = all;
  }
};

inline Scale Welford(const float* x, std::int64_t width) {
  Vector means[kVectors] = {}, squares[kVectors] = {};
  std::int64_t i = 0;
  float count = 0;
  for (; i + kStep <= width; i += kStep) {
    count += 1;
    const float share = 1 / count;
#pragma GCC unroll 64
    for (int v = 0; v < kVectors; ++v) {
      const Vector value = Load(x + i + v * kLanes);
      const Vector apart = value - means[v];
      means[v] += apart * share;
      squares[v] += apart * (value - means[v]);
    }
  }
  Moments row;
  if (count > 0) {
    for (int v = 0; v < kVectors; ++v) {
      for (int lane = 0; lane < kLanes; ++lane) {
        row.Join(count, means[v][lane], squares[v][lane]);
      }
    }
  }
  for (; i < width; ++i) row.Join(1, x[i], 0);
  return ScaleOf(row.mean, row.squares / static_cast<float>(width));
}

inline Scale StatisticsOf(const float* x, std::int64_t width) {
  if constexpr (statistics == Statistics::two_pass) return TwoPass(x, width);
  if constexpr (statistics == Statistics::one_pass) return OnePass(x, width, 0);
  if constexpr (statistics == Statistics::shifted) return OnePass(x, width, x[0]);
  return Welford(x, width);
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

// `count` rows: gamma and beta are loaded once for all of them.
template <int count, bool stream>
void Normalise(const float* x, const float* gamma, const float* beta, float* y,
               std::int64_t width) {
  Scale scale[count];
  for (int r = 0; r < count; ++r) scale[r] = StatisticsOf(x + r * width, width);
  std::int64_t i = 0;
  for (; i + vector <= width; i += vector) {
#pragma GCC unroll 64
    for (int part = 0; part < vector; part += kLanes) {
      const Vector slope = Load(gamma + i + part), offset = Load(beta + i + part);
#pragma GCC unroll 64
      for (int r = 0; r < count; ++r) {
        const Vector apart = Load(x + r * width + i + part) - scale[r].mean;
        const Vector result = apart * scale[r].factor * slope + offset;
        float* to = y + r * width + i + part;
        if constexpr (stream) {
          Stream(to, result);
        } else {
          *reinterpret_cast<Slice*>(to) = result;
        }
      }
    }
  }
  for (; i < width; ++i) {
    for (int r = 0; r < count; ++r) {
      y[r * width + i] = (x[r * width + i] - scale[r].mean) * scale[r].factor * gamma[i] + beta[i];
    }
  }
}

template <bool stream>
void Share(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows,
           std::int64_t width, std::int64_t begin, std::int64_t end) {
  std::int64_t row = begin;
  for (; row + rows_together <= end; row += rows_together) {
    if constexpr (prefetch_rows > 0) {
      const std::int64_t first = row + prefetch_rows;
      const std::int64_t last = first + rows_together < rows ? first + rows_together : rows;
      for (std::int64_t i = first * width; i < last * width; i += 16) __builtin_prefetch(x + i);
    }
    Normalise<rows_together, stream>(x + row * width, gamma, beta, y + row * width, width);
  }
  for (; row < end; ++row) {
    Normalise<1, stream>(x + row * width, gamma, beta, y + row * width, width);
  }
#if defined(__SSE__)
  if constexpr (stream) __builtin_ia32_sfence();
#endif
}

}  // namespace

extern "C" void layer_norm_rows(const float* __restrict x, const float* __restrict gamma,
                                const float* __restrict beta, float* __restrict y,
                                std::int64_t rows, std::int64_t width) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % sizeof(Vector) == 0 && width % kLanes == 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t groups = (rows + rows_together - 1) / rows_together;
    const std::int64_t begin = groups * t / threads * rows_together;
    const std::int64_t end = groups * (t + 1) / threads * rows_together;
    if (store == Store::streaming && aligned) {
      Share<store == Store::streaming>(x, gamma, beta, y, rows, width, begin,
                                       end < rows ? end : rows);
    } else {
      Share<false>(x, gamma, beta, y, rows, width, begin, end < rows ? end : rows);
    }
  }
}
