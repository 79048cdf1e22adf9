#pragma once
// A compiled object loaded into this process. Each load is a mapping of its own, also of equal
// bytes: two arms never share a kernel's static data.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "schema/result.h"

namespace pawl {

using KernelCall = void (*)(void* const* buffers, const std::int64_t* scalars);

class Module {
 public:
  // Writes the object to a file of its own in `scratch`, loads it (all symbols at once) and removes
  // the file. kReject errors are the loader's line: the object's fault. kRetry: the file cannot be
  // written.
  static Result<std::unique_ptr<Module>> Load(const std::string& object,
                                              const std::string& scratch);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  // Unloads it, unless threads were born since it was loaded: they may be running its code.
  ~Module();

  Result<void*> Find(const std::string& symbol) const;

 private:
  Module(void* handle, std::set<std::string> threads)
      : handle_(handle), threads_at_load_(std::move(threads)) {}

  void* const handle_;
  const std::set<std::string> threads_at_load_;  // their ids, as text
};

}  // namespace pawl
