#pragma once
// A worker's side of its guardian: starts it, tells it that the worker lives, and hears when it has
// let go. A seam, so that who uses it is tested without.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schema/result.h"
#include "worker/clocks/guardian.h"

namespace pawl {

class ClockKeeper {
 public:
  virtual ~ClockKeeper() = default;

  // Pins the clocks of a GPU and holds them. Errors: they are not pinned, and why.
  virtual Result<Pinned> Pin(const std::string& gpu) = 0;
  virtual bool Holding() const = 0;
  // When something is to be read, and at NextBeat() at the latest. Why the clocks are held no more,
  // once.
  virtual std::optional<std::string> Tend(std::int64_t now_ms) = 0;
  virtual int fd() const = 0;                 // readable when Tend has something; -1: not holding
  virtual std::int64_t NextBeat() const = 0;  // ms of a clock that is never set
  virtual void Release() = 0;                 // lets go; returns once the clocks are reset
};

struct KeeperOptions {
  std::string program = "/proc/self/exe";  // started with GuardianArguments
  std::string leases;                      // folder
  std::uint32_t gpu_mhz = kBaseClock;
  std::uint32_t memory_mhz = 0;  // 0: left alone
  int answer_ms = 60'000;        // how long pinning may take
  int beat_ms = 5'000;
  // Longer than a worker may be busy opening its device; that it has died is known at once.
  std::int64_t lost_ms = 90'000;
};

std::unique_ptr<ClockKeeper> MakeProcessKeeper(KeeperOptions options);

}  // namespace pawl
