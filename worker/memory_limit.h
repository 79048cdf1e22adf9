#pragma once
// A limit on what a child process may allocate, so that a source or a kernel that wants all memory
// costs the child and not the machine.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace pawl {

// A limit on data would count the shadow memory of a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitMemory = false;
#elif defined(__has_feature)
inline constexpr bool kLimitMemory =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kLimitMemory = true;
#endif

// The least that a process's cgroups and those above them let it take, in bytes; UINT64_MAX: no
// limit. `cgroups` is /proc/PID/cgroup, of cgroup v2, v1 or both; `root` where they are mounted.
std::uint64_t CgroupMemory(const std::string& cgroups, const std::string& root);

// Of this machine or of our cgroup, whichever is less, in bytes.
std::uint64_t MemoryBytes();

// Three quarters of it.
inline std::uint64_t MostOfTheMemory() { return MemoryBytes() / 4 * 3; }

inline void LimitMemory(std::uint64_t bytes) {
  const rlimit memory{bytes, bytes};
  if (kLimitMemory) ::setrlimit(RLIMIT_DATA, &memory);
}

}  // namespace pawl
