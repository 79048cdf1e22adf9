#pragma once
// Worker processes that `pawl run` starts for itself: one a slot, started again when one dies.
// One that keeps dying at once is given up, so that nobody waits for it for ever.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

struct WorkerCommand {
  std::string program;  // pawl-worker
  std::string endpoint;
  std::string device;  // as OpenDevice takes it
  std::uint32_t slot = 0;
  std::string state;                   // folder
  std::string log;                     // file for its stderr
  std::vector<std::string> options{};  // more of pawl-worker's
};

class WorkerProcess {
 public:
  explicit WorkerProcess(WorkerCommand command);
  ~WorkerProcess();  // SIGTERM, then SIGKILL after a second
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const WorkerCommand& command() const { return command_; }
  Status Start();
  bool Running() const { return pid_ > 0; }
  // Reaps it when it has ended, however it did, and starts it again after a pause that doubles from
  // 0.2 s to 5 s. An error, and no further start: a worker that refuses its work (exit 2, 3 or 4),
  // with its last line; one that has lived for less than 10 s five times in a row.
  Status Tend(std::int64_t now_ms);
  void Terminate();  // SIGTERM: finish or release, then leave; not started again
  // Whether it will not be started again.
  bool Ended() const { return ended_; }

 private:
  bool Reap();  // true when it has just ended; how in exit_code_ or signal_
  std::string HowItEnded() const;

  WorkerCommand command_;
  pid_t pid_ = -1;
  int exit_code_ = 0;
  int signal_ = 0;
  bool leaving_ = false;
  bool ended_ = false;
  std::int64_t started_ms_ = 0;
  std::int64_t restart_at_ms_ = -1;
  std::int64_t pause_ms_ = 200;
  int short_lives_ = 0;  // in a row
};

// One line of `pawl-worker --list-devices --json` each. `peaks`: the host's are measured
// (worker/device.h).
struct ListedDevice {
  std::string name;
  std::string kind;
  std::string model;
  std::string backend;
  std::string json;                // the line itself
  std::string problem;             // empty: usable
  DeviceFacts facts;               // as far as the line says them
  std::uint64_t memory_bytes = 0;  // of this machine, that a worker's runner may take; 0: no limit
};
Result<std::vector<ListedDevice>> ListWorkerDevices(const std::string& program, bool peaks = false);

// pawl-worker beside this program.
std::string WorkerProgram();
// The same. Errors: it is not there or cannot be run.
Result<std::string> RunnableWorker();

}  // namespace pawl
