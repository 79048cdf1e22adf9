#pragma once
// What a cuda kernel may call beyond CUDA's own built-in functions: asynchronous copies into shared
// memory, and the blocks of a cluster. Compiled by NVRTC and nvcc (no host header is included), and
// by the emulated device (docs/emulated.md), which brings its own definitions of the same names.
//
// 1. A copy's bytes may be read by its own thread after CpAsyncWait, by the other threads of the
//    block after a __syncthreads() that follows it.
// 2. Both addresses of a copy are multiples of its size. Where `whole` is false nothing is read and
//    the bytes in shared memory become 0; the global address may then be any.
// 3. Groups are counted for each thread: CpAsyncWait<N> returns once all but the latest N groups
//    that this thread has committed are there. A group may be empty.
// 4. The cluster functions need sm_90. What MapShared gives may be read between two ClusterSync():
//    one after the owner has written, one before it leaves or writes there again.

#if defined(PAWL_EMULATED)
#include "pawl_emulated.h"
#else

namespace pawl {

__device__ __forceinline__ unsigned SharedAddress(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void CpAsync4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SharedAddress(shared)), "l"(global)
               : "memory");
}
__device__ __forceinline__ void CpAsync4(void* shared, const void* global, bool whole) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(SharedAddress(shared)),
               "l"(global), "r"(whole ? 4 : 0)
               : "memory");
}

__device__ __forceinline__ void CpAsync8(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(SharedAddress(shared)), "l"(global)
               : "memory");
}
__device__ __forceinline__ void CpAsync8(void* shared, const void* global, bool whole) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(SharedAddress(shared)),
               "l"(global), "r"(whole ? 8 : 0)
               : "memory");
}

// Past the level-1 cache.
__device__ __forceinline__ void CpAsync16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)), "l"(global)
               : "memory");
}
__device__ __forceinline__ void CpAsync16(void* shared, const void* global, bool whole) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(shared)),
               "l"(global), "r"(whole ? 16 : 0)
               : "memory");
}

// What this thread has begun to copy since the last one becomes a group.
__device__ __forceinline__ void CpAsyncCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLatest>
__device__ __forceinline__ void CpAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLatest) : "memory");
}

// This block's number in its cluster, x first.
__device__ __forceinline__ unsigned ClusterRank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Every thread of every block of the cluster; what they wrote to shared memory before is seen after.
__device__ __forceinline__ void ClusterSync() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

// Where the block `rank` of the cluster has what lies at `shared` in this one.
template <typename T>
__device__ __forceinline__ T* MapShared(T* shared, unsigned rank) {
  T* there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
}

}  // namespace pawl

#endif
