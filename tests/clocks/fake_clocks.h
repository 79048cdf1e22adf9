#pragma once
// GPUs' clocks and time as a test wants them, over a real folder of leases.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/clocks/gpu_clocks.h"
#include "worker/clocks/lease_folder.h"

namespace pawl {

// Thrown where a guardian is to die.
struct Killed {};

class FakeTimer final : public Timer {
 public:
  std::int64_t NowMs() override { return now; }
  void Pause(int ms) override { now += ms; }
  std::int64_t now = 1'000'000;
};

class FakeClocks final : public GpuClocks {
 public:
  static constexpr std::uint32_t kBaseMhz = 1'095, kIdleMhz = 345;

  Status Find(const std::string& gpu) override {
    Do("find " + gpu);
    After();
    return known ? Status() : Status(Error{"no GPU " + gpu});
  }
  Status Lock(const std::string& gpu, ClockDomain domain, std::uint32_t mhz) override {
    Do("lock " + Text(domain) + " " + gpu + " " + std::to_string(mhz));
    const auto planned = lock_fails.find(domain);
    // A call that failed may have come half way.
    if (planned == lock_fails.end() || planned->second.advice == Advice::kRetry) {
      locked[{gpu, domain}] = mhz == 0 ? kBaseMhz : mhz;
      before[gpu] = domain == ClockDomain::kGpu ? locked[{gpu, domain}] : before[gpu];
    }
    After();
    return planned == lock_fails.end() ? Status() : Status(planned->second);
  }
  Status Reset(const std::string& gpu, ClockDomain domain) override {
    Do("reset " + Text(domain) + " " + gpu);
    if (resets_to_fail > 0) {
      --resets_to_fail;
      return Error{"it is busy", Advice::kRetry};
    }
    locked.erase({gpu, domain});
    After();
    return {};
  }
  std::optional<std::uint32_t> ReadMhz(const std::string& gpu) override {
    Count();
    if (!readable) return std::nullopt;
    const auto found = locked.find({gpu, ClockDomain::kGpu});
    if (found != locked.end()) {
      return limit_mhz == 0 ? found->second : std::min(found->second, limit_mhz);
    }
    return stuck && before.contains(gpu) ? before[gpu] : unlocked_mhz;
  }

  // Those that set something, and finds.
  std::vector<std::string> Take() { return std::exchange(acts, {}); }

  std::map<std::pair<std::string, ClockDomain>, std::uint32_t> locked;
  std::map<std::string, std::uint32_t> before;  // what the GPU's clock was last locked at
  std::map<ClockDomain, Error> lock_fails;
  bool known = true, readable = true, stuck = false;
  int resets_to_fail = 0;
  std::uint32_t unlocked_mhz = kIdleMhz;
  std::uint32_t limit_mhz = 0;  // of power or heat, above any lock; 0: none
  std::function<void(const std::string&)> on_act;
  int calls = 0;   // and points after what is set
  int die_at = 0;  // the number of a call; 0: never
  std::vector<std::string> acts;

 private:
  static std::string Text(ClockDomain domain) {
    return domain == ClockDomain::kGpu ? "gpu" : "memory";
  }
  void Count() {
    if (++calls == die_at) throw Killed();
  }
  void Do(const std::string& act) {
    Count();
    acts.push_back(act);
    if (on_act) on_act(act);
  }
  void After() { Count(); }
};

// A machine whose processes are the numbers in `alive`, with their starts.
struct FakeMachine {
  std::map<pid_t, std::uint64_t> alive;
  std::string boot = "boot-1";

  Machine As(pid_t pid) {
    return {boot, pid, [this](pid_t asked) -> std::optional<std::uint64_t> {
              const auto found = alive.find(asked);
              return found == alive.end() ? std::nullopt : std::optional(found->second);
            }};
  }
};

}  // namespace pawl
