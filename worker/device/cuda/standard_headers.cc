#include "worker/device/cuda/standard_headers.h"

namespace pawl {
namespace {

constexpr const char* kStdint = R"(#ifndef PAWL_STDINT
#define PAWL_STDINT
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
#endif
)";
constexpr const char* kCstdint = R"(#ifndef PAWL_CSTDINT
#define PAWL_CSTDINT
#include "stdint.h"
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t;
}
#endif
)";
constexpr const char* kCstddef = R"(#ifndef PAWL_CSTDDEF
#define PAWL_CSTDDEF
namespace std { using size_t = decltype(sizeof 0); using ptrdiff_t = decltype((char*)0 - (char*)0); }
using std::size_t; using std::ptrdiff_t;
#endif
)";
constexpr const char* kCmath = R"(#ifndef PAWL_CMATH
#define PAWL_CMATH
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
namespace std {
#define PAWL_ONE(name)                                                       \
  __device__ __forceinline__ double name(double x) { return ::name(x); }     \
  __device__ __forceinline__ float name(float x) { return ::name##f(x); }
PAWL_ONE(sqrt) PAWL_ONE(exp) PAWL_ONE(exp2) PAWL_ONE(expm1) PAWL_ONE(log) PAWL_ONE(log2)
PAWL_ONE(log10) PAWL_ONE(log1p) PAWL_ONE(sin) PAWL_ONE(cos) PAWL_ONE(tan) PAWL_ONE(sinh)
PAWL_ONE(cosh) PAWL_ONE(tanh) PAWL_ONE(atan) PAWL_ONE(erf) PAWL_ONE(erfc) PAWL_ONE(floor)
PAWL_ONE(ceil) PAWL_ONE(round) PAWL_ONE(trunc) PAWL_ONE(rint) PAWL_ONE(cbrt) PAWL_ONE(fabs)
#undef PAWL_ONE
#define PAWL_TWO(name)                                                                           \
  __device__ __forceinline__ double name(double x, double y) { return ::name(x, y); }            \
  __device__ __forceinline__ float name(float x, float y) { return ::name##f(x, y); }
PAWL_TWO(pow) PAWL_TWO(fmod) PAWL_TWO(atan2) PAWL_TWO(hypot) PAWL_TWO(fmax) PAWL_TWO(fmin)
#undef PAWL_TWO
__device__ __forceinline__ double abs(double x) { return ::fabs(x); }
__device__ __forceinline__ float abs(float x) { return ::fabsf(x); }
__device__ __forceinline__ double fma(double x, double y, double z) { return ::fma(x, y, z); }
__device__ __forceinline__ float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
__device__ __forceinline__ bool isnan(double x) { return x != x; }
__device__ __forceinline__ bool isinf(double x) { return ::fabs(x) > 1.7976931348623157e308; }
__device__ __forceinline__ bool isfinite(double x) { return ::fabs(x) <= 1.7976931348623157e308; }
}
#endif
)";
constexpr const char* kAlgorithm = R"(#ifndef PAWL_ALGORITHM
#define PAWL_ALGORITHM
namespace std {
template <class T> __device__ __forceinline__ const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __device__ __forceinline__ const T& min(const T& a, const T& b) { return b < a ? b : a; }
}
#endif
)";
constexpr const char* kCfloat = R"(#ifndef PAWL_CFLOAT
#define PAWL_CFLOAT
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
)";
constexpr const char* kClimits = R"(#ifndef PAWL_CLIMITS
#define PAWL_CLIMITS
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#endif
)";
constexpr const char* kMathConstants = R"(#ifndef PAWL_MATH_CONSTANTS
#define PAWL_MATH_CONSTANTS
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_MIN_DENORM_F __int_as_float(0x00000001)
#define CUDART_MAX_NORMAL_F __int_as_float(0x7f7fffff)
#define CUDART_NEG_ZERO_F __int_as_float(0x80000000)
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_THIRD_F 0.333333333f
#define CUDART_PIO4_F 0.785398163f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_3PIO4_F 2.356194490f
#define CUDART_2_OVER_PI_F 0.636619772f
#define CUDART_SQRT_2_OVER_PI_F 0.797884561f
#define CUDART_PI_F 3.141592654f
#define CUDART_L2E_F 1.442695041f
#define CUDART_L2T_F 3.321928094f
#define CUDART_LG2_F 0.301029996f
#define CUDART_LGE_F 0.434294482f
#define CUDART_LN2_F 0.693147181f
#define CUDART_LNT_F 2.302585093f
#define CUDART_LNPI_F 1.144729886f
#define CUDART_INF __longlong_as_double(0x7ff0000000000000ll)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ull)
#define CUDART_NEG_ZERO __longlong_as_double(0x8000000000000000ull)
#define CUDART_MIN_DENORM __longlong_as_double(0x0000000000000001ll)
#define CUDART_ZERO 0.0
#define CUDART_ONE 1.0
#define CUDART_SQRT_HALF 7.0710678118654757e-1
#define CUDART_SQRT_TWO 1.4142135623730951e+0
#define CUDART_THIRD 3.3333333333333333e-1
#define CUDART_PIO4 7.8539816339744828e-1
#define CUDART_PIO2 1.5707963267948966e+0
#define CUDART_3PIO4 2.3561944901923448e+0
#define CUDART_2_OVER_PI 6.3661977236758138e-1
#define CUDART_SQRT_2_OVER_PI 7.9788456080286536e-1
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_SQRT_2PI 2.5066282746310007e+0
#define CUDART_L2E 1.4426950408889634e+0
#define CUDART_L2T 3.3219280948873622e+0
#define CUDART_LG2 3.0102999566398120e-1
#define CUDART_LGE 4.3429448190325182e-1
#define CUDART_LN2 6.9314718055994529e-1
#define CUDART_LNT 2.3025850929940459e+0
#define CUDART_LNPI 1.1447298858494002e+0
#endif
)";
// NVRTC knows the function that a failed assertion calls, and no header for it. What assert means
// hangs on NDEBUG where it is included, each time.
constexpr const char* kCassert = R"(#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, decltype(sizeof 0));
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif
)";

}  // namespace

const std::vector<StandardHeader>& StandardHeaders() {
  // Where there is no text, the compiler has it all built in, and ordinary files include them.
  static const std::vector<StandardHeader> headers = {{"cstdint", kCstdint},
                                                      {"stdint.h", kStdint},
                                                      {"cstddef", kCstddef},
                                                      {"stddef.h", kCstddef},
                                                      {"cmath", kCmath},
                                                      {"math.h", kCmath},
                                                      {"math_constants.h", kMathConstants},
                                                      {"algorithm", kAlgorithm},
                                                      {"cfloat", kCfloat},
                                                      {"float.h", kCfloat},
                                                      {"climits", kClimits},
                                                      {"limits.h", kClimits},
                                                      {"cassert", kCassert},
                                                      {"assert.h", kCassert},
                                                      {"cuda.h", ""},
                                                      {"cuda_runtime.h", ""},
                                                      {"cuda_runtime_api.h", ""},
                                                      {"vector_types.h", ""},
                                                      {"vector_functions.h", ""},
                                                      {"device_launch_parameters.h", ""},
                                                      {"cstdio", ""},
                                                      {"stdio.h", ""}};
  return headers;
}

}  // namespace pawl
