// CUDA's built-in language for the emulated device, the machine: threads, barriers, warps, atomics,
// memory. Put in front of every kernel's source; arithmetic.h follows. What each name does is
// NVIDIA's CUDA C++ Programming Guide's to say. No header is included.

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

// The unusual ends of a kernel, and what of the language does nothing here.
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
