// A stand-in for libnvidia-ml. What it is asked is written down, for this process
// (standin_nvml_calls) and, where PAWL_STANDIN_NVML_LOG names a file, for all that share it: a line
// a call, and one for each clock that it has locked or reset. What that file says is locked is, as
// a GPU's clocks outlive whoever set them.
//
// Answers are as PAWL_STANDIN_NVML says, words with blanks between:
//   reasons=64  pids=7,8   clock reasons and processes
//   deny=4                 setting a clock gives this error
//   deny_memory=3          setting a memory clock does
//   hang_before=CALL, hang_after=CALL   that call never returns: before it has done anything, after

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace {

constexpr unsigned kBase = 0xffffff01;  // NVML_CLOCK_LIMIT_ID_TDP
constexpr unsigned kBaseMhz = 1095;
constexpr unsigned kIdleMhz = 1500;
constexpr unsigned kIdleMemoryMhz = 3201;

std::string calls;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

// Of a word "key=value"; of a word "key" alone it is "".
bool Told(const std::string& key, std::string* value = nullptr) {
  const char* const all = std::getenv("PAWL_STANDIN_NVML");
  std::istringstream words(all == nullptr ? "" : all);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) != key) continue;
    if (value != nullptr && equals != std::string::npos) *value = word.substr(equals + 1);
    return true;
  }
  return false;
}

const char* LogFile() { return std::getenv("PAWL_STANDIN_NVML_LOG"); }

void Write(const std::string& line) {
  if (LogFile() == nullptr) return;
  const int fd = open(LogFile(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const std::string whole = std::to_string(getpid()) + " " + line + "\n";
  if (fd < 0 || write(fd, whole.data(), whole.size()) < 0) abort();
  close(fd);
}

void HangWhere(const char* key, const char* name) {
  std::string where;
  while (Told(key, &where) && where == name) pause();
}

void Enter(const char* name, const std::string& what = "") {
  calls += std::string(name) + "\n";
  Write(std::string(name) + (what.empty() ? "" : " " + what));
  HangWhere("hang_before", name);
}

// A handle is a UUID that is kept.
void* HandleOf(const std::string& uuid) {
  static std::map<std::string, std::string> kept;
  return &kept.emplace(uuid, uuid).first->second;
}
const std::string& UuidOf(void* handle) { return *static_cast<std::string*>(handle); }

// What a GPU's clock ("gpu" or "memory") is locked at by the file; 0: it is not.
unsigned LockOf(const std::string& uuid, const std::string& which) {
  unsigned locked = 0;
  if (LogFile() == nullptr) return locked;
  std::ifstream file(LogFile());
  std::string pid, word, gpu, clock;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    unsigned mhz = 0;
    words >> pid >> word >> gpu >> clock >> mhz;
    if (gpu != uuid || clock != which) continue;
    if (word == "locked") locked = mhz;
    if (word == "reset") locked = 0;
  }
  return locked;
}

int Denied(const char* which) {
  std::string code;
  return Told(which, &code) ? std::atoi(code.c_str()) : 0;
}

int Set(const char* name, void* handle, const char* which, unsigned low, unsigned high) {
  Enter(name, UuidOf(handle) + " " + std::to_string(low) + " " + std::to_string(high));
  if (const int denied = Denied("deny")) return denied;
  if (const int denied = std::strcmp(which, "memory") == 0 ? Denied("deny_memory") : 0)
    return denied;
  if (low != high) return 2;
  Write("locked " + UuidOf(handle) + " " + which + " " +
        std::to_string(low == kBase ? kBaseMhz : low));
  HangWhere("hang_after", name);
  return 0;
}

int Reset(const char* name, void* handle, const char* which) {
  Enter(name, UuidOf(handle));
  if (const int denied = Denied("deny")) return denied;
  Write("reset " + UuidOf(handle) + " " + which);
  HangWhere("hang_after", name);
  return 0;
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
  *handle = HandleOf(uuid);
  return std::strncmp(uuid, "GPU-", 4) == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  calls += "nvmlDeviceGetClockInfo\n";  // read too often for the file
  const bool sm = which == 1;
  const unsigned locked = LockOf(UuidOf(handle), sm ? "gpu" : "memory");
  *mhz = locked != 0 ? locked : sm ? kIdleMhz : kIdleMemoryMhz;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  Enter(__func__);
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  calls += "nvmlDeviceGetTemperature\n";
  *celsius = 61;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  calls += "nvmlDeviceGetPowerUsage\n";
  *milliwatts = 412'500;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  calls += "nvmlDeviceGetCurrentClocksEventReasons\n";
  std::string told;
  Told("reasons", &told);
  *reasons = std::strtoull(told.c_str(), nullptr, 10);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  calls += "nvmlDeviceGetComputeRunningProcesses_v3\n";
  std::string told;
  Told("pids", &told);
  const char* pids = told.c_str();
  unsigned found = 0;
  while (*pids >= '0' && *pids <= '9' && found < *count) {
    char* end = nullptr;
    infos[found++] = {static_cast<unsigned>(std::strtoul(pids, &end, 10)), 0, 0, 0};
    pids = *end == ',' ? end + 1 : end;
  }
  *count = found;
  return 0;
}

int nvmlDeviceSetGpuLockedClocks(void* handle, unsigned low, unsigned high) {
  return Set(__func__, handle, "gpu", low, high);
}
int nvmlDeviceResetGpuLockedClocks(void* handle) { return Reset(__func__, handle, "gpu"); }
int nvmlDeviceSetMemoryLockedClocks(void* handle, unsigned low, unsigned high) {
  return Set(__func__, handle, "memory", low, high);
}
int nvmlDeviceResetMemoryLockedClocks(void* handle) { return Reset(__func__, handle, "memory"); }

}  // extern "C"
