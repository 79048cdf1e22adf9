#pragma once
// A compiled kernel as the emulated device runs it: loaded as often as a cluster has blocks, each
// load with shared memory of its own; and what is known of it for messages: the names of its
// variables, the source lines of its code.
//
// __device__ variables are one for all blocks, but each load brings its own. The loads' code runs
// in turn, so what they hold is handed over whenever another one runs; their addresses for the
// watch are those of the first load.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/device/emulated/kernel_abi.h"
#include "worker/device/emulated/object_file.h"
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
  std::uintptr_t base = 0;  // its file's addresses count from here
  std::uintptr_t image = 0;
  std::size_t image_bytes = 0;

  bool Holds(std::uintptr_t at) const { return at - image < image_bytes; }
  // Where its __device__ variables lie.
  bool Variable(std::uintptr_t at, const ObjectFile& file) const;
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
  const std::vector<LoadedKernel>& loads() const { return loads_; }
  const ObjectFile& file() const { return file_; }
  // Static shared memory of a launch's kernel, and the most of any.
  std::uint32_t shared_bytes(std::size_t launch) const {
    return file_.SharedBytesOf("pawl_launch_" + std::to_string(launch));
  }
  std::uint32_t most_shared_bytes() const;
  // Its kernel calls functions whose stores of structs by value nobody sees.
  bool calls_out(std::size_t launch) const {
    return file_.CallsOut("pawl_launch_" + std::to_string(launch));
  }

  // The first load's address of what lies at `at` in any load's variables.
  std::uintptr_t HomeOf(std::uintptr_t at) const;
  // From now on this load has what the variables hold.
  void HandVariablesTo(std::size_t load) {
    if (load != holder_ && !file_.device.empty()) HandVariables(load);
  }

  // "matmul/cuda/tiled.cu:57", also of what it was inlined into; empty where that is not known.
  std::string LineOf(const void* from) const;

 private:
  KernelObject(std::string object, std::string scratch, std::vector<bool> launches)
      : object_(std::move(object)),
        scratch_(std::move(scratch)),
        file_(ReadObjectFile(object_)),
        launches_(std::move(launches)) {}

  void HandVariables(std::size_t to);

  const std::string object_, scratch_;
  const ObjectFile file_;
  const std::vector<bool> launches_;
  std::vector<LoadedKernel> loads_;
  std::size_t holder_ = 0;  // of the variables
};

}  // namespace pawl
