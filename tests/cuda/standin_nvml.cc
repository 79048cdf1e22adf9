// A stand-in for libnvidia-ml. What it is asked is written down, so that a test can see that
// nothing was set; clocks and processes are as PAWL_STANDIN_NVML says: "reasons=64 pids=7,8".

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string calls;
int device;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

void Enter(const char* name) { calls += std::string(name) + "\n"; }

const char* Told(const char* key) {
  const char* const all = std::getenv("PAWL_STANDIN_NVML");
  const char* const at = all == nullptr ? nullptr : std::strstr(all, key);
  return at == nullptr ? "" : at + std::strlen(key);
}

}  // namespace

extern "C" {

const char* standin_nvml_calls() { return calls.c_str(); }

int nvmlInit_v2() {
  Enter(__func__);
  return 0;
}
int nvmlShutdown() {
  Enter(__func__);
  return 0;
}
const char* nvmlErrorString(int) { return "as told"; }
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  Enter(__func__);
  std::snprintf(version, size, "580.0.1");
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  Enter(__func__);
  *handle = &device;
  return std::strncmp(uuid, "GPU-", 4) == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  Enter(__func__);
  *mhz = which == 1 ? 1500 : 3201;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  Enter(__func__);
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  Enter(__func__);
  *celsius = 61;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  Enter(__func__);
  *milliwatts = 412'500;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  Enter(__func__);
  *reasons = std::strtoull(Told("reasons="), nullptr, 10);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  Enter(__func__);
  const char* pids = Told("pids=");
  unsigned found = 0;
  while (*pids >= '0' && *pids <= '9' && found < *count) {
    char* end = nullptr;
    infos[found++] = {static_cast<unsigned>(std::strtoul(pids, &end, 10)), 0, 0, 0};
    pids = *end == ',' ? end + 1 : end;
  }
  *count = found;
  return 0;
}

// None of these may ever be called.
int nvmlDeviceSetGpuLockedClocks(void*, unsigned, unsigned) {
  Enter(__func__);
  return 0;
}
int nvmlDeviceResetGpuLockedClocks(void*) {
  Enter(__func__);
  return 0;
}
int nvmlDeviceSetMemoryLockedClocks(void*, unsigned, unsigned) {
  Enter(__func__);
  return 0;
}
int nvmlDeviceResetMemoryLockedClocks(void*) {
  Enter(__func__);
  return 0;
}

}  // extern "C"
