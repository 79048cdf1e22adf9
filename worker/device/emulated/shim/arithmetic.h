// CUDA's built-in language for the emulated device, plain arithmetic: bits, conversions, math. It sees
// nothing of the machine (cuda.h, which it follows) but for PAWL_INLINE. What each name does is
// NVIDIA's CUDA C++ Programming Guide's and its Math API's to say. No header is included.

// Bits.
PAWL_INLINE int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
PAWL_INLINE unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
PAWL_INLINE float __int_as_float(int value) { return __builtin_bit_cast(float, value); }
PAWL_INLINE float __uint_as_float(unsigned value) { return __builtin_bit_cast(float, value); }
PAWL_INLINE long long __double_as_longlong(double value) {
  return __builtin_bit_cast(long long, value);
}
PAWL_INLINE double __longlong_as_double(long long value) {
  return __builtin_bit_cast(double, value);
}
PAWL_INLINE int __clz(int value) { return value == 0 ? 32 : __builtin_clz(value); }
PAWL_INLINE int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll(value); }
PAWL_INLINE int __ffsll(long long value) { return __builtin_ffsll(value); }
PAWL_INLINE unsigned __brev(unsigned value) {
  unsigned turned = 0;
  for (int bit = 0; bit < 32; ++bit) turned |= (value >> bit & 1) << (31 - bit);
  return turned;
}
PAWL_INLINE unsigned long long __brevll(unsigned long long value) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(value))) << 32 |
         __brev(static_cast<unsigned>(value >> 32));
}
PAWL_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (by & 31)) >> 32);
}
PAWL_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
PAWL_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(both >> (8 * (pick & 7))) & 0xff;
    if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // its sign, eight times
    picked |= byte << (8 * i);
  }
  return picked;
}
PAWL_INLINE int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return sum;
}
PAWL_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 4; ++i) sum += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
  return sum;
}
PAWL_INLINE unsigned __sad(int a, int b, unsigned sum) {
  return sum + (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                      : static_cast<unsigned>(a) - static_cast<unsigned>(b));
}
PAWL_INLINE unsigned __usad(unsigned a, unsigned b, unsigned sum) { return sum + (a < b ? b - a : a - b); }
PAWL_INLINE int __ffs(int value) { return __builtin_ffs(value); }
PAWL_INLINE int __popc(unsigned value) { return __builtin_popcount(value); }
PAWL_INLINE int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
PAWL_INLINE int __mulhi(int a, int b) { return static_cast<int>((1ll * a * b) >> 32); }
PAWL_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((1ull * a * b) >> 32);
}
PAWL_INLINE int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }

// Arithmetic. Contraction is off: a product is rounded before it is added, unless fmaf says not.
extern "C" {
#define PAWL_MATH1(name)         \
  float name##f(float) noexcept; \
  double name(double) noexcept;
PAWL_MATH1(sqrt)
PAWL_MATH1(fabs)
PAWL_MATH1(exp)
PAWL_MATH1(exp2)
PAWL_MATH1(expm1)
PAWL_MATH1(log)
PAWL_MATH1(log2)
PAWL_MATH1(log10)
PAWL_MATH1(log1p)
PAWL_MATH1(sin)
PAWL_MATH1(cos)
PAWL_MATH1(tan)
PAWL_MATH1(asin)
PAWL_MATH1(acos)
PAWL_MATH1(atan)
PAWL_MATH1(sinh)
PAWL_MATH1(cosh)
PAWL_MATH1(tanh)
PAWL_MATH1(erf)
PAWL_MATH1(erfc)
PAWL_MATH1(cbrt)
PAWL_MATH1(floor)
PAWL_MATH1(ceil)
PAWL_MATH1(round)
PAWL_MATH1(rint)
PAWL_MATH1(trunc)
PAWL_MATH1(nearbyint)
PAWL_MATH1(asinh)
PAWL_MATH1(acosh)
PAWL_MATH1(atanh)
PAWL_MATH1(lgamma)
PAWL_MATH1(tgamma)
#undef PAWL_MATH1
#define PAWL_MATH2(name)                \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;
PAWL_MATH2(fmin)
PAWL_MATH2(fmax)
PAWL_MATH2(pow)
PAWL_MATH2(fmod)
PAWL_MATH2(atan2)
PAWL_MATH2(hypot)
PAWL_MATH2(copysign)
PAWL_MATH2(fdim)
PAWL_MATH2(remainder)
#undef PAWL_MATH2
float ldexpf(float, int) noexcept;
double ldexp(double, int) noexcept;
float frexpf(float, int*) noexcept;
double frexp(double, int*) noexcept;
long lrintf(float) noexcept;
long lrint(double) noexcept;
long lroundf(float) noexcept;
long lround(double) noexcept;
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
int abs(int) noexcept;
}
PAWL_INLINE float rsqrtf(float value) { return 1.0f / sqrtf(value); }
PAWL_INLINE double rsqrt(double value) { return 1.0 / sqrt(value); }
#define PAWL_OVERLOAD(name) \
  PAWL_INLINE float name(float value) { return name##f(value); }
PAWL_OVERLOAD(sqrt)
PAWL_OVERLOAD(fabs)
PAWL_OVERLOAD(exp)
PAWL_OVERLOAD(log)
PAWL_OVERLOAD(floor)
PAWL_OVERLOAD(ceil)
PAWL_OVERLOAD(tanh)
PAWL_OVERLOAD(rsqrt)
#undef PAWL_OVERLOAD
PAWL_INLINE float fma(float a, float b, float c) { return fmaf(a, b, c); }
PAWL_INLINE float __fdividef(float a, float b) { return a / b; }
PAWL_INLINE float fdividef(float a, float b) { return a / b; }
PAWL_INLINE float __expf(float value) { return expf(value); }
PAWL_INLINE float __exp10f(float value) { return powf(10.0f, value); }
PAWL_INLINE float exp10f(float value) { return powf(10.0f, value); }
PAWL_INLINE float __logf(float value) { return logf(value); }
PAWL_INLINE float __log2f(float value) { return log2f(value); }
PAWL_INLINE float __log10f(float value) { return log10f(value); }
PAWL_INLINE float __sinf(float value) { return sinf(value); }
PAWL_INLINE float __cosf(float value) { return cosf(value); }
PAWL_INLINE float __tanf(float value) { return tanf(value); }
PAWL_INLINE float __powf(float a, float b) { return powf(a, b); }
PAWL_INLINE float __saturatef(float value) { return value > 0 ? (value < 1 ? value : 1) : 0; }
PAWL_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
PAWL_INLINE float __fadd_rn(float a, float b) { return a + b; }
PAWL_INLINE float __fsub_rn(float a, float b) { return a - b; }
PAWL_INLINE float __fmul_rn(float a, float b) { return a * b; }
PAWL_INLINE float __fdiv_rn(float a, float b) { return a / b; }
PAWL_INLINE float __frcp_rn(float value) { return 1.0f / value; }
PAWL_INLINE float __fsqrt_rn(float value) { return sqrtf(value); }
PAWL_INLINE float __frsqrt_rn(float value) { return 1.0f / sqrtf(value); }
// As PTX's cvt: the nearest that there is, and 0 for what is no number.
template <typename Whole>
PAWL_INLINE Whole PawlWhole(double value, Whole least, Whole most) {
  if (!(value == value)) return 0;
  if (value <= static_cast<double>(least)) return least;
  if (value >= static_cast<double>(most)) return most;
  return static_cast<Whole>(value);
}
PAWL_INLINE int PawlInt(float value) { return PawlWhole<int>(value, -2147483647 - 1, 2147483647); }
PAWL_INLINE int __float2int_rn(float value) { return PawlInt(rintf(value)); }
PAWL_INLINE int __float2int_rz(float value) { return PawlInt(truncf(value)); }
PAWL_INLINE int __float2int_rd(float value) { return PawlInt(floorf(value)); }
PAWL_INLINE int __float2int_ru(float value) { return PawlInt(ceilf(value)); }
PAWL_INLINE unsigned __float2uint_rn(float value) { return PawlWhole<unsigned>(rintf(value), 0, ~0u); }
PAWL_INLINE unsigned __float2uint_rz(float value) { return PawlWhole<unsigned>(truncf(value), 0, ~0u); }
PAWL_INLINE long long __float2ll_rn(float value) {
  return PawlWhole<long long>(rintf(value), -9223372036854775807ll - 1, 9223372036854775807ll);
}
PAWL_INLINE float __int2float_rn(int value) { return static_cast<float>(value); }
PAWL_INLINE float __uint2float_rn(unsigned value) { return static_cast<float>(value); }
PAWL_INLINE float __ll2float_rn(long long value) { return static_cast<float>(value); }
PAWL_INLINE double __int2double_rn(int value) { return value; }
PAWL_INLINE float __double2float_rn(double value) { return static_cast<float>(value); }
PAWL_INLINE double __dadd_rn(double a, double b) { return a + b; }
PAWL_INLINE double __dmul_rn(double a, double b) { return a * b; }
PAWL_INLINE int __hadd(int a, int b) { return static_cast<int>((1ll * a + b) >> 1); }
PAWL_INLINE float rcbrtf(float value) { return 1.0f / cbrtf(value); }
PAWL_INLINE float norm3df(float a, float b, float c) {
  return static_cast<float>(sqrt(1.0 * a * a + 1.0 * b * b + 1.0 * c * c));
}
PAWL_INLINE float normcdff(float value) {
  return static_cast<float>(0.5 * erfc(-0.70710678118654752440 * value));
}
PAWL_INLINE float sinpif(float value) {
  return static_cast<float>(sin(3.14159265358979323846 * fmod(value, 2.0)));
}
PAWL_INLINE float cospif(float value) {
  return static_cast<float>(cos(3.14159265358979323846 * fmod(value, 2.0)));
}
PAWL_INLINE bool isnan(float value) { return __builtin_isnan(value); }
PAWL_INLINE bool isnan(double value) { return __builtin_isnan(value); }
PAWL_INLINE bool isinf(float value) { return __builtin_isinf(value); }
PAWL_INLINE bool isinf(double value) { return __builtin_isinf(value); }
PAWL_INLINE bool isfinite(float value) { return __builtin_isfinite(value); }
PAWL_INLINE bool isfinite(double value) { return __builtin_isfinite(value); }
#define PAWL_EXTREMES(type)                                                    \
  PAWL_INLINE constexpr type min(type a, type b) { return b < a ? b : a; }     \
  PAWL_INLINE constexpr type max(type a, type b) { return a < b ? b : a; }
PAWL_EXTREMES(int)
PAWL_EXTREMES(unsigned)
PAWL_EXTREMES(long)
PAWL_EXTREMES(unsigned long)
PAWL_EXTREMES(long long)
PAWL_EXTREMES(unsigned long long)
#undef PAWL_EXTREMES
// Of a signed and an unsigned one, the unsigned ones'.
#define PAWL_MIXED_EXTREMES(type)                                                                    \
  PAWL_INLINE constexpr unsigned type min(type a, unsigned type b) { return min((unsigned type)a, b); } \
  PAWL_INLINE constexpr unsigned type min(unsigned type a, type b) { return min(a, (unsigned type)b); } \
  PAWL_INLINE constexpr unsigned type max(type a, unsigned type b) { return max((unsigned type)a, b); } \
  PAWL_INLINE constexpr unsigned type max(unsigned type a, type b) { return max(a, (unsigned type)b); }
PAWL_MIXED_EXTREMES(int)
PAWL_MIXED_EXTREMES(long)
PAWL_MIXED_EXTREMES(long long)
#undef PAWL_MIXED_EXTREMES
PAWL_INLINE float min(float a, float b) { return fminf(a, b); }
PAWL_INLINE float max(float a, float b) { return fmaxf(a, b); }
PAWL_INLINE double min(double a, double b) { return fmin(a, b); }
PAWL_INLINE double max(double a, double b) { return fmax(a, b); }
PAWL_INLINE double min(float a, double b) { return fmin(a, b); }
PAWL_INLINE double min(double a, float b) { return fmin(a, b); }
PAWL_INLINE double max(float a, double b) { return fmax(a, b); }
PAWL_INLINE double max(double a, float b) { return fmax(a, b); }
PAWL_INLINE float abs(float value) { return fabsf(value); }
PAWL_INLINE double abs(double value) { return fabs(value); }
PAWL_INLINE long long abs(long long value) { return value < 0 ? -value : value; }
