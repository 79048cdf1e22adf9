#pragma once
// The door to NVRTC, NVIDIA's run-time compiler: CUDA C++ text to machine code for one
// architecture. The few declarations are our own.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schema/result.h"
#include "worker/device/cuda/library.h"

namespace pawl {

struct CudaUnit {
  std::string name;  // for messages
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // name and text, as includes find them
  std::vector<std::string> options;
  std::vector<std::string> kernels;  // functions or template instances whose names are wanted

  bool operator==(const CudaUnit&) const = default;
};

struct CudaObject {
  bool ok = false;
  std::string log;                 // the compiler's
  std::string cubin;               // machine code
  std::vector<std::string> names;  // of `kernels`, as the object knows them
  std::string problem;             // when not ok: one line

  bool operator==(const CudaObject&) const = default;
};

class Nvrtc {
 public:
  // Errors: not there, or a function is missing.
  static Result<std::unique_ptr<Nvrtc>> Open();

  const std::string& version() const { return version_; }  // "13.0.88"
  const std::string& path() const { return library_.path(); }
  // Architectures it makes code for: 80 for sm_80.
  const std::vector<int>& architectures() const { return architectures_; }

  // From one thread at a time. May crash or never return, as any compiler.
  CudaObject Compile(const CudaUnit& unit) const;

 private:
  using Program = struct NvrtcProgramTag*;

  explicit Nvrtc(Library library) : library_(std::move(library)) {}
  std::string Describe(int result) const;

  Library library_;
  std::string version_;
  std::vector<int> architectures_;
  const char* (*error_string_)(int) = nullptr;
  int (*create_)(Program*, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*add_name_)(Program, const char*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*lowered_name_)(Program, const char*, const char**) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, std::size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*ptx_size_)(Program, std::size_t*) = nullptr;
  int (*ptx_)(Program, char*) = nullptr;
};

// What `--ptxas-options=-v` says in a log: the most registers and static shared memory of a kernel,
// and the spilled bytes of all together.
struct ResourceUse {
  std::uint32_t registers = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t spill_bytes = 0;  // stores and loads
  std::uint32_t stack_bytes = 0;  // the largest frame

  bool operator==(const ResourceUse&) const = default;
};
ResourceUse ParseResourceUse(const std::string& log);

}  // namespace pawl
