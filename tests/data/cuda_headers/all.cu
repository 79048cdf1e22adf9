// Every header that a cuda source may include, each twice, and something of what each brings.
#include <algorithm>
#include <assert.h>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <math_constants.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <math_constants.h>

__device__ bool Right(float x) {
  const std::size_t size = sizeof(std::uint16_t) + sizeof(int8_t);
  const std::ptrdiff_t apart = &x - &x;
  const bool limits = UINT_MAX == 0xffffffffu && LLONG_MAX > INT_MAX && INT_MIN < SHRT_MIN &&
                      ULLONG_MAX > UCHAR_MAX && CHAR_BIT == 8 && LONG_MAX == LLONG_MAX;
  const bool floats = FLT_MAX < DBL_MAX && FLT_MIN > DBL_MIN && FLT_EPSILON > DBL_EPSILON &&
                      CUDART_MAX_NORMAL_F == FLT_MAX && CUDART_INF_F > FLT_MAX && CUDART_INF > DBL_MAX;
  const bool special = std::isnan(CUDART_NAN_F) && std::isinf(INFINITY) && !std::isfinite(NAN);
  const bool functions = std::max(1, 2) == 2 && std::min(1.0f, x) <= 1.0f &&
                         std::sqrt(4.0f) == 2.0f && std::fma(2.0, 3.0, 1.0) == 7.0 &&
                         std::abs(-1.0f) == 1.0f && std::pow(2.0, 3.0) == 8.0 &&
                         std::floor(1.5f) == 1.0f && std::fmax(1.0f, 2.0f) == 2.0f;
  const bool circle = CUDART_PI_F > 3.14f && CUDART_PI > 3.14159 && cosf(CUDART_PI_F) < -0.99f;
  assert(size == 3);
  return apart == 0 && limits && floats && special && functions && circle;
}

extern "C" __global__ void one(const float* X, float* Y, long long n) {
  const int64_t i = blockIdx.x * static_cast<std::int64_t>(64) + threadIdx.x;
  const float4 quad = make_float4(0, 0, 0, 2);
  if (i < n) Y[i] = Right(X[i]) ? quad.w * X[i] : CUDART_NAN_F;
}
