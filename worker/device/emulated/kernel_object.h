#pragma once
// A compiled kernel as the emulated device runs it: loaded as often as a cluster has blocks, each
// load with shared memory of its own; and what is known of it for messages: the names of its shared
// variables, the source lines of its code.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/device/emulated/kernel_abi.h"
#include "worker/device/emulated/watch.h"
#include "worker/device/host/module.h"

namespace pawl {

using LaunchCall = void (*)(void* const* buffers, const long long* scalars, void* const* scratch);

// One load: one block's worth of static memory.
struct LoadedKernel {
  std::unique_ptr<Module> module;
  PawlUnit* unit = nullptr;
  std::vector<LaunchCall> launches;  // by launch; nullptr: a memset
  std::byte* shared = nullptr;       // this thread's
  std::size_t shared_bytes = 0;
  std::uintptr_t image = 0;
  std::size_t image_bytes = 0;

  bool Holds(std::uintptr_t at) const { return at - image < image_bytes; }
};

class KernelObject {
 public:
  // `launches`: which of the arm's launches are kernels. Errors as Module::Load's.
  static Result<std::unique_ptr<KernelObject>> Load(const std::string& object,
                                                    const std::string& scratch,
                                                    const std::vector<bool>& launches);

  // As many loads as a cluster has blocks.
  Status Provide(std::size_t count);
  std::vector<LoadedKernel>& loads() { return loads_; }
  std::uint32_t shared_bytes() const { return static_cast<std::uint32_t>(loads_[0].shared_bytes); }
  std::vector<SharedVariable> SharedVariables() const;

  // "matmul/cuda/tiled.cu:57", also of what it was inlined into; empty where that is not known.
  std::string LineOf(const void* from) const;

 private:
  KernelObject(std::string object, std::string scratch, std::vector<bool> launches)
      : object_(std::move(object)), scratch_(std::move(scratch)), launches_(std::move(launches)) {}

  const std::string object_, scratch_;
  const std::vector<bool> launches_;
  std::vector<LoadedKernel> loads_;
};

}  // namespace pawl
