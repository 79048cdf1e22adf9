#pragma once
// A clock lease: what was set on a GPU, and by whom. It is on disk before anything is set, so that
// whatever dies leaves a record of what is to be reset, and of nothing else.
//
// Pure: text in, value out.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace pawl {

inline constexpr std::uint32_t kBaseClock = 0;  // in place of a number of MHz

struct ClockLease {
  std::string gpu;                       // UUID
  std::string boot;                      // of the machine, at which it was set
  pid_t pid = 0;                         // of the guardian that set it
  std::uint64_t pid_start = 0;           // when that process started, in clock ticks after the boot
  std::optional<std::uint32_t> gpu_mhz;  // asked for, or kBaseClock; nullopt: not set
  std::optional<std::uint32_t> memory_mhz;  // likewise
  std::uint32_t reads_mhz = 0;  // what the GPU's clock read once it was set; 0: not known

  bool operator==(const ClockLease&) const = default;
};

// "pawl clock lease 1", then "key value", a line each, then "end".
std::string EncodeLease(const ClockLease& lease);
// Errors say which line is wrong.
Result<ClockLease> DecodeLease(std::string_view text);

// A machine as far as leases tell: its boot, and which processes live.
struct Machine {
  std::string boot;
  pid_t pid = 0;  // this process
  // When a live process started; nullopt: there is none of that number, or it has ended and is not
  // reaped yet.
  std::function<std::optional<std::uint64_t>(pid_t)> start_of;
};

enum class LeaseState {
  kHeld,       // its guardian lives
  kStale,      // its guardian is gone, and what it set may still be set
  kOtherBoot,  // of before a reboot, which no setting outlives
};
LeaseState Judge(const ClockLease& lease, const Machine& machine);

// "the clocks of GPU-1 at 1500 MHz, its memory's at 9501 MHz".
std::string Describe(const ClockLease& lease);

}  // namespace pawl
