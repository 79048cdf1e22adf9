#include "worker/clocks/nvml_clocks.h"

#include "worker/clocks/clock_lease.h"

namespace pawl {
namespace {

Nvml::Clock ClockOf(ClockDomain domain) {
  return domain == ClockDomain::kGpu ? Nvml::Clock::kGpu : Nvml::Clock::kMemory;
}

}  // namespace

Result<std::unique_ptr<NvmlClocks>> NvmlClocks::Open() {
  Result<std::unique_ptr<Nvml>> nvml = Nvml::Open();
  if (!nvml) return nvml.error();
  return std::unique_ptr<NvmlClocks>(new NvmlClocks(*std::move(nvml)));
}

Result<Nvml::Handle> NvmlClocks::HandleOf(const std::string& gpu) const {
  if (const Nvml::Handle handle = nvml_->Find(gpu)) return handle;
  return Error{"NVML knows no GPU " + gpu, Advice::kReject};
}

Status NvmlClocks::Find(const std::string& gpu) {
  const Result<Nvml::Handle> handle = HandleOf(gpu);
  return handle ? Status() : Status(handle.error());
}

Status NvmlClocks::Lock(const std::string& gpu, ClockDomain domain, std::uint32_t mhz) {
  const Result<Nvml::Handle> handle = HandleOf(gpu);
  if (!handle) return handle.error();
  return nvml_->LockClock(*handle, ClockOf(domain), mhz == kBaseClock ? Nvml::kBaseMhz : mhz);
}

Status NvmlClocks::Reset(const std::string& gpu, ClockDomain domain) {
  const Result<Nvml::Handle> handle = HandleOf(gpu);
  if (!handle) return handle.error();
  return nvml_->ResetClock(*handle, ClockOf(domain));
}

std::optional<std::uint32_t> NvmlClocks::ReadMhz(const std::string& gpu) {
  const Nvml::Handle handle = nvml_->Find(gpu);
  return handle == nullptr ? std::nullopt : nvml_->SmMhz(handle);
}

}  // namespace pawl
