#include "worker/device/cuda/cuda_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "worker/device/cuda/cuda_device.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/nvrtc.h"

namespace pawl {
namespace {

std::string Gigabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f GiB", static_cast<double>(bytes) / (1ull << 30));
  return text;
}

// Counters are for everybody only where the driver was told so.
std::string WhyNoCounters() {
  if (::geteuid() == 0) return {};
  std::ifstream file("/proc/driver/nvidia/params");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("RmProfilingAdminOnly:", 0) == 0 && line.find('0') != std::string::npos)
      return {};
  }
  return "root, or the driver option NVreg_RestrictProfilingToAdminUsers=0, is needed";
}

// Whether this is Windows' subsystem for Linux, whose driver passes no settings on.
bool InWsl() {
  std::ifstream file("/proc/sys/kernel/osrelease");
  std::string release;
  std::getline(file, release);
  return release.find("icrosoft") != std::string::npos;
}

std::string WhyNoPinning(const GpuProperties& gpu, const Nvml* nvml) {
  if (nvml == nullptr) return "NVML is needed";
  if (gpu.capability < 70) return "Volta or newer is needed";
  if (!nvml->CanLock(Nvml::Clock::kGpu)) return "a newer driver is needed";
  if (InWsl()) return "WSL passes no clock settings on to the GPU";
  if (::geteuid() != 0) return "root is needed";
  return {};
}

std::string YesOr(const std::string& why_not) { return why_not.empty() ? "yes" : "no: " + why_not; }

}  // namespace

DeviceFacts FactsOf(const GpuProperties& gpu, const Driver& driver, const Nvml* nvml,
                    const std::string& nvrtc_version) {
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.model = gpu.name;
  facts.uuid = gpu.uuid;
  facts.toolchain =
      "NVRTC " + nvrtc_version + " sm_" + std::to_string(gpu.capability) + ", driver " +
      (nvml != nullptr && !nvml->driver_version().empty() ? nvml->driver_version()
                                                          : "for CUDA " + driver.cuda_version());
  facts.backend = "cuda";
  facts.instruments = {Instrument::kEventSpan, Instrument::kGraphTime};
  if (Cupti::Present()) facts.instruments.push_back(Instrument::kKernelTime);
  facts.cores = static_cast<std::uint32_t>(std::max(gpu.multiprocessors, 0));
  facts.peak_gflops = gpu.PeakGflops();
  facts.peak_gbytes_per_s = gpu.PeakGbytesPerSecond();
  return facts;
}

Status CanBuildFor(const GpuProperties& gpu, const std::string& nvrtc_version,
                   const std::vector<int>& architectures) {
  if (std::find(architectures.begin(), architectures.end(), gpu.capability) !=
      architectures.end()) {
    return {};
  }
  std::string have;
  for (const int architecture : architectures) {
    have += (have.empty() ? "sm_" : ", sm_") + std::to_string(architecture);
  }
  return Error{"cuda: NVRTC " + nvrtc_version + " makes no code for " + gpu.name + ", an sm_" +
                   std::to_string(gpu.capability) + " (it makes: " + have +
                   "); another version is needed",
               Advice::kReject};
}

std::vector<DeviceListing> ListCuda() {
  DeviceListing missing;
  missing.name = "cuda";
  missing.facts.kind = "cuda";
  missing.facts.backend = "cuda";
  const Result<std::unique_ptr<Driver>> driver = Driver::Open();
  if (!driver) {
    missing.problem = driver.error().message;
    return {missing};
  }
  const Result<std::vector<GpuProperties>> gpus = ListGpus(**driver);
  if (!gpus || gpus->empty()) {
    missing.problem = gpus ? "the NVIDIA driver shows no GPU" : gpus.error().message;
    return {missing};
  }
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open();
  const Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::Open();
  const Result<std::unique_ptr<Cupti>> cupti = Cupti::Open();
  std::vector<DeviceListing> listings;
  for (const GpuProperties& gpu : *gpus) {
    DeviceListing listing;
    const Nvml* const there = nvml ? nvml->get() : nullptr;
    listing.name = "cuda:" + std::to_string(gpu.index);
    listing.facts = FactsOf(gpu, **driver, there, nvrtc ? (*nvrtc)->version() : "none");
    if (!nvrtc) {
      listing.problem = gpu.name + ": " + nvrtc.error().message;
    } else if (Status able = CanBuildFor(gpu, (*nvrtc)->version(), (*nvrtc)->architectures());
               !able) {
      listing.problem = able.error().message;
    }
    std::string clocks = "up to " + std::to_string(gpu.clock_mhz) + " MHz";
    if (there != nullptr) {
      if (const Nvml::Handle handle = there->Find(gpu.uuid)) {
        if (const auto mhz = there->SmMhz(handle))
          clocks = std::to_string(*mhz) + " MHz now, " + clocks;
      }
    }
    listing.notes = {
        gpu.uuid + ", compute capability " + std::to_string(gpu.capability / 10) + "." +
            std::to_string(gpu.capability % 10) + ", " + std::to_string(gpu.multiprocessors) +
            " multiprocessors, " + Gigabytes(gpu.memory_bytes),
        "clocks " + clocks + "; can be pinned: " + YesOr(WhyNoPinning(gpu, there)) +
            "; counters can be read: " + YesOr(WhyNoCounters()),
        "driver for CUDA " + (*driver)->cuda_version() + "; NVML " +
            (nvml ? "driver " + there->driver_version() : nvml.error().message) + "; CUPTI " +
            (cupti ? "API " + std::to_string((*cupti)->version()) : cupti.error().message),
    };
    listings.push_back(std::move(listing));
  }
  return listings;
}

}  // namespace pawl
