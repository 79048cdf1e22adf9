#pragma once
// The rules of the small process that owns the lock of one GPU's clocks (guardian_process.h runs
// them). A lock outlives whoever set it, so whoever set it must outlive the worker:
//
//   lease on disk -> lock -> what the clock reads, into the lease -> watch -> reset -> it moves ->
//   lease removed killed at any point: the lease says what may be set, and the next guardian, or
//   `pawl-worker --reset-clocks`, resets just that
//
// 1. Nothing is set that is not in a synced lease before, and nothing is reset that is not.
// 2. A GPU's clocks have one guardian: it holds the GPU's lock file.
// 3. The GPU's clock and its memory's are set, refused and reset each by itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schema/result.h"
#include "worker/clocks/gpu_clocks.h"
#include "worker/clocks/lease_folder.h"

namespace pawl {

struct PinRequest {
  std::string gpu;                     // UUID
  std::uint32_t gpu_mhz = kBaseClock;  // or a number
  std::uint32_t memory_mhz = 0;        // 0: the memory's clock is left alone

  bool operator==(const PinRequest&) const = default;
};

struct Pinned {
  std::uint32_t gpu_mhz = 0;     // that it is held at
  std::uint32_t memory_mhz = 0;  // 0: left alone
  std::string note;  // what was asked for and is not so, or was found; one line, or empty

  bool operator==(const Pinned&) const = default;
};

class Guardian {
 public:
  // `lost_ms`: how long its worker may be silent.
  Guardian(GpuClocks& clocks, LeaseFolder& leases, Machine machine, Timer& timer,
           std::int64_t lost_ms);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // Resets what dead guardians have left, on this GPU and on others, then pins. Once. Waits up to
  // 15 s for another guardian of this GPU to end. Errors: the GPU's clock is not pinned, and why;
  // with kRetry what was set could not be reset either, and its lease stays.
  Result<Pinned> Pin(const PinRequest& request);

  void OnBeat();  // its worker lives
  // At NextTick() at the latest. Why it is to let go now: its worker is silent, or the clock runs
  // above what it is held at, so that the lock is not there any more.
  std::optional<std::string> OnTick();
  std::int64_t NextTick() const;

  // Resets what the lease records and removes it. Errors: something is not reset, or the clock was
  // not seen to move; the lease stays. When nothing is pinned: nothing.
  Status Release();

 private:
  Result<std::unique_ptr<LeaseFolder::Hold>> WaitForHold(const std::string& gpu);
  Result<std::uint32_t> Settled();
  void PinMemory(std::uint32_t mhz, Pinned& pinned);
  void Note(Pinned& pinned, const std::string& line) const;
  Error GiveUp(const Error& why);

  GpuClocks& clocks_;
  LeaseFolder& leases_;
  const Machine machine_;
  Timer& timer_;
  const std::int64_t lost_ms_;

  std::unique_ptr<LeaseFolder::Hold> hold_;
  std::optional<ClockLease> lease_;  // on disk
  std::uint32_t most_mhz_ = 0;       // that its clock may read
  int looks_above_ = 0;              // in a row
  bool lock_is_gone_ = false;
  std::int64_t heard_ms_ = 0;
  std::int64_t tick_ms_ = 0;
};

}  // namespace pawl
