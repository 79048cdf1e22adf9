#pragma once
// The door to CUPTI's activity records: how long kernels, copies and fills took on the GPU. The few
// declarations are our own.
//
// Tracing changes what it traces: it is on only between Start and Stop, in passes of their own.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/device/cuda/library.h"

namespace pawl {

struct Activity {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;

  bool operator==(const Activity&) const = default;
};

struct Trace {
  std::vector<Activity> activities;  // by start
  std::uint64_t dropped = 0;         // records that CUPTI could not keep
  std::uint64_t unclear = 0;         // records without a time
};

class Cupti {
 public:
  // Whether the library can be loaded. Nothing is traced for it, as it is once it is open.
  static bool Present();
  // Errors: not there, a function is missing, or another tool holds it.
  static Result<std::unique_ptr<Cupti>> Open();

  std::uint32_t version() const { return version_; }
  Status Start();
  // All that ran since Start; the caller has synchronised the stream.
  Result<Trace> Stop();

 private:
  explicit Cupti(Library library) : library_(std::move(library)) {}
  Status Check(const char* call, int result) const;

  Library library_;
  std::uint32_t version_ = 0;
  int (*enable_)(int) = nullptr;
  int (*disable_)(int) = nullptr;
  int (*flush_)(std::uint32_t) = nullptr;
  int (*result_string_)(int, const char**) = nullptr;
};

}  // namespace pawl
