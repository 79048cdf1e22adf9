#pragma once
// A GPU's clocks as NVML sets and reads them. The only code that sets a clock.

#include <memory>

#include "worker/clocks/gpu_clocks.h"
#include "worker/device/cuda/nvml.h"

namespace pawl {

class NvmlClocks final : public GpuClocks {
 public:
  // Errors: NVML is not there.
  static Result<std::unique_ptr<NvmlClocks>> Open();

  Status Find(const std::string& gpu) override;
  Status Lock(const std::string& gpu, ClockDomain domain, std::uint32_t mhz) override;
  Status Reset(const std::string& gpu, ClockDomain domain) override;
  std::optional<std::uint32_t> ReadMhz(const std::string& gpu) override;

 private:
  explicit NvmlClocks(std::unique_ptr<Nvml> nvml) : nvml_(std::move(nvml)) {}
  Result<Nvml::Handle> HandleOf(const std::string& gpu) const;

  const std::unique_ptr<Nvml> nvml_;
};

}  // namespace pawl
