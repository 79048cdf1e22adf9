#include "worker/clocks/reset.h"

#include <algorithm>

namespace pawl {
namespace {

constexpr int kTries = 3;
constexpr int kTryAgainMs = 200;
constexpr int kLookAgainMs = 50;
constexpr std::int64_t kMovesWithinMs = 10'000;

Status ResetOne(GpuClocks& clocks, Timer& timer, const std::string& gpu, ClockDomain domain) {
  for (int tried = 1;; ++tried) {
    Status reset = clocks.Reset(gpu, domain);
    if (reset || reset.error().advice == Advice::kReject || tried == kTries) return reset;
    timer.Pause(kTryAgainMs);
  }
}

std::uint32_t Apart(std::uint32_t a, std::uint32_t b) { return std::max(a, b) - std::min(a, b); }

Status WaitUntilItMoves(GpuClocks& clocks, Timer& timer, const ClockLease& lease) {
  const std::uint32_t held =
      lease.reads_mhz != 0 ? lease.reads_mhz : lease.gpu_mhz.value_or(kBaseClock);
  if (held == 0) return {};
  const std::int64_t until = timer.NowMs() + kMovesWithinMs;
  while (true) {
    const std::optional<std::uint32_t> now = clocks.ReadMhz(lease.gpu);
    if (now && Apart(*now, held) >= kClockStepMhz) return {};
    if (timer.NowMs() >= until) {
      const std::string reads =
          now ? "still reads " + std::to_string(*now) + " MHz" : std::string("cannot be read");
      return Error{"the clock of " + lease.gpu + " was reset and " + reads + " after " +
                       std::to_string(kMovesWithinMs / 1'000) + " s",
                   Advice::kRetry};
    }
    timer.Pause(kLookAgainMs);
  }
}

std::string Left(const ClockLease& lease) {
  return Describe(lease) + ", left by process " + std::to_string(lease.pid);
}

}  // namespace

Status ResetRecorded(GpuClocks& clocks, Timer& timer, const ClockLease& lease) {
  if (!lease.gpu_mhz && !lease.memory_mhz) return {};
  if (Status found = clocks.Find(lease.gpu); !found) return found;
  // Each by itself: that one cannot be reset is no reason to leave the other.
  Status all;
  for (const auto& [set, domain] :
       {std::pair{lease.gpu_mhz.has_value(), ClockDomain::kGpu},
        std::pair{lease.memory_mhz.has_value(), ClockDomain::kMemory}}) {
    if (!set) continue;
    Status reset = ResetOne(clocks, timer, lease.gpu, domain);
    if (!reset && all) all = reset;
  }
  if (!all || !lease.gpu_mhz) return all;
  return WaitUntilItMoves(clocks, timer, lease);
}

std::optional<Swept> SweepHeld(LeaseFolder& leases, const Machine& machine,
                               const ClocksSource& source, Timer& timer, const std::string& gpu) {
  const Result<std::optional<ClockLease>> read = leases.Read(gpu);
  if (!read) return Swept{read.error().message, false};
  if (!*read) return std::nullopt;
  const ClockLease& lease = **read;
  const auto forget = [&](std::string line) {
    const Status removed = leases.Remove(gpu);
    return removed ? Swept{std::move(line), true} : Swept{removed.error().message, false};
  };
  switch (Judge(lease, machine)) {
    case LeaseState::kHeld:
      return Swept{
          Describe(lease) + " is held by process " + std::to_string(lease.pid) + ": left as it is",
          true};
    case LeaseState::kOtherBoot:
      return forget(Left(lease) + " before the machine was started: nothing to reset");
    case LeaseState::kStale:
      break;
  }
  const Result<GpuClocks*> clocks = source();
  Status reset = clocks ? ResetRecorded(**clocks, timer, lease) : Status(clocks.error());
  if (reset) return forget(Left(lease) + ": reset");
  return Swept{Left(lease) + ": " + reset.error().message, false};
}

std::vector<Swept> SweepLeases(LeaseFolder& leases, const Machine& machine,
                               const ClocksSource& source, Timer& timer) {
  const Result<std::vector<std::string>> gpus = leases.Gpus();
  if (!gpus) return {{gpus.error().message, false}};
  std::vector<Swept> swept;
  for (const std::string& gpu : *gpus) {
    const Result<std::unique_ptr<LeaseFolder::Hold>> hold = leases.Take(gpu);
    if (!hold) {
      swept.push_back({hold.error().message, false});
    } else if (*hold == nullptr) {
      // Its guardian has it and resets it when the time comes.
      const Result<std::optional<ClockLease>> lease = leases.Read(gpu);
      if (lease && *lease) {
        swept.push_back({Describe(**lease) + " is held by process " +
                             std::to_string((*lease)->pid) + ": left as it is",
                         true});
      }
    } else if (std::optional<Swept> one = SweepHeld(leases, machine, source, timer, gpu)) {
      swept.push_back(*std::move(one));
    }
  }
  return swept;
}

}  // namespace pawl
