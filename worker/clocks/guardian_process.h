#pragma once
// The guardian's process: `pawl-worker --clock-guardian ...`, which a worker starts; nobody types
// that. It is of the worker's session and of a process group of its own, so that what ends the
// worker does not end it.
//
// Over a socket of whole messages (SOCK_SEQPACKET):
//   guardian -> worker   "pinned GPU_MHZ MEMORY_MHZ NOTE"  or  "refused WHY", once; "ending WHY",
//   when
//                        it lets go; then it closes
//   worker -> guardian   "beat", every few seconds; "end", or nothing any more (the end of the
//   file):
//                        let go
// SIGTERM, SIGINT and SIGHUP: let go. Letting go is resetting (worker/clocks/guardian.h).

#include <optional>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/clocks/guardian.h"

namespace pawl {

// What a guardian is told on its command line.
struct GuardianCommand {
  int fd = -1;  // the socket to the worker
  PinRequest request;
  std::string leases;        // folder
  std::int64_t lost_ms = 0;  // how long the worker may be silent

  bool operator==(const GuardianCommand&) const = default;
};

// The arguments after argv[0] that start a guardian, and back. Parse: nullopt when this is not a
// guardian's command line (argv[1] is not "--clock-guardian"); an error names the argument that
// makes no sense.
std::vector<std::string> GuardianArguments(const GuardianCommand& command);
std::optional<Result<GuardianCommand>> ParseGuardianArguments(int argc, const char* const* argv);

// The exit code of the process: 0, or 3 when something is not reset, which is said in a line on
// stderr.
int GuardianMain(const GuardianCommand& command);

// `pawl-worker --reset-clocks`: resets what dead guardians have left, a line each on stdout. 0, or
// 3 when something is not reset.
int ResetClocksMain(const std::string& leases);

// For the listing of a GPU: who holds its clocks, or has left them held; empty: nobody.
std::string WhoHolds(const std::string& leases, const std::string& gpu);

}  // namespace pawl
