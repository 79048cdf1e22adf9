#include "worker/clocks/clocked_child.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pawl {
namespace {

constexpr int kMostPins = 6;  // of one worker: somebody else wants other clocks
constexpr std::uint32_t kSameMhz = 30;

}  // namespace

std::string_view Name(ClockMode mode) {
  switch (mode) {
    case ClockMode::kObserve:
      return "observe";
    case ClockMode::kPin:
      return "pin";
    case ClockMode::kRequirePinned:
      return "require-pinned";
  }
  CHECK(false, static_cast<int>(mode));
}

std::optional<ClockMode> ParseClockMode(std::string_view name) {
  for (const ClockMode mode : {ClockMode::kObserve, ClockMode::kPin, ClockMode::kRequirePinned}) {
    if (Name(mode) == name) return mode;
  }
  return std::nullopt;
}

ClockedChild::ClockedChild(Child& child, ClockKeeper& keeper, ClockMode mode,
                           std::function<void(const std::string&)> say)
    : child_(child), keeper_(keeper), mode_(mode), say_(std::move(say)) {}

Result<DeviceFacts> ClockedChild::Start() {
  Result<DeviceFacts> facts = child_.Start();
  if (!facts || mode_ == ClockMode::kObserve || observes_) return facts;
  if (keeper_.Holding()) {
    facts->pinned_mhz = pinned_mhz_;
    return facts;
  }
  const auto refuse = [&](const std::string& why) {
    child_.Kill();
    return Error{why, Advice::kReject};
  };
  const auto observe = [&](const std::string& why) -> Result<DeviceFacts> {
    if (mode_ == ClockMode::kRequirePinned) {
      return refuse("the clocks must be pinned (clocks = require-pinned): " + why);
    }
    observes_ = true;
    say_("event=clocks_observed why=\"" + why + "\"");
    return facts;
  };
  // What runs nothing has no clocks of its own.
  if (!facts->needs_source) return facts;
  if (facts->kind != "cuda") {
    return observe("device " + facts->kind + " has no clocks that pawl can pin");
  }
  // Reports before and after would be of different things.
  const auto not_again = [&](const std::string& why) {
    return refuse("the clocks were pinned at " + std::to_string(pinned_mhz_) +
                  " MHz and cannot be again: " + why);
  };
  if (pins_ == kMostPins) return not_again("they were lost " + std::to_string(pins_) + " times");
  Result<Pinned> pinned = keeper_.Pin(facts->uuid);
  // A guardian that was killed before it answered may have left the clocks locked: the next one
  // finds its lease.
  if (!pinned && pinned.error().advice == Advice::kRetry) pinned = keeper_.Pin(facts->uuid);
  if (!pinned) {
    return pinned_mhz_ != 0 ? not_again(pinned.error().message) : observe(pinned.error().message);
  }
  ++pins_;
  if (pinned_mhz_ == 0) {
    pinned_mhz_ = static_cast<std::uint16_t>(
        std::min<std::uint32_t>(pinned->gpu_mhz, std::numeric_limits<std::uint16_t>::max()));
  } else if (pinned->gpu_mhz + kSameMhz < pinned_mhz_ || pinned->gpu_mhz > pinned_mhz_ + kSameMhz) {
    keeper_.Release();
    return not_again("it now is " + std::to_string(pinned->gpu_mhz) + " MHz");
  }
  say_("event=clocks_pinned gpu=" + facts->uuid + " mhz=" + std::to_string(pinned->gpu_mhz) +
       (pinned->memory_mhz != 0 ? " memory_mhz=" + std::to_string(pinned->memory_mhz) : "") +
       (pinned->note.empty() ? "" : " note=\"" + pinned->note + "\""));
  facts->pinned_mhz = pinned_mhz_;
  return facts;
}

}  // namespace pawl
