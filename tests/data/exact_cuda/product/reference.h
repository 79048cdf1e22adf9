// C = A·B in float64: what every kernel of this operation is checked against, an element at a time.
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

// C[i,j] of A (m x k) and B (k x n), row major.
PAWL_REFERENCE double reference_C(const float* A, const float* B, std::int64_t m, std::int64_t n,
                                  std::int64_t k, std::int64_t i, std::int64_t j) {
  static_cast<void>(m);
  double sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    sum += static_cast<double>(A[i * k + p]) * static_cast<double>(B[p * n + j]);
  }
  return sum;
}
