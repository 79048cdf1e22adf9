// C = A·B, row major, float32, any m, n, k: the blocking of Goto and van de Geijn ("Anatomy of
// high-performance matrix multiplication", 2008) with every choice of it a knob.
//
// The three block loops run in `order`. A block of A is block_m x k_step, one of B is k_step x
// block_n. Packed, each is a row of panels that the register tile reads straight through: A in
// panels of tile_m rows, k-major, B in panels of kWidth columns. Not packed, it is read in place,
// all but the ragged edge, which is a padded copy. The tiles at C's edge are computed in full and
// stored in part.
#include <cstdint>

// pawl: knobs
constexpr int vector = 8;
constexpr int tile_m = 6, tile_n = 2;
constexpr int threads = 1;
constexpr bool pack_b = true;
constexpr bool pack_a = true;
enum class Order { mnk, mkn, nmk, nkm, kmn, knm };
constexpr Order order = Order::nkm;
constexpr int k_step = 256;
constexpr int block_m = 96, block_n = 384;
enum class Sweep { rows, columns };
constexpr Sweep sweep = Sweep::columns;
constexpr int unroll = 1;
// pawl: end

namespace {

// A vector wider than the machine's is several of the machine's; left to the compiler it would live
// in memory.
#if defined(__AVX512F__)
constexpr int kMachineLanes = 16;
#elif defined(__AVX__)
constexpr int kMachineLanes = 8;
#else
constexpr int kMachineLanes = 4;
#endif
constexpr int kLanes = vector < kMachineLanes ? vector : kMachineLanes;
constexpr int kWidth = tile_n * vector;  // columns of the register tile
constexpr int kVectors = kWidth / kLanes;
constexpr int kRows = block_m - block_m % tile_m;     // of a block of A, in whole tiles
constexpr int kColumns = block_n - block_n % kWidth;  // of a block of B

using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;
// The same where it lies in a matrix: aligned as a float is.
using Slice __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;

enum Axis { kM, kN, kK };
constexpr Axis kAxes[][3] = {{kM, kN, kK}, {kM, kK, kN}, {kN, kM, kK},   // by Order,
                             {kN, kK, kM}, {kK, kM, kN}, {kK, kN, kM}};  // outermost first
constexpr std::int64_t kSteps[] = {kRows, kColumns, k_step};             // by Axis

struct Range {
  std::int64_t begin, end;
};

struct Matrices {
  const float* a;
  const float* b;
  float* c;
  std::int64_t m, n, k;
};

// One thread's packed blocks, or the copies of their edges; what of it is read was written in the
// same call.
struct Scratch {
  alignas(64) float a[(pack_a ? kRows : tile_m) * k_step];
  alignas(64) float b[(pack_b ? kColumns : kWidth) * k_step];
};
Scratch scratch[threads];

std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// `count` rows of A, `depth` of their columns, missing rows as zeros: panels of tile_m rows,
// k-major; for the edge of a block that is read in place, row-major like A itself.
void PackA(const float* a, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < count; i += tile_m, to += tile_m * depth) {
    for (std::int64_t r = 0; r < tile_m; ++r) {
      for (std::int64_t p = 0; p < depth; ++p) {
        to[pack_a ? p * tile_m + r : r * depth + p] =
            i + r < count ? a[(i + r) * stride + p] : 0.0f;
      }
    }
  }
}

// `count` columns of B, `depth` of their rows, as panels of kWidth columns; missing columns as
// zeros.
void PackB(const float* b, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to) {
  for (std::int64_t j = 0; j < count; j += kWidth) {
    const std::int64_t some = Least(kWidth, count - j);
    for (std::int64_t p = 0; p < depth; ++p, to += kWidth) {
      const float* from = b + p * stride + j;
      if (some == kWidth) {
        for (int s = 0; s < kWidth; ++s) to[s] = from[s];
      } else {
        for (int s = 0; s < kWidth; ++s) to[s] = s < some ? from[s] : 0.0f;
      }
    }
  }
}

// sum += a column of the A panel times a row of the B panel.
[[gnu::always_inline]] inline void Step(const float* a, std::int64_t a_stride, const float* b,
                                        Vector (&sum)[tile_m][kVectors]) {
  Vector right[kVectors];
#pragma GCC unroll 64
  for (int j = 0; j < kVectors; ++j) {
    right[j] = pack_b ? *reinterpret_cast<const Vector*>(b + j * kLanes)
                      : static_cast<Vector>(*reinterpret_cast<const Slice*>(b + j * kLanes));
  }
#pragma GCC unroll 64
  for (int i = 0; i < tile_m; ++i) {
    const float left = a[pack_a ? i : i * a_stride];
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) sum[i][j] += left * right[j];
  }
}

// One register tile over `depth` steps of k into `rows` x `columns` of C, added to what is there
// unless `first`. The strides are those of a and b where they are not packed.
void Tile(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
          std::int64_t depth, float* c, std::int64_t c_stride, std::int64_t rows,
          std::int64_t columns, bool first) {
  const std::int64_t a_next = pack_a ? tile_m : 1;
  const std::int64_t b_next = pack_b ? kWidth : b_stride;
  Vector sum[tile_m][kVectors] = {};
  std::int64_t p = 0;
  for (; p + unroll <= depth; p += unroll, a += unroll * a_next, b += unroll * b_next) {
#pragma GCC unroll 64
    for (int u = 0; u < unroll; ++u) Step(a + u * a_next, a_stride, b + u * b_next, sum);
  }
  for (; unroll > 1 && p < depth; ++p, a += a_next, b += b_next) Step(a, a_stride, b, sum);
  if (rows == tile_m && columns == kWidth) {
#pragma GCC unroll 64
    for (int i = 0; i < tile_m; ++i) {
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) {
        Slice* to = reinterpret_cast<Slice*>(c + i * c_stride + j * kLanes);
        *to = first ? sum[i][j] : *to + sum[i][j];
      }
    }
    return;
  }
  float whole[tile_m][kWidth];
  for (int i = 0; i < tile_m; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      *reinterpret_cast<Slice*>(&whole[i][j * kLanes]) = sum[i][j];
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float& to = c[i * c_stride + j];
      to = first ? whole[i][j] : to + whole[i][j];
    }
  }
}

// The tiles of one block of C, from the blocks of A and B that belong to it.
void Block(const Matrices& x, Range i, Range j, Range p, const Scratch& packed) {
  const std::int64_t depth = p.end - p.begin;
  const auto tile = [&](std::int64_t row, std::int64_t column) {
    const std::int64_t rows = Least(tile_m, i.end - row);
    const std::int64_t columns = Least(kWidth, j.end - column);
    const float* a = x.a + row * x.k + p.begin;
    const float* b = x.b + p.begin * x.n + column;
    std::int64_t a_stride = x.k, b_stride = x.n;
    if (pack_a) {
      a = packed.a + (row - i.begin) * depth;
    } else if (rows < tile_m) {
      a = packed.a;
      a_stride = depth;
    }
    if (pack_b) {
      b = packed.b + (column - j.begin) * depth;
    } else if (columns < kWidth) {
      b = packed.b;
      b_stride = kWidth;
    }
    Tile(a, a_stride, b, b_stride, depth, x.c + row * x.n + column, x.n, rows, columns,
         p.begin == 0);
  };
  if constexpr (sweep == Sweep::columns) {  // a panel of B stays while those of A pass by
    for (std::int64_t column = j.begin; column < j.end; column += kWidth) {
      for (std::int64_t row = i.begin; row < i.end; row += tile_m) tile(row, column);
    }
  } else {
    for (std::int64_t row = i.begin; row < i.end; row += tile_m) {
      for (std::int64_t column = j.begin; column < j.end; column += kWidth) tile(row, column);
    }
  }
}

// One thread's rows of C.
void Share(const Matrices& x, Range rows, Scratch& packed) {
  const Range whole[3] = {rows, {0, x.n}, {0, x.k}};
  Range at[3] = {};
  Range packed_a[2] = {{-1, -1}, {-1, -1}}, packed_b[2] = {{-1, -1}, {-1, -1}};
  const auto changed = [](Range(&last)[2], Range outer, Range inner) {
    const bool same = last[0].begin == outer.begin && last[1].begin == inner.begin;
    last[0] = outer;
    last[1] = inner;
    return !same;
  };
  const auto each = [&](int level, auto body) {
    const Axis along = kAxes[static_cast<int>(order)][level];
    const std::int64_t step = kSteps[along];
    for (std::int64_t begin = whole[along].begin; begin < whole[along].end; begin += step) {
      at[along] = {begin, Least(begin + step, whole[along].end)};
      body();
    }
  };
  each(0, [&] {
    each(1, [&] {
      each(2, [&] {
        const Range i = at[kM], j = at[kN], p = at[kK];
        const std::int64_t depth = p.end - p.begin;
        if (changed(packed_a, i, p)) {
          const std::int64_t from = pack_a ? i.begin : i.end - (i.end - i.begin) % tile_m;
          PackA(x.a + from * x.k + p.begin, x.k, i.end - from, depth, packed.a);
        }
        if (changed(packed_b, j, p)) {
          const std::int64_t from = pack_b ? j.begin : j.end - (j.end - j.begin) % kWidth;
          PackB(x.b + p.begin * x.n + from, x.n, j.end - from, depth, packed.b);
        }
        Block(x, i, j, p, packed);
      });
    });
  });
}

}  // namespace

extern "C" void matmul_blocked(const float* __restrict a, const float* __restrict b,
                               float* __restrict c, std::int64_t m, std::int64_t n,
                               std::int64_t k) {
  const Matrices x = {a, b, c, m, n, k};
  const std::int64_t tiles = (m + tile_m - 1) / tile_m;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; ++t) {
    Share(x, {Least(m, tiles * t / threads * tile_m), Least(m, tiles * (t + 1) / threads * tile_m)},
          scratch[t]);
  }
}
