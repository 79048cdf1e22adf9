#pragma once
// The sandbox of a runner: what a kernel that is run as a function of this process may not reach.
//
//   worker            outside
//    └ keeper         outside; the process that the worker started; dies with it
//       └ init        number 1 of a namespace of process numbers
//          └ runner   goes on with the device
//
// 1. When the runner ends, init ends with it, and with init everything that was ever started inside
//    (the kernel does that). The keeper then ends as the runner did, by the same signal or exit
//    code.
// 2. When the keeper ends, for whatever reason, init does: nothing inside outlives the worker.
// 3. Parts that the kernel does not allow are left out, and the report says which and why.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace pawl {

enum class SandboxMode : std::uint8_t { kAuto, kRequire, kOff };
std::string_view Name(SandboxMode mode);
std::optional<SandboxMode> ParseSandboxMode(std::string_view name);

// One thing that holds inside, or why it does not.
struct SandboxPart {
  std::string name;     // "network", "files", ...
  std::string missing;  // why it does not hold; empty: it does

  bool operator==(const SandboxPart&) const = default;
};

struct SandboxReport {
  std::vector<SandboxPart> parts;
  std::vector<std::string> disks;  // folders that are private to the runner, of limited size
  bool own_numbers = false;        // what /proc lists is inside

  bool Whole() const;
  // One line: "on=network,files missing=\"processes: ...\"".
  std::string Line() const;
  // The parts that are missing and why, for people.
  std::string Missing() const;
};

struct SandboxRequest {
  int socket = -1;                   // to the worker: only the runner keeps it
  std::string scratch;               // gets a private disk in its place; may be empty
  std::vector<std::string> written;  // folders that stay writable, as they are outside
  std::vector<std::string> shown;  // paths that stay visible where a private folder would hide them
  std::vector<std::string> hidden;  // folders that are seen empty
  std::uint64_t disk_bytes = 0;     // of each private disk
  std::uint32_t processes = 0;      // and threads, at most
  // A GPU's driver speaks to a daemon over a socket file, and tells whose processes are on it by
  // their numbers outside: process numbers stay as they are. Its kernels cannot start processes.
  bool gpu = false;
};

// Returns in the process that goes on as the runner; keeper and init never return. For a process
// with one thread.
SandboxReport EnterSandbox(const SandboxRequest& request);

// Asked by the runner: one of its disks is more than half full, or more processes are left in it
// than compilers are. It should be replaced.
bool IsWorn(const SandboxReport& report);

}  // namespace pawl
