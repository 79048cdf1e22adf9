// pawl_device.h's functions on the emulated device: the same names, the same contracts.

namespace pawl {

#define PAWL_COPY(bytes)                                                                         \
  PAWL_INLINE void CpAsync##bytes(void* shared, const void* global, PAWL_SITE) {                 \
    pawl_hooks.copy(pawl_hooks.machine, shared, global, bytes, true, {file, line});              \
  }                                                                                              \
  PAWL_INLINE void CpAsync##bytes(void* shared, const void* global, bool whole, PAWL_SITE) {     \
    pawl_hooks.copy(pawl_hooks.machine, shared, global, bytes, whole, {file, line});             \
  }
PAWL_COPY(4)
PAWL_COPY(8)
PAWL_COPY(16)
#undef PAWL_COPY

PAWL_INLINE void CpAsyncCommit() { pawl_hooks.copy_commit(pawl_hooks.machine); }
template <int kLatest>
PAWL_INLINE void CpAsyncWait() {
  static_assert(kLatest >= 0);
  pawl_hooks.copy_wait(pawl_hooks.machine, kLatest);
}

#if __CUDA_ARCH__ >= 900
PAWL_INLINE unsigned ClusterRank() { return pawl_position.rank; }
PAWL_INLINE void ClusterSync(PAWL_SITE) { pawl_hooks.cluster_sync(pawl_hooks.machine, {file, line}); }
template <typename T>
PAWL_INLINE T* MapShared(T* shared, unsigned rank, PAWL_SITE) {
  return static_cast<T*>(pawl_hooks.map_shared(pawl_hooks.machine, shared, rank, {file, line}));
}
#else
// The architecture has no clusters.
unsigned ClusterRank() = delete;
void ClusterSync() = delete;
template <typename T>
T* MapShared(T* shared, unsigned rank) = delete;
#endif

}  // namespace pawl
