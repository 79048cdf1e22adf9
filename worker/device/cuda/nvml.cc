#include "worker/device/cuda/nvml.h"

#include <algorithm>

namespace pawl {
namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kFunctionNotFound = 13;
constexpr int kFrequencyNotSupported = 24;
constexpr int kSmClock = 1;      // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;  // NVML_CLOCK_MEM
constexpr int kGpuSensor = 0;    // NVML_TEMPERATURE_GPU

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

}  // namespace

std::string DescribeClockReasons(std::uint64_t reasons) {
  constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {kClockReasonIdle, "idle"},
      {kClockReasonSwPowerCap, "sw power cap"},
      {kClockReasonHwSlowdown, "hw slowdown"},
      {kClockReasonSwThermal, "sw thermal slowdown"},
      {kClockReasonHwThermal, "hw thermal slowdown"},
      {kClockReasonHwPowerBrake, "hw power brake"},
  };
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "none" : text;
}

Result<std::unique_ptr<Nvml>> Nvml::Open() {
  Result<Library> library =
      Library::Open({"NVML", "PAWL_LIBNVML", {"libnvidia-ml.so.1", "libnvidia-ml.so"}, false});
  if (!library) return library.error();
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(*library)));
  const auto find = [&](const char* symbol, auto& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(nvml->library_.Find(symbol));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  if (!find("nvmlInit_v2", init) || !find("nvmlErrorString", nvml->error_) ||
      !find("nvmlDeviceGetHandleByUUID", nvml->handle_)) {
    return Error{"NVML " + nvml->library_.path() + " lacks nvmlInit_v2 or what goes with it",
                 Advice::kReject};
  }
  if (const int result = init(); result != kSuccess) {
    return Error{nvml->Judge(result, "nvmlInit_v2").error().message, Advice::kReject};
  }
  find("nvmlShutdown", nvml->shutdown_);
  find("nvmlDeviceGetClockInfo", nvml->clock_);
  find("nvmlDeviceGetMaxClockInfo", nvml->max_clock_);
  find("nvmlDeviceGetTemperature", nvml->temperature_);
  find("nvmlDeviceGetPowerUsage", nvml->power_);
  if (!find("nvmlDeviceGetCurrentClocksEventReasons", nvml->reasons_)) {
    find("nvmlDeviceGetCurrentClocksThrottleReasons", nvml->reasons_);
  }
  find("nvmlDeviceGetComputeRunningProcesses_v3", nvml->processes_);
  find("nvmlDeviceSetGpuLockedClocks", nvml->lock_[0]);
  find("nvmlDeviceResetGpuLockedClocks", nvml->reset_[0]);
  find("nvmlDeviceSetMemoryLockedClocks", nvml->lock_[1]);
  find("nvmlDeviceResetMemoryLockedClocks", nvml->reset_[1]);
  char version[96] = "";
  if (find("nvmlSystemGetDriverVersion", driver) && driver(version, sizeof version) == kSuccess) {
    nvml->driver_version_ = version;
  }
  return nvml;
}

Nvml::~Nvml() {
  if (shutdown_ != nullptr) shutdown_();
}

Nvml::Handle Nvml::Find(const std::string& uuid) const {
  Handle gpu = nullptr;
  return handle_(uuid.c_str(), &gpu) == kSuccess ? gpu : nullptr;
}

std::optional<std::uint32_t> Nvml::ReadClock(Handle gpu, int which) const {
  unsigned mhz = 0;
  if (clock_ == nullptr || clock_(gpu, which, &mhz) != kSuccess) return std::nullopt;
  return mhz;
}

std::optional<std::uint32_t> Nvml::SmMhz(Handle gpu) const { return ReadClock(gpu, kSmClock); }

std::optional<std::uint32_t> Nvml::MaxSmMhz(Handle gpu) const {
  unsigned mhz = 0;
  if (max_clock_ == nullptr || max_clock_(gpu, kSmClock, &mhz) != kSuccess) return std::nullopt;
  return mhz;
}

DeviceConditions Nvml::Read(Handle gpu) const {
  DeviceConditions conditions;
  conditions.memory_mhz = ReadClock(gpu, kMemoryClock).value_or(0);
  unsigned long long reasons = 0;
  if (reasons_ != nullptr && reasons_(gpu, &reasons) == kSuccess)
    conditions.clock_reasons = reasons;
  unsigned value = 0;
  if (temperature_ != nullptr && temperature_(gpu, kGpuSensor, &value) == kSuccess) {
    conditions.temperature_c = value;
  }
  if (power_ != nullptr && power_(gpu, &value) == kSuccess) conditions.power_w = value / 1000.0;
  return conditions;
}

std::vector<std::uint32_t> Nvml::ForeignProcesses(Handle gpu, std::uint32_t own) const {
  std::vector<std::uint32_t> found;
  if (processes_ == nullptr) return found;
  std::vector<ProcessInfo> infos(32);
  auto count = static_cast<unsigned>(infos.size());
  int result = processes_(gpu, &count, infos.data());
  if (result == kInsufficientSize && count <= 65'536) {
    infos.resize(count);
    result = processes_(gpu, &count, infos.data());
  }
  if (result != kSuccess) return found;
  infos.resize(std::min<std::size_t>(count, infos.size()));
  for (const ProcessInfo& info : infos) {
    if (info.pid != own) found.push_back(info.pid);
  }
  return found;
}

// What NVML refuses it has not done; any other failure may have come half way.
Status Nvml::Judge(int result, const std::string& call) const {
  if (result == kSuccess) return {};
  const char* const text = error_(result);
  std::string why = "NVML: " + call + ": " +
                    (text != nullptr ? std::string(text) : "error " + std::to_string(result));
  Advice advice = Advice::kReject;
  switch (result) {
    case kNoPermission:
      why += "; root is needed";
      break;
    case kNotSupported:
    case kFunctionNotFound:
      why += "; this GPU, or its driver, has no such setting";
      break;
    case kInvalidArgument:
    case kFrequencyNotSupported:
      why += "; it is not a clock of this GPU";
      break;
    default:
      advice = Advice::kRetry;
  }
  return Error{why, advice};
}

bool Nvml::CanLock(Clock which) const {
  const auto index = static_cast<std::size_t>(which);
  return lock_[index] != nullptr && reset_[index] != nullptr;
}

Status Nvml::LockClock(Handle gpu, Clock which, std::uint32_t mhz) const {
  const std::string call =
      which == Clock::kGpu ? "nvmlDeviceSetGpuLockedClocks" : "nvmlDeviceSetMemoryLockedClocks";
  if (!CanLock(which)) return Judge(kFunctionNotFound, call);
  return Judge(
      lock_[static_cast<std::size_t>(which)](gpu, mhz, mhz),
      call + (mhz == kBaseMhz ? " to the base clock" : " to " + std::to_string(mhz) + " MHz"));
}

Status Nvml::ResetClock(Handle gpu, Clock which) const {
  const std::string call =
      which == Clock::kGpu ? "nvmlDeviceResetGpuLockedClocks" : "nvmlDeviceResetMemoryLockedClocks";
  if (!CanLock(which)) return Judge(kFunctionNotFound, call);
  return Judge(reset_[static_cast<std::size_t>(which)](gpu), call);
}

}  // namespace pawl
