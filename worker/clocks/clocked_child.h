#pragma once
// A runner whose GPU's clocks are held as the worker's options say, from the first start on. Beside
// a Child, so that the agent knows nothing of clocks but what DeviceFacts say.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "worker/child.h"
#include "worker/clocks/keeper.h"

namespace pawl {

enum class ClockMode {
  kObserve,        // nothing is set
  kPin,            // pinned where it can be; else observed, which is said once
  kRequirePinned,  // pinned, or no work at all
};
std::string_view Name(ClockMode mode);  // "require-pinned"
std::optional<ClockMode> ParseClockMode(std::string_view name);

class ClockedChild final : public Child {
 public:
  // `say`: for the worker's log, each thing once.
  ClockedChild(Child& child, ClockKeeper& keeper, ClockMode mode,
               std::function<void(const std::string&)> say);

  // The device's facts with what its clocks are pinned at. Errors: the child's; clocks that must be
  // pinned and cannot be; clocks that were pinned and cannot be again.
  Result<DeviceFacts> Start() override;
  bool Running() const override { return child_.Running(); }
  Status Send(const Order& order) override { return child_.Send(order); }
  void Hint(const pawl::Prepare& hint) override { child_.Hint(hint); }
  int fd() const override { return child_.fd(); }
  std::optional<ChildEvent> Next() override { return child_.Next(); }
  void Kill() override { child_.Kill(); }

 private:
  Child& child_;
  ClockKeeper& keeper_;
  const ClockMode mode_;
  const std::function<void(const std::string&)> say_;
  std::uint16_t pinned_mhz_ = 0;  // 0: not pinned so far
  int pins_ = 0;                  // that succeeded
  bool observes_ = false;         // it has been said why
};

}  // namespace pawl
