// C = A·B, row major, float32, any m, n, k, on one core: B is packed in panels of sixteen columns,
// a panel's 256 rows stay in the level-1 cache while tiles of four rows of A pass by, read in
// place.
#include <cstdint>

namespace {

constexpr int kRows = 4;
constexpr int kColumns = 16;
constexpr std::int64_t kDepth = 256;

using Vector __attribute__((vector_size(32))) = float;
// The same where it lies in a matrix: aligned as a float is.
using Slice __attribute__((vector_size(32), aligned(4), may_alias)) = float;

std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// `depth` rows and `some` columns of B into one panel, missing columns as zeros.
void Pack(const float* b, std::int64_t stride, std::int64_t some, std::int64_t depth,
          float* panel) {
  for (std::int64_t p = 0; p < depth; ++p, b += stride, panel += kColumns) {
    for (std::int64_t j = 0; j < kColumns; ++j) panel[j] = j < some ? b[j] : 0.0f;
  }
}

// `rows` x `some` of C; with fewer than kRows rows the last one is computed more than once.
void Tile(const float* a, std::int64_t a_stride, std::int64_t rows, const float* panel,
          std::int64_t depth, float* c, std::int64_t c_stride, std::int64_t some, bool first) {
  const float* row[kRows];
  for (std::int64_t i = 0; i < kRows; ++i) row[i] = a + Least(i, rows - 1) * a_stride;
  Vector sum[kRows][2] = {};
  for (std::int64_t p = 0; p < depth; ++p, panel += kColumns) {
    const Vector left = *reinterpret_cast<const Vector*>(panel);
    const Vector right = *reinterpret_cast<const Vector*>(panel + 8);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      sum[i][0] += row[i][p] * left;
      sum[i][1] += row[i][p] * right;
    }
  }
  if (some == kColumns) {
    for (std::int64_t i = 0; i < rows; ++i, c += c_stride) {
      for (int half = 0; half < 2; ++half) {
        Slice* to = reinterpret_cast<Slice*>(c + 8 * half);
        *to = first ? sum[i][half] : *to + sum[i][half];
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i, c += c_stride) {
    for (std::int64_t j = 0; j < some; ++j) {
      c[j] = sum[i][j / 8][j % 8] + (first ? 0.0f : c[j]);
    }
  }
}

}  // namespace

extern "C" void matmul_committed(const float* __restrict a, const float* __restrict b,
                                 float* __restrict c, std::int64_t m, std::int64_t n,
                                 std::int64_t k) {
  alignas(64) float panel[kDepth * kColumns];
  for (std::int64_t p = 0; p < k; p += kDepth) {
    const std::int64_t depth = Least(kDepth, k - p);
    for (std::int64_t j = 0; j < n; j += kColumns) {
      const std::int64_t some = Least(kColumns, n - j);
      Pack(b + p * n + j, n, some, depth, panel);
      for (std::int64_t i = 0; i < m; i += kRows) {
        Tile(a + i * k + p, k, Least(kRows, m - i), panel, depth, c + i * n + j, n, some, p == 0);
      }
    }
  }
}
