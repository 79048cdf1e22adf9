// Layer normalisation in float64: what every kernel of this operation is checked against, an
// element at a time.
#include <cmath>
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

// Y[row,column] = (X - mean) / sqrt(variance + 1e-5) * gamma + beta, with mean and (biased)
// variance of the row of X (rows x width, row major).
PAWL_REFERENCE double reference_Y(const float* X, const float* gamma, const float* beta,
                                  std::int64_t rows, std::int64_t width, std::int64_t row,
                                  std::int64_t column) {
  static_cast<void>(rows);
  const float* x = X + row * width;
  double mean = 0;
  for (std::int64_t i = 0; i < width; ++i) mean += static_cast<double>(x[i]);
  mean /= static_cast<double>(width);
  double variance = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    variance += d * d;
  }
  variance /= static_cast<double>(width);
  return (static_cast<double>(x[column]) - mean) / std::sqrt(variance + 1e-5) *
             static_cast<double>(gamma[column]) +
         static_cast<double>(beta[column]);
}
