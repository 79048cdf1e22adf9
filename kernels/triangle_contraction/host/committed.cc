// O[i,j] = sum over k of A[i,k] * B[j,k], channel by channel, any n and c, on one core: two rows of
// A against four of B, eight channels at a time, the sums in registers.
#include <cstdint>

namespace {

constexpr int kRows = 2;     // of A
constexpr int kColumns = 4;  // rows of B, which are columns of O

// Eight channels at once, which lie in a matrix as aligned as a float.
struct Eight {
  using Value __attribute__((vector_size(32))) = float;
  using Slice __attribute__((vector_size(32), aligned(4), may_alias)) = float;
  static Value Load(const float* from) { return *reinterpret_cast<const Slice*>(from); }
  static void Store(float* to, Value value) { *reinterpret_cast<Slice*>(to) = value; }
};
struct One {
  using Value = float;
  static Value Load(const float* from) { return *from; }
  static void Store(float* to, Value value) { *to = value; }
};

std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// `Channels`: Eight or One. With fewer than kRows rows or kColumns columns the last ones are
// computed more than once.
template <typename Channels>
void Tile(const float* a, std::int64_t rows, const float* b, std::int64_t columns, float* o,
          std::int64_t n, std::int64_t c) {
  const float* from_a[kRows];
  const float* from_b[kColumns];
  for (std::int64_t i = 0; i < kRows; ++i) from_a[i] = a + Least(i, rows - 1) * n * c;
  for (std::int64_t j = 0; j < kColumns; ++j) from_b[j] = b + Least(j, columns - 1) * n * c;
  typename Channels::Value sum[kRows][kColumns] = {};
  for (std::int64_t at = 0; at < n * c; at += c) {
    typename Channels::Value left[kRows];
#pragma GCC unroll 2
    for (int i = 0; i < kRows; ++i) left[i] = Channels::Load(from_a[i] + at);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      const auto right = Channels::Load(from_b[j] + at);
#pragma GCC unroll 2
      for (int i = 0; i < kRows; ++i) sum[i][j] += left[i] * right;
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Channels::Store(o + (i * n + j) * c, sum[i][j]);
    }
  }
}

}  // namespace

extern "C" void triangle_contraction_committed(const float* __restrict a, const float* __restrict b,
                                               float* __restrict o, std::int64_t n,
                                               std::int64_t c) {
  for (std::int64_t i = 0; i < n; i += kRows) {
    const std::int64_t rows = Least(kRows, n - i);
    for (std::int64_t j = 0; j < n; j += kColumns) {
      const std::int64_t columns = Least(kColumns, n - j);
      const float* from_a = a + i * n * c;
      const float* from_b = b + j * n * c;
      float* to = o + (i * n + j) * c;
      std::int64_t channel = 0;
      for (; channel + 8 <= c; channel += 8) {
        Tile<Eight>(from_a + channel, rows, from_b + channel, columns, to + channel, n, c);
      }
      for (; channel < c; ++channel) {
        Tile<One>(from_a + channel, rows, from_b + channel, columns, to + channel, n, c);
      }
    }
  }
}
