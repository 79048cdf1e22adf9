#pragma once
// The seam to a GPU's clocks: nvml_clocks.h, or a test's.

#include <cstdint>
#include <optional>
#include <string>

#include "schema/result.h"

namespace pawl {

enum class ClockDomain { kGpu, kMemory };

// Each names a GPU by its UUID. An error with Advice::kReject: it is refused, and nothing has
// changed; with kRetry: it failed, and what is set is not known.
class GpuClocks {
 public:
  virtual ~GpuClocks() = default;

  virtual Status Find(const std::string& gpu) = 0;
  // Holds it at `mhz`, or at kBaseClock, until it is reset, by whomever.
  virtual Status Lock(const std::string& gpu, ClockDomain domain, std::uint32_t mhz) = 0;
  virtual Status Reset(const std::string& gpu, ClockDomain domain) = 0;
  // What the GPU's own clock is now, in MHz; nullopt: it cannot be read.
  virtual std::optional<std::uint32_t> ReadMhz(const std::string& gpu) = 0;
};

// Time, for what is waited for.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual std::int64_t NowMs() = 0;  // of a clock that is never set
  virtual void Pause(int ms) = 0;
};

}  // namespace pawl
