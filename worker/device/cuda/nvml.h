#pragma once
// The door to NVML, NVIDIA's management library. What cannot be read is absent, never an error. The
// two calls that set a clock are worker/clocks' alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/report.h"
#include "schema/result.h"
#include "worker/device/cuda/library.h"

namespace pawl {

// NVML's bits for why clocks are below what they could be (nvmlClocksEventReason...).
inline constexpr std::uint64_t kClockReasonIdle = 0x1;
inline constexpr std::uint64_t kClockReasonSwPowerCap = 0x4;
inline constexpr std::uint64_t kClockReasonHwSlowdown = 0x8;
inline constexpr std::uint64_t kClockReasonSwThermal = 0x20;
inline constexpr std::uint64_t kClockReasonHwThermal = 0x40;
inline constexpr std::uint64_t kClockReasonHwPowerBrake = 0x80;
// "hw thermal slowdown, sw power cap"; "none".
std::string DescribeClockReasons(std::uint64_t reasons);

class Nvml {
 public:
  // Errors: not there, or nvmlInit fails.
  static Result<std::unique_ptr<Nvml>> Open();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  const std::string& driver_version() const { return driver_version_; }  // "580.159.04"

  // A GPU by its UUID ("GPU-..."); null when it does not know it.
  using Handle = struct NvmlDeviceTag*;
  Handle Find(const std::string& uuid) const;

  std::optional<std::uint32_t> SmMhz(Handle gpu) const;
  std::optional<std::uint32_t> MaxSmMhz(Handle gpu) const;
  // All but foreign processes.
  DeviceConditions Read(Handle gpu) const;
  // Other processes than `own` that compute on it.
  std::vector<std::uint32_t> ForeignProcesses(Handle gpu, std::uint32_t own) const;

  enum class Clock { kGpu, kMemory };
  static constexpr std::uint32_t kBaseMhz = 0xffffff01;  // NVML's name of the GPU's base clock
  // Whether this NVML has the calls. Whether the GPU allows them is known when they are made.
  bool CanLock(Clock which) const;
  // Holds a clock at a number of MHz or at kBaseMhz, until it is reset, the driver is loaded anew
  // or the machine is started again: it outlives this process. Errors: kReject: refused, and
  // nothing has changed; kRetry: failed.
  Status LockClock(Handle gpu, Clock which, std::uint32_t mhz) const;
  Status ResetClock(Handle gpu, Clock which) const;

 private:
  explicit Nvml(Library library) : library_(std::move(library)) {}
  std::optional<std::uint32_t> ReadClock(Handle gpu, int which) const;
  Status Judge(int result, const std::string& call) const;

  Library library_;
  std::string driver_version_;
  int (*shutdown_)() = nullptr;
  int (*handle_)(const char*, Handle*) = nullptr;
  // Absent in some versions: then not read.
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*max_clock_)(Handle, int, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*reasons_)(Handle, unsigned long long*) = nullptr;
  int (*processes_)(Handle, unsigned*, void*) = nullptr;
  const char* (*error_)(int) = nullptr;
  // By Clock: the GPU's, the memory's.
  int (*lock_[2])(Handle, unsigned, unsigned) = {};
  int (*reset_[2])(Handle) = {};
};

}  // namespace pawl
