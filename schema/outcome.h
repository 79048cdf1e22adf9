#pragma once
// Verdicts and their reasons: a closed list, the same in the ledger, in messages and in --json.

#include <cstdint>
#include <string_view>

namespace pawl {

enum class Verdict : std::uint8_t {
  kKeep,    // better: becomes the incumbent
  kReject,  // the candidate's fault
  kVoid,    // nobody's fault
};

// IF YOU ADD A VALUE: append it here, in order.capnp's and ledger.capnp's users, and in Name().
enum class Reason : std::uint8_t {
  kFaster = 0,  // keep
  // reject
  kGeometry = 1,     // a constraint is violated and no repair helps
  kBuild = 2,        // the compiler refused it
  kLaunch = 3,       // built, but could not be loaded or launched
  kCrashed = 4,      // the runner died, twice
  kHung = 5,         // past its deadline, twice
  kWrongOutput = 6,  // an output differs, was left unwritten, or memory that is not its own changed
  kNotFaster = 7,
  // void
  kControlDrift = 8,  // the committed kernel's time moved more than the policy allows
  kThrottled = 9,
  kDeviceFault = 10,
  kWorkerLost = 11,
  kSuperseded = 12,  // measured against an incumbent that has been replaced since
  kNoData = 13,      // a replay holds no record of it
};
inline constexpr std::uint8_t kReasonCount = 14;

std::string_view Name(Verdict verdict);  // "keep", "reject", "void"
std::string_view Name(Reason reason);    // "faster", "geometry", "build", ... "no_data"
Verdict VerdictOf(Reason reason);

}  // namespace pawl
