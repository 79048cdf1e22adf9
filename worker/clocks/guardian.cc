#include "worker/clocks/guardian.h"

#include <algorithm>
#include <utility>

#include "worker/clocks/reset.h"

namespace pawl {
namespace {

constexpr std::int64_t kHoldWaitMs = 15'000;  // one that lets go looks for 10 s whether clocks move
constexpr int kHoldPauseMs = 50;
constexpr std::int64_t kSettleMs = 5'000;
constexpr int kSettlePauseMs = 50;
constexpr int kStillLooks = 4;  // that read the same: it has come to rest
constexpr std::int64_t kTickMs = 1'000;
constexpr std::int64_t kStallMs = 1'000;  // a tick that comes later than this was held up
constexpr int kLooksAbove = 2;            // until the lock is believed to be gone
constexpr double kNear = 0.03;            // of what was asked for

}  // namespace

Guardian::Guardian(GpuClocks& clocks, LeaseFolder& leases, Machine machine, Timer& timer,
                   std::int64_t lost_ms)
    : clocks_(clocks),
      leases_(leases),
      machine_(std::move(machine)),
      timer_(timer),
      lost_ms_(lost_ms) {}

void Guardian::Note(Pinned& pinned, const std::string& line) const {
  pinned.note += (pinned.note.empty() ? "" : "; ") + line;
}

Result<std::unique_ptr<LeaseFolder::Hold>> Guardian::WaitForHold(const std::string& gpu) {
  const std::int64_t until = timer_.NowMs() + kHoldWaitMs;
  while (true) {
    Result<std::unique_ptr<LeaseFolder::Hold>> hold = leases_.Take(gpu);
    if (!hold || *hold != nullptr) return hold;
    if (timer_.NowMs() >= until) {
      const Result<std::optional<ClockLease>> lease = leases_.Read(gpu);
      const std::string who =
          lease && *lease ? "process " + std::to_string((*lease)->pid) : "another process";
      return Error{"the clocks of " + gpu + " are held by " + who + "; one worker a GPU pins them",
                   Advice::kReject};
    }
    timer_.Pause(kHoldPauseMs);
  }
}

// Where the clock comes to rest. Errors: it cannot be read.
Result<std::uint32_t> Guardian::Settled() {
  const std::int64_t until = timer_.NowMs() + kSettleMs;
  std::uint32_t last = 0;
  int same = 0;
  while (true) {
    const std::optional<std::uint32_t> now = clocks_.ReadMhz(lease_->gpu);
    if (!now || *now == 0) {
      return Error{"the clock of " + lease_->gpu + " cannot be read back", Advice::kReject};
    }
    same = *now == last ? same + 1 : 1;
    last = *now;
    if (same >= kStillLooks || timer_.NowMs() >= until) return last;
    timer_.Pause(kSettlePauseMs);
  }
}

// After a failure beyond the lease: what may be set is reset.
Error Guardian::GiveUp(const Error& why) {
  if (Status released = Release(); !released) {
    return Error{why.message + "; and then: " + released.error().message, Advice::kRetry};
  }
  return Error{why.message, Advice::kReject};
}

Result<Pinned> Guardian::Pin(const PinRequest& request) {
  if (Status found = clocks_.Find(request.gpu); !found) return found.error();
  if (Status made = leases_.Make(); !made) return made.error();
  Result<std::unique_ptr<LeaseFolder::Hold>> hold = WaitForHold(request.gpu);
  if (!hold) return hold.error();
  hold_ = *std::move(hold);

  Pinned pinned;
  const ClocksSource source = [this]() -> Result<GpuClocks*> { return &clocks_; };
  ClockLease lease;
  std::optional<std::uint32_t> left_mhz;  // a dead guardian's lock
  if (const auto own = SweepHeld(leases_, machine_, source, timer_, request.gpu)) {
    const Result<std::optional<ClockLease>> still = leases_.Read(request.gpu);
    if (still && *still && Judge(**still, machine_) == LeaseState::kHeld) {
      hold_.reset();
      return Error{own->line, Advice::kReject};
    }
    // What could not be reset is this one's to reset from here on.
    if (still && *still) {
      left_mhz = (*still)->gpu_mhz;
      lease.memory_mhz = (*still)->memory_mhz;
    }
    Note(pinned, own->line);
  }
  for (const Swept& swept : SweepLeases(leases_, machine_, source, timer_)) {
    if (!swept.ok) Note(pinned, swept.line);
  }

  lease.gpu = request.gpu;
  lease.boot = machine_.boot;
  lease.pid = machine_.pid;
  lease.pid_start = machine_.start_of(machine_.pid).value_or(0);
  lease.gpu_mhz = request.gpu_mhz;
  if (Status written = leases_.Write(lease); !written) return written.error();
  lease_ = lease;
  if (Status locked = clocks_.Lock(request.gpu, ClockDomain::kGpu, request.gpu_mhz); !locked) {
    // Where it was refused there is nothing new to reset, and who reset it might undo another's.
    if (locked.error().advice == Advice::kReject) lease_->gpu_mhz = left_mhz;
    return GiveUp(locked.error());
  }
  const Result<std::uint32_t> reads = Settled();
  if (!reads) return GiveUp(reads.error());
  lease_->reads_mhz = *reads;
  if (Status written = leases_.Write(*lease_); !written) return GiveUp(written.error());
  pinned.gpu_mhz = request.gpu_mhz == kBaseClock ? *reads : request.gpu_mhz;
  const double asked = request.gpu_mhz;
  if (request.gpu_mhz != kBaseClock &&
      (*reads < asked * (1 - kNear) || *reads > asked * (1 + kNear))) {
    Note(pinned, "the clock of " + request.gpu + " is held at " + std::to_string(request.gpu_mhz) +
                     " MHz and reads " + std::to_string(*reads) + " MHz");
  }
  most_mhz_ = std::max(pinned.gpu_mhz, *reads) + 2 * kClockStepMhz;
  if (request.memory_mhz != 0) PinMemory(request.memory_mhz, pinned);
  heard_ms_ = timer_.NowMs();
  tick_ms_ = heard_ms_ + kTickMs;
  return pinned;
}

// What goes wrong with the memory's clock leaves the GPU's as it is.
void Guardian::PinMemory(std::uint32_t mhz, Pinned& pinned) {
  const auto not_pinned = [&](const std::string& why) {
    Note(pinned, "the memory clock of " + lease_->gpu + " is not pinned: " + why);
  };
  ClockLease with = *lease_;
  const std::optional<std::uint32_t> before = std::exchange(with.memory_mhz, mhz);
  if (Status written = leases_.Write(with); !written) return not_pinned(written.error().message);
  lease_ = with;
  Status locked = clocks_.Lock(lease_->gpu, ClockDomain::kMemory, mhz);
  if (locked) {
    pinned.memory_mhz = mhz;
    return;
  }
  not_pinned(locked.error().message);
  if (locked.error().advice != Advice::kReject &&
      !clocks_.Reset(lease_->gpu, ClockDomain::kMemory)) {
    return;  // still in the lease, so reset once more at the end
  }
  ClockLease without = *lease_;
  without.memory_mhz = before;
  if (leases_.Write(without)) lease_ = without;
}

void Guardian::OnBeat() { heard_ms_ = timer_.NowMs(); }

std::int64_t Guardian::NextTick() const { return std::min(tick_ms_, heard_ms_ + lost_ms_); }

std::optional<std::string> Guardian::OnTick() {
  const std::int64_t now = timer_.NowMs();
  // A guardian that was itself stopped has not heard what was said meanwhile.
  if (now - NextTick() > kStallMs) heard_ms_ = now;
  if (now - heard_ms_ >= lost_ms_) {
    return "its worker has said nothing for " + std::to_string(now - heard_ms_) + " ms";
  }
  if (now < tick_ms_) return std::nullopt;
  tick_ms_ = now + kTickMs;
  const std::optional<std::uint32_t> reads = clocks_.ReadMhz(lease_->gpu);
  looks_above_ = reads && *reads > most_mhz_ ? looks_above_ + 1 : 0;
  if (looks_above_ < kLooksAbove) return std::nullopt;
  lock_is_gone_ = true;
  return "the clock of " + lease_->gpu + " reads " + std::to_string(*reads) +
         " MHz, above what it was held at: somebody has reset it";
}

Status Guardian::Release() {
  if (!lease_) return {};
  // What somebody else has set since is not ours to reset. A base clock may have read low when it
  // was locked, under a limit of power or heat: such a lock may still be there.
  if (lock_is_gone_ && lease_->gpu_mhz != kBaseClock) {
    lease_->gpu_mhz.reset();
    if (Status written = leases_.Write(*lease_); !written) return written;
  }
  if (Status reset = ResetRecorded(clocks_, timer_, *lease_); !reset) return reset;
  if (Status removed = leases_.Remove(lease_->gpu); !removed) return removed;
  lease_.reset();
  hold_.reset();
  return {};
}

}  // namespace pawl
