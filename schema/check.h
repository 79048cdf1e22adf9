#pragma once
// CHECK(condition, parts...): a bug in pawl itself. Prints the condition and the given parts and
// aborts, in release builds too. Never used on input from a file, a socket or a person: those are
// Result<T>.

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace pawl::internal {

template <typename... Parts>
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const Parts&... parts) {
  std::ostringstream text;
  ((text << ' ' << parts), ...);
  std::fprintf(stderr, "%s:%d: check failed: %s:%s\n", file, line, condition, text.str().c_str());
  std::abort();
}

}  // namespace pawl::internal

#define CHECK(condition, ...)                                                                   \
  do {                                                                                          \
    if (!(condition)) [[unlikely]]                                                              \
      ::pawl::internal::CheckFailed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
