#pragma once
// One child process that compiles with NVRTC, and what is said to it: private to the builder.
//
//   message := size u64, part...      part := size u64, bytes    (numbers as this machine has them)
//   hello   := version, architectures... | "", what is wrong
//   unit    := name, text, count, (header name, header text)..., count, option..., count, kernel...
//   object  := "ok" | "", log, machine code, problem, kernel name...

#include <sys/types.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/device/cuda/nvrtc.h"

namespace pawl {

std::vector<std::string> PackUnit(const CudaUnit& unit);
std::optional<CudaUnit> UnpackUnit(const std::vector<std::string>& parts);
std::vector<std::string> PackObject(const CudaObject& object);
std::optional<CudaObject> UnpackObject(const std::vector<std::string>& parts);

// Errors: the other side is gone.
Status WriteParts(int fd, const std::vector<std::string>& parts);
Result<std::vector<std::string>> ReadParts(int fd, int timeout_ms);  // negative: no limit

class BuilderProcess {
 public:
  // `memory_bytes`: that it may take; a source that makes the compiler want more does not build.
  BuilderProcess(std::vector<int> cores, std::uint64_t memory_bytes)
      : cores_(std::move(cores)), memory_bytes_(memory_bytes) {}
  BuilderProcess(const BuilderProcess&) = delete;
  BuilderProcess& operator=(const BuilderProcess&) = delete;
  ~BuilderProcess() { End(); }

  // Starts it when it is not running.
  Status Start();
  const std::string& version() const { return version_; }
  const std::vector<int>& architectures() const { return architectures_; }

  // nullopt: not done within the time; the process is ended. An object that is not ok with the
  // problem "NVRTC ended by signal 11" is the unit's fault; an Error is nobody's.
  Result<std::optional<CudaObject>> Compile(const CudaUnit& unit, int timeout_ms);

  void End();
  // From another thread: Compile fails, now and for ever.
  void Interrupt();

 private:
  std::string HowItEnded();

  const std::vector<int> cores_;
  const std::uint64_t memory_bytes_;
  pid_t pid_ = -1;
  std::atomic<int> fd_{-1};
  std::atomic<bool> interrupted_{false};
  std::string version_;
  std::vector<int> architectures_;
};

}  // namespace pawl
