#include "worker/device/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace pawl {
namespace {

constexpr std::int64_t kBlock = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// How far outside its bound: <= 0 is right, infinity is not finite.
double Excess(double out, double ref, double rtol, double atol) {
  const double bound = atol + rtol * std::fabs(ref);
  if (!std::isfinite(out) || !std::isfinite(bound)) return kInfinity;
  return std::fabs(out - ref) - bound;
}

template <typename Element>
Comparison CompareAs(const Buffer& buffer, const Element* output, const double* reference,
                     double rtol, double atol) {
  Comparison result;
  const std::int64_t count = buffer.Elements();
  result.elements = static_cast<std::uint64_t>(count);
  double worst_excess = 0;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t last = std::min(first + kBlock, count);
    // Branch-free, so that the compiler makes vectors of it: the comparisons are false for NaN, and
    // an infinite output has an infinite error. A bound that overflows would allow everything, so
    // it allows nothing.
    std::int64_t right = 0;
    double max_error = 0;
    for (std::int64_t i = first; i < last; ++i) {
      const double error = std::fabs(static_cast<double>(output[i]) - reference[i]);
      const double bound = atol + rtol * std::fabs(reference[i]);
      right += (error <= bound) & (bound < kInfinity) ? 1 : 0;
      max_error = error > max_error ? error : max_error;
    }
    result.max_abs_error = std::max(result.max_abs_error, max_error);
    if (right == last - first) continue;
    for (std::int64_t i = first; i < last; ++i) {
      const double out = static_cast<double>(output[i]);
      const double excess = Excess(out, reference[i], rtol, atol);
      if (excess <= 0) continue;
      ++result.wrong;
      if (!std::isfinite(out)) result.max_abs_error = kInfinity;
      if (result.worst < 0 || excess > worst_excess) {
        result.worst = i;
        worst_excess = excess;
      }
    }
  }
  if (result.worst < 0) return result;

  const std::int64_t at = result.worst;
  Element poison;
  std::memset(&poison, 0xff, sizeof poison);
  const bool unwritten = std::memcmp(&output[at], &poison, sizeof poison) == 0;
  result.detail =
      ElementName(buffer, at) +
      (unwritten ? " was left unwritten" : " is " + Number(static_cast<double>(output[at]))) +
      ", reference " + Number(reference[at]) + ", allowed " +
      Number(atol + rtol * std::fabs(reference[at])) + "; " + std::to_string(result.wrong) +
      " of " + std::to_string(count) + " wrong";
  return result;
}

}  // namespace

std::string ElementName(const Buffer& buffer, std::int64_t flat) {
  std::vector<std::int64_t> indices(buffer.extents.size());
  for (std::size_t axis = indices.size(); axis-- > 0;) {
    indices[axis] = flat % buffer.extents[axis];
    flat /= buffer.extents[axis];
  }
  std::string name = buffer.name;
  name += '[';
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (axis > 0) name += ',';
    name += std::to_string(indices[axis]);
  }
  name += ']';
  return name;
}

Comparison Compare(const Buffer& buffer, const void* output, const double* reference, double rtol,
                   double atol) {
  switch (buffer.dtype) {
    case DType::kF32:
      return CompareAs(buffer, static_cast<const float*>(output), reference, rtol, atol);
    case DType::kF64:
      return CompareAs(buffer, static_cast<const double*>(output), reference, rtol, atol);
    case DType::kI32:
      return CompareAs(buffer, static_cast<const std::int32_t*>(output), reference, rtol, atol);
    case DType::kU32:
      return CompareAs(buffer, static_cast<const std::uint32_t*>(output), reference, rtol, atol);
  }
  CHECK(false, static_cast<int>(buffer.dtype));
}

}  // namespace pawl
