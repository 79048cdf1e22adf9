#pragma once
// What NVRTC makes of an arm's source for the emulated architecture, where NVRTC is there: a kernel
// that runs here and compiles nowhere else is not right. Registers and spills are what no emulation
// knows.

#include <memory>
#include <optional>
#include <string>

#include "schema/order.h"
#include "worker/device/cuda/nvrtc.h"
#include "worker/object_cache.h"

namespace pawl {

class GpuCompile {
 public:
  // `sm`: 89 for sm_89.
  GpuCompile(ObjectCache& cache, int sm);

  // "NVRTC 13.0.88 (/usr/local/cuda/lib64/libnvrtc.so.13)", or why there is none.
  const std::string& note() const { return note_; }

  struct Answer {
    std::string problem;  // one line; empty: it compiles
    ResourceUse use;
  };
  // nullopt: it was not asked. Cached by all that the answer depends on.
  std::optional<Answer> Compile(const Order& order, const Arm& arm);

 private:
  ObjectCache& cache_;
  const int sm_;
  std::unique_ptr<Nvrtc> nvrtc_;
  std::string note_;
};

}  // namespace pawl
