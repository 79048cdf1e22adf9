#pragma once
// A limit on what a child process may allocate, so that a source or a kernel that wants all memory
// costs the child and not the machine.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>

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

// Three quarters of this machine's memory, in bytes.
inline std::uint64_t MostOfTheMemory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4 * 3;
}

inline void LimitMemory(std::uint64_t bytes) {
  const rlimit memory{bytes, bytes};
  if (kLimitMemory) ::setrlimit(RLIMIT_DATA, &memory);
}

}  // namespace pawl
