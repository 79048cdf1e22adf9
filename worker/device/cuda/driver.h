#pragma once
// The door to NVIDIA's driver (libcuda): its functions, each of which says by what name it failed.
//
// A call gives a DriverStatus, not a Status: whose fault a failure is depends on what was being
// done, and a kernel's fault shows at any later call.

#include <cstddef>
#include <memory>
#include <string>

#include "schema/result.h"
#include "worker/device/cuda/driver_api.h"
#include "worker/device/cuda/library.h"

namespace pawl {

struct [[nodiscard]] DriverStatus {
  CuResult code = kCuSuccess;
  const char* call = "";  // "cuLaunchKernel"

  explicit operator bool() const { return code == kCuSuccess; }
};

// In a function that gives a DriverStatus: goes up unless the call is a success.
#define PAWL_PASS(call)                                                  \
  do {                                                                   \
    if (::pawl::DriverStatus failed_ = (call); !failed_) return failed_; \
  } while (false)

template <typename... Arguments>
struct DriverCall {
  const char* symbol;
  CuResult (*function)(Arguments...) = nullptr;

  DriverStatus operator()(Arguments... arguments) const { return {function(arguments...), symbol}; }
};

class Driver {
 public:
  // Loads the library and calls cuInit. Errors: no driver, one that is too old (names the function
  // that is missing), no device that it can use (with the driver's own words).
  static Result<std::unique_ptr<Driver>> Open();

#define PAWL_X(member, symbol, ...) DriverCall<__VA_ARGS__> member{symbol};
  PAWL_DRIVER_FUNCTIONS(PAWL_X)
#undef PAWL_X

  // "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (invalid argument)"
  std::string Describe(DriverStatus status) const;
  // The CUDA version that the driver is for: "13.0".
  const std::string& cuda_version() const { return cuda_version_; }

 private:
  explicit Driver(Library library) : library_(std::move(library)) {}

  Library library_;
  CuResult (*error_name_)(CuResult, const char**) = nullptr;
  CuResult (*error_string_)(CuResult, const char**) = nullptr;
  std::string cuda_version_;
};

// What a failure says about a kernel that ran or was launched before it.
enum class FaultKind {
  kNone,     // nothing: the call itself was refused
  kCrashed,  // the kernel broke: the context is lost
  kHung,     // the driver's own time limit ended it
  kLaunch,   // it cannot be launched as asked
  kDevice,   // the GPU broke, whatever ran
};
FaultKind FaultOf(CuResult code);

}  // namespace pawl
