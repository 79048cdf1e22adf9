// Bias and GELU in float64: what every kernel of this operation is checked against, an element at a
// time.
#include <cmath>
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

// Y[row,column] = z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))), z = X[row,column] + b[column]; X
// is rows x width, row major.
PAWL_REFERENCE double reference_Y(const float* X, const float* b, std::int64_t rows,
                                  std::int64_t width, std::int64_t row, std::int64_t column) {
  static_cast<void>(rows);
  const double z = static_cast<double>(X[row * width + column]) + static_cast<double>(b[column]);
  constexpr double kRootOfTwoOverPi = 0.79788456080286535588;
  return z / 2 * (1 + std::tanh(kRootOfTwoOverPi * (z + 0.044715 * z * z * z)));
}
