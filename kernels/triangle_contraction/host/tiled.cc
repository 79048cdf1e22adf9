// O[i,j] = sum over k of A[i,k] * B[j,k], channel by channel: a tile of rows of A against rows of
// B, some channels wide, is kept in registers for k_step steps of k; which tile comes next is a
// knob too. Any n and c.
#include <cstdint>

// pawl: knobs
constexpr int vector = 8;
constexpr int tile_i = 2, tile_j = 4;
constexpr int wide = 1;
constexpr int k_step = 64;
enum class Order { ijc, jic, cij };
constexpr Order order = Order::ijc;
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
constexpr int kVectors = wide * vector / kLanes;  // of channels, side by side
constexpr int kChannels = wide * vector;

// A vector of channels, which lies in a matrix as aligned as a float.
struct Many {
  static constexpr int kFloats = kLanes;
  using Value __attribute__((vector_size(kLanes * sizeof(float)))) = float;
  using Slice __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;
  static Value Load(const float* from) { return *reinterpret_cast<const Slice*>(from); }
  static void Store(float* to, Value value) { *reinterpret_cast<Slice*>(to) = value; }
};
struct One {
  static constexpr int kFloats = 1;
  using Value = float;
  static Value Load(const float* from) { return *from; }
  static void Store(float* to, Value value) { *to = value; }
};

std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// The matrices and their sides.
struct Problem {
  const float* a;
  const float* b;
  float* o;
  std::int64_t n, c;
};

// A tile's rows, and the part of k that is added.
struct Part {
  std::int64_t i, rows;
  std::int64_t j, columns;
  std::int64_t k, steps;
};

// `vectors` times Many channels, or One. With fewer rows or columns than the tile's the last ones
// are computed more than once. A function by itself, so that its roundings do not depend on who
// calls it.
template <typename Channels, int vectors>
[[gnu::noipa]] void Tile(const Problem& problem, const Part& part, std::int64_t channel) {
  constexpr int kApart = Channels::kFloats;
  const std::int64_t n = problem.n, c = problem.c;
  const float* from_a[tile_i];
  const float* from_b[tile_j];
  for (std::int64_t i = 0; i < tile_i; ++i) {
    from_a[i] = problem.a + ((part.i + Least(i, part.rows - 1)) * n + part.k) * c + channel;
  }
  for (std::int64_t j = 0; j < tile_j; ++j) {
    from_b[j] = problem.b + ((part.j + Least(j, part.columns - 1)) * n + part.k) * c + channel;
  }
  typename Channels::Value sum[tile_i][tile_j][vectors] = {};
  for (std::int64_t at = 0; at < part.steps * c; at += c) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      typename Channels::Value left[tile_i];
#pragma GCC unroll 16
      for (int i = 0; i < tile_i; ++i) {
        left[i] = Channels::Load(from_a[i] + at + v * kApart);
      }
#pragma GCC unroll 16
      for (int j = 0; j < tile_j; ++j) {
        const auto right = Channels::Load(from_b[j] + at + v * kApart);
#pragma GCC unroll 16
        for (int i = 0; i < tile_i; ++i) sum[i][j][v] += left[i] * right;
      }
    }
  }
  for (std::int64_t i = 0; i < part.rows; ++i) {
    for (std::int64_t j = 0; j < part.columns; ++j) {
      float* to = problem.o + ((part.i + i) * n + part.j + j) * c + channel;
      for (int v = 0; v < vectors; ++v) {
        auto value = sum[i][j][v];
        if (part.k > 0) value += Channels::Load(to + v * kApart);
        Channels::Store(to + v * kApart, value);
      }
    }
  }
}

// All channels of a tile, or the `turn`th kChannels of them; the last turn has what is left.
void Turn(const Problem& problem, const Part& part, std::int64_t turn) {
  std::int64_t channel = turn * kChannels;
  if (channel + kChannels <= problem.c) {
    return Tile<Many, kVectors>(problem, part, channel);
  }
  for (; channel + kLanes <= problem.c; channel += kLanes) {
    Tile<Many, 1>(problem, part, channel);
  }
  for (; channel < problem.c; ++channel) Tile<One, 1>(problem, part, channel);
}

// Rows begin to end of A.
void Share(const Problem& problem, std::int64_t begin, std::int64_t end) {
  const std::int64_t turns = (problem.c + kChannels - 1) / kChannels;
  for (std::int64_t k = 0; k < problem.n; k += k_step) {
    const std::int64_t steps = Least(k_step, problem.n - k);
    const auto tile = [&](std::int64_t i, std::int64_t j, std::int64_t turn) {
      Turn(problem, {i, Least(tile_i, end - i), j, Least(tile_j, problem.n - j), k, steps}, turn);
    };
    if constexpr (order == Order::ijc) {
      for (std::int64_t i = begin; i < end; i += tile_i) {
        for (std::int64_t j = 0; j < problem.n; j += tile_j) {
          for (std::int64_t turn = 0; turn < turns; ++turn) tile(i, j, turn);
        }
      }
    } else if constexpr (order == Order::jic) {
      for (std::int64_t j = 0; j < problem.n; j += tile_j) {
        for (std::int64_t i = begin; i < end; i += tile_i) {
          for (std::int64_t turn = 0; turn < turns; ++turn) tile(i, j, turn);
        }
      }
    } else {
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        for (std::int64_t i = begin; i < end; i += tile_i) {
          for (std::int64_t j = 0; j < problem.n; j += tile_j) tile(i, j, turn);
        }
      }
    }
  }
}

}  // namespace

extern "C" void triangle_contraction_tiled(const float* __restrict a, const float* __restrict b,
                                           float* __restrict o, std::int64_t n, std::int64_t c) {
  const Problem problem{a, b, o, n, c};
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t groups = (n + tile_i - 1) / tile_i;
    const std::int64_t begin = groups * t / threads * tile_i;
    const std::int64_t end = groups * (t + 1) / threads * tile_i;
    Share(problem, begin, Least(end, n));
  }
}
