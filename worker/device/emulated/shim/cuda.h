// CUDA's built-in language for the emulated device: put in front of every kernel's source. What each
// name does is NVIDIA's CUDA C++ Programming Guide's to say. No header is included.

#define PAWL_EMULATED 1
#define PAWL_UNSEEN __attribute__((no_sanitize("thread", "bounds")))
#define PAWL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define PAWL_INLINE PAWL_UNSEEN inline __attribute__((always_inline))

extern "C" {
__attribute__((visibility("hidden"))) PawlPosition pawl_position_here asm("pawl_position_here");
__attribute__((visibility("hidden"))) PawlHooks pawl_hooks_here asm("pawl_hooks_here");
__attribute__((visibility("hidden"))) void* pawl_dynamic_here asm("pawl_dynamic_here");
__attribute__((visibility("default"))) PawlUnit* pawl_unit() {
  static PawlUnit unit{&pawl_position_here, &pawl_hooks_here, &pawl_dynamic_here};
  return &unit;
}
}
// The same storage, as something that never changes: true for each thread, whose code may keep it
// over a barrier.
extern const PawlPosition pawl_position asm("pawl_position_here");
extern const PawlHooks pawl_hooks asm("pawl_hooks_here");
// Behind a pointer to dynamic shared memory that a file declares outside functions.
#define PAWL_DYNAMIC asm("pawl_dynamic_here") __attribute__((visibility("hidden")))

#ifdef PAWL_WATCHED
// What the compiler's thread-sanitizer instrumentation calls, and its bounds checks.
#define PAWL_HOOK extern "C" PAWL_UNSEEN __attribute__((visibility("hidden"), used, noinline)) void
#define PAWL_ACCESS(bytes, index)                                                   \
  PAWL_HOOK __tsan_read##bytes(void* at) {                                          \
    pawl_hooks.read[index](pawl_hooks.machine, at, __builtin_return_address(0));    \
  }                                                                                 \
  PAWL_HOOK __tsan_write##bytes(void* at) {                                         \
    pawl_hooks.write[index](pawl_hooks.machine, at, __builtin_return_address(0));   \
  }                                                                                 \
  PAWL_HOOK __tsan_unaligned_read##bytes(void* at) {                                \
    pawl_hooks.read[index](pawl_hooks.machine, at, __builtin_return_address(0));    \
  }                                                                                 \
  PAWL_HOOK __tsan_unaligned_write##bytes(void* at) {                               \
    pawl_hooks.write[index](pawl_hooks.machine, at, __builtin_return_address(0));   \
  }                                                                                 \
  PAWL_HOOK __tsan_volatile_read##bytes(void* at) {                                 \
    pawl_hooks.read[index](pawl_hooks.machine, at, __builtin_return_address(0));    \
  }                                                                                 \
  PAWL_HOOK __tsan_volatile_write##bytes(void* at) {                                \
    pawl_hooks.write[index](pawl_hooks.machine, at, __builtin_return_address(0));   \
  }
PAWL_ACCESS(1, 0)
PAWL_ACCESS(2, 1)
PAWL_ACCESS(4, 2)
PAWL_ACCESS(8, 3)
PAWL_ACCESS(16, 4)
PAWL_HOOK __tsan_read_range(void* at, unsigned long bytes) {
  pawl_hooks.read_range(pawl_hooks.machine, at, bytes, __builtin_return_address(0));
}
PAWL_HOOK __tsan_write_range(void* at, unsigned long bytes) {
  pawl_hooks.write_range(pawl_hooks.machine, at, bytes, __builtin_return_address(0));
}
PAWL_HOOK __tsan_vptr_update(void**, void*) {}
PAWL_HOOK __tsan_vptr_read(void**) {}
PAWL_HOOK __tsan_func_entry(void*) {}
PAWL_HOOK __tsan_func_exit() {}
PAWL_HOOK __tsan_init() {}
PAWL_HOOK __ubsan_handle_out_of_bounds(void* data, unsigned long index) {
  pawl_hooks.out_of_bounds(pawl_hooks.machine, data, index, __builtin_return_address(0));
}
#undef PAWL_ACCESS
#undef PAWL_HOOK
#endif

// What a kernel calls becomes part of it: the compiler instruments neither the load of a struct that
// a call takes by value nor the store of one that it returns.
#define __global__ __attribute__((flatten))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)  // PAWL_BOUNDS holds them, in the kernel's body
#define PAWL_BOUNDS(threads)                                                            \
  if (blockDim.x * blockDim.y * blockDim.z > static_cast<unsigned>(threads)) {          \
    pawl_hooks.bounds(pawl_hooks.machine, static_cast<unsigned>(threads), {__FILE__, __LINE__}); \
  }
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define alignas(n) __attribute__((aligned(n)))  // wherever CUDA code puts it
#define __shared__ thread_local  // storage of its own for each load of the unit
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
#define threadIdx (pawl_position.thread)
#define blockIdx (pawl_position.block)
#define blockDim (pawl_position.block_extent)
#define gridDim (pawl_position.grid_extent)
static constexpr int warpSize = 32;

#define PAWL_VECTOR(type, name, align1, align2, align4)                                         \
  struct name##1 {                                                                              \
    type x;                                                                                     \
  };                                                                                            \
  struct __attribute__((aligned(align2))) name##2 {                                             \
    type x, y;                                                                                  \
  };                                                                                            \
  struct __attribute__((aligned(align4))) name##4 {                                             \
    type x, y, z, w;                                                                            \
  };                                                                                            \
  PAWL_INLINE name##1 make_##name##1(type x) { return {x}; }                                    \
  PAWL_INLINE name##2 make_##name##2(type x, type y) { return {x, y}; }                         \
  PAWL_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define PAWL_VECTOR3(type, name)                                                                \
  struct name##3 {                                                                              \
    type x, y, z;                                                                               \
  };                                                                                            \
  PAWL_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }
PAWL_VECTOR(signed char, char, 1, 2, 4)
PAWL_VECTOR(unsigned char, uchar, 1, 2, 4)
PAWL_VECTOR(short, short, 2, 4, 8)
PAWL_VECTOR(unsigned short, ushort, 2, 4, 8)
PAWL_VECTOR(int, int, 4, 8, 16)
PAWL_VECTOR(unsigned, uint, 4, 8, 16)
PAWL_VECTOR(long, long, 8, 16, 16)
PAWL_VECTOR(unsigned long, ulong, 8, 16, 16)
PAWL_VECTOR(long long, longlong, 8, 16, 16)
PAWL_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
PAWL_VECTOR(float, float, 4, 8, 16)
PAWL_VECTOR(double, double, 8, 16, 16)
PAWL_VECTOR3(signed char, char)
PAWL_VECTOR3(unsigned char, uchar)
PAWL_VECTOR3(int, int)
PAWL_VECTOR3(float, float)
PAWL_VECTOR3(double, double)
PAWL_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef PAWL_VECTOR
#undef PAWL_VECTOR3

// Synchronisation.
PAWL_INLINE void __syncthreads(PAWL_SITE) {
  pawl_hooks.barrier(pawl_hooks.machine, kPawlSync, 0, {file, line});
}
PAWL_INLINE int __syncthreads_count(int predicate, PAWL_SITE) {
  return pawl_hooks.barrier(pawl_hooks.machine, kPawlSyncCount, predicate, {file, line});
}
PAWL_INLINE int __syncthreads_and(int predicate, PAWL_SITE) {
  return pawl_hooks.barrier(pawl_hooks.machine, kPawlSyncAnd, predicate, {file, line});
}
PAWL_INLINE int __syncthreads_or(int predicate, PAWL_SITE) {
  return pawl_hooks.barrier(pawl_hooks.machine, kPawlSyncOr, predicate, {file, line});
}
PAWL_INLINE void __syncwarp(unsigned mask = 0xffffffffu, PAWL_SITE) {
  pawl_hooks.warp(pawl_hooks.machine, kPawlSyncWarp, mask, 0, 0, 32, {file, line});
}
PAWL_INLINE void __threadfence() { pawl_hooks.fence(pawl_hooks.machine); }
PAWL_INLINE void __threadfence_block() {}
PAWL_INLINE void __threadfence_system() { pawl_hooks.fence(pawl_hooks.machine); }

// Warps.
PAWL_INLINE unsigned __activemask(PAWL_SITE) {
  return pawl_hooks.active_lanes(pawl_hooks.machine, {file, line});
}
PAWL_INLINE unsigned __ballot_sync(unsigned mask, int predicate, PAWL_SITE) {
  return static_cast<unsigned>(pawl_hooks.warp(pawl_hooks.machine, kPawlBallot, mask,
                                               predicate != 0, 0, 32, {file, line}));
}
PAWL_INLINE int __any_sync(unsigned mask, int predicate, PAWL_SITE) {
  return static_cast<int>(
      pawl_hooks.warp(pawl_hooks.machine, kPawlAny, mask, predicate != 0, 0, 32, {file, line}));
}
PAWL_INLINE int __all_sync(unsigned mask, int predicate, PAWL_SITE) {
  return static_cast<int>(
      pawl_hooks.warp(pawl_hooks.machine, kPawlAll, mask, predicate != 0, 0, 32, {file, line}));
}
template <typename T>
PAWL_INLINE T PawlShuffle(int operation, unsigned mask, T value, unsigned parameter, int width,
                          PawlSite site) {
  static_assert(sizeof(T) <= 8, "shuffles take values of at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = pawl_hooks.warp(pawl_hooks.machine, operation, mask, bits, parameter,
                         static_cast<unsigned>(width), site);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
// As for CUDA's own, what is smaller than an int goes as one.
#define PAWL_SHUFFLE(name, operation, type)                                                      \
  template <typename T>                                                                          \
  PAWL_INLINE auto name(unsigned mask, T value, type parameter, int width = 32, PAWL_SITE)       \
      -> decltype(+value) {                                                                      \
    return PawlShuffle(operation, mask, +value, static_cast<unsigned>(parameter), width,         \
                       {file, line});                                                            \
  }
PAWL_SHUFFLE(__shfl_sync, kPawlShuffle, int)
PAWL_SHUFFLE(__shfl_up_sync, kPawlShuffleUp, unsigned)
PAWL_SHUFFLE(__shfl_down_sync, kPawlShuffleDown, unsigned)
PAWL_SHUFFLE(__shfl_xor_sync, kPawlShuffleXor, int)
#undef PAWL_SHUFFLE
// Each lane of the mask that has not left says its value in turn; values are compared by their bits.
template <typename T>
PAWL_INLINE unsigned __match_any_sync(unsigned mask, T value, PAWL_SITE) {
  const unsigned here = __ballot_sync(mask, 1, file, line);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((here >> lane & 1) == 0) continue;
    const T other = PawlShuffle(kPawlShuffle, mask, value, lane, 32, {file, line});
    if (__builtin_memcmp(&other, &value, sizeof value) == 0) same |= 1u << lane;
  }
  return same;
}
template <typename T>
PAWL_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all, PAWL_SITE) {
  const unsigned here = __ballot_sync(mask, 1, file, line);
  *all = __match_any_sync(mask, value, file, line) == here;
  return *all ? here : 0;
}
#define PAWL_REDUCE_OF(name, type, expression)                                                   \
  PAWL_INLINE type name(unsigned mask, type value, PAWL_SITE) {                                  \
    const unsigned here = __ballot_sync(mask, 1, file, line);                                    \
    type sum = 0;                                                                                \
    bool any = false;                                                                            \
    for (unsigned lane = 0; lane < 32; ++lane) {                                                 \
      if ((here >> lane & 1) == 0) continue;                                                     \
      const type next = PawlShuffle(kPawlShuffle, mask, value, lane, 32, {file, line});          \
      sum = any ? (expression) : next;                                                           \
      any = true;                                                                                \
    }                                                                                            \
    return sum;                                                                                  \
  }
#define PAWL_REDUCE(name, expression)         \
  PAWL_REDUCE_OF(name, unsigned, expression)  \
  PAWL_REDUCE_OF(name, int, expression)
PAWL_REDUCE(__reduce_add_sync, sum + next)
PAWL_REDUCE(__reduce_min_sync, next < sum ? next : sum)
PAWL_REDUCE(__reduce_max_sync, next > sum ? next : sum)
PAWL_REDUCE_OF(__reduce_and_sync, unsigned, sum & next)
PAWL_REDUCE_OF(__reduce_or_sync, unsigned, sum | next)
PAWL_REDUCE_OF(__reduce_xor_sync, unsigned, sum ^ next)
#undef PAWL_REDUCE
#undef PAWL_REDUCE_OF

// Loads and stores with hints: the hints do nothing here.
#define PAWL_LOAD(name) \
  template <typename T> \
  inline T name(const T* at) { \
    return *at; \
  }
PAWL_LOAD(__ldg)
PAWL_LOAD(__ldcg)
PAWL_LOAD(__ldca)
PAWL_LOAD(__ldcs)
PAWL_LOAD(__ldlu)
PAWL_LOAD(__ldcv)
#undef PAWL_LOAD
#define PAWL_STORE(name) \
  template <typename T> \
  inline void name(T* at, T value) { \
    *at = value; \
  }
PAWL_STORE(__stwb)
PAWL_STORE(__stcg)
PAWL_STORE(__stcs)
PAWL_STORE(__stwt)
#undef PAWL_STORE

template <typename T>
struct PawlIdentity {
  using type = T;
};
template <typename T>
using __type_identity_t = typename PawlIdentity<T>::type;

// Atomics. A read-modify-write cannot be interrupted: threads change only where they wait.
#define PAWL_ATOMIC(name, expression)                                                            \
  template <typename T>                                                                          \
  PAWL_UNSEEN __attribute__((noinline)) T name(T* at, __type_identity_t<T> value, PAWL_SITE) {   \
    pawl_hooks.atomic(pawl_hooks.machine, at, sizeof(T), {file, line});                          \
    const T old = *at;                                                                           \
    *at = expression;                                                                            \
    return old;                                                                                  \
  }
PAWL_ATOMIC(atomicAdd, old + value)
PAWL_ATOMIC(atomicSub, old - value)
PAWL_ATOMIC(atomicExch, value)
PAWL_ATOMIC(atomicMin, value < old ? value : old)
PAWL_ATOMIC(atomicMax, value > old ? value : old)
PAWL_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
PAWL_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))
PAWL_ATOMIC(atomicAnd, old & value)
PAWL_ATOMIC(atomicOr, old | value)
PAWL_ATOMIC(atomicXor, old ^ value)
#undef PAWL_ATOMIC
template <typename T>
PAWL_UNSEEN __attribute__((noinline)) T atomicCAS(T* at, __type_identity_t<T> compare, __type_identity_t<T> value,
                        PAWL_SITE) {
  pawl_hooks.atomic(pawl_hooks.machine, at, sizeof(T), {file, line});
  const T old = *at;
  if (old == compare) *at = value;
  return old;
}
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicExch_block atomicExch
#define atomicExch_system atomicExch
#define atomicCAS_block atomicCAS
#define atomicCAS_system atomicCAS

// Memory. A call of the C library's is not seen, so what it touches is told here.
PAWL_INLINE void* PawlCopy(void* to, const void* from, size_t bytes) {
#ifdef PAWL_WATCHED
  __tsan_read_range(const_cast<void*>(from), bytes);
  __tsan_write_range(to, bytes);
#endif
  return __builtin_memcpy(to, from, bytes);
}
PAWL_INLINE void* PawlSet(void* to, int value, size_t bytes) {
#ifdef PAWL_WATCHED
  __tsan_write_range(to, bytes);
#endif
  return __builtin_memset(to, value, bytes);
}
#define memcpy PawlCopy
#define memset PawlSet

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

PAWL_INLINE void __trap(PAWL_SITE) {
  pawl_hooks.trap(pawl_hooks.machine, {file, line});
}
// What <cassert> calls.
extern "C" PAWL_UNSEEN inline void __assertfail(const char* condition, const char* file, unsigned line,
                                                const char*, size_t) {
  pawl_hooks.assertion(pawl_hooks.machine, condition, {file, static_cast<int>(line)});
}
template <typename... Arguments>
inline int printf(const char*, Arguments...) {
  return 0;
}
PAWL_INLINE long long clock64() { return 0; }
PAWL_INLINE void __nanosleep(unsigned) {}
