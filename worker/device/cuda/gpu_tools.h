#pragma once
// The device's own kernels, loaded: queued on the GPU's stream beside the kernels they look after.
// What they do is said in source_text.h.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/order.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/source_text.h"

namespace pawl {

class GpuTools {
 public:
  // `object`: of OwnUnit(). Errors: it cannot be loaded, or this GPU does not compute what it must
  // (its health probe): then nothing else that it says can be believed.
  static Result<std::unique_ptr<GpuTools>> Open(const Gpu& gpu, const CudaObject& object);
  GpuTools(const GpuTools&) = delete;
  GpuTools& operator=(const GpuTools&) = delete;

  // Counting: Begin with how many counts will be taken at most, queue them, then read all. What a
  // count finds is at the index that its call gave.
  DriverStatus Begin(std::size_t most);
  DriverStatus Compare(const Buffer& buffer, CuAddress out, CuAddress expected, double rtol,
                       double atol);
  DriverStatus Finite(CuAddress values, std::uint64_t count);
  DriverStatus Words(CuAddress words, std::uint64_t count, std::uint32_t value);
  DriverStatus Bytes(CuAddress a, CuAddress b, std::uint64_t count);
  DriverStatus Read();  // waits for all that is queued
  const Found& found(std::size_t index) const;

  DriverStatus Plausible(const Buffer& buffer, CuAddress out, CuAddress expected, double rtol,
                         double atol, std::uint64_t shift);
  DriverStatus Spoil(const Buffer& buffer, CuAddress out, std::uint64_t seed);
  static constexpr std::uint64_t kNone = ~0ull;  // no element
  DriverStatus Apply(const Nudges& nudges);

  // The mean clock of a multiprocessor between two stamps, in MHz, once all is synchronised; 0: the
  // stamps cannot be read.
  struct [[nodiscard]] Clock {
    DriverStatus status;
    double mhz = 0;
    double ns = 0;  // between the stamps
  };
  DriverStatus ClearStamps();
  DriverStatus Stamp(std::uint32_t slot);  // 0 or 1
  Clock StampedMhz();

 private:
  explicit GpuTools(const Gpu& gpu) : gpu_(gpu) {}
  template <typename... Arguments>
  DriverStatus Run(const std::string& kernel, std::uint64_t threads, Arguments... arguments);
  CuAddress NextFound();

  const Gpu& gpu_;
  CuModule module_ = nullptr;
  std::map<std::string, CuFunction> functions_;
  GpuMemory founds_;
  PinnedMemory read_;
  std::size_t next_ = 0;
  GpuMemory stamps_;
  PinnedMemory stamps_read_;
};

}  // namespace pawl
