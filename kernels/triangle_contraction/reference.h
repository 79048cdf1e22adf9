// The triangle contraction in float64: what every kernel of this operation is checked against, an
// element at a time.
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

// O[i,j,channel] = sum over k of A[i,k,channel] * B[j,k,channel]; all n x n x c, row major.
PAWL_REFERENCE double reference_O(const float* A, const float* B, std::int64_t n, std::int64_t c,
                                  std::int64_t i, std::int64_t j, std::int64_t channel) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    sum += static_cast<double>(A[(i * n + k) * c + channel]) *
           static_cast<double>(B[(j * n + k) * c + channel]);
  }
  return sum;
}
