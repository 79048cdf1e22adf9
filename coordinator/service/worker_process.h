#pragma once
// Worker processes that `pawl run` starts for itself: one a slot, started again when one dies.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schema/result.h"

namespace pawl {

struct WorkerCommand {
  std::string program;  // pawl-worker
  std::string endpoint;
  std::string device;  // as OpenDevice takes it
  std::uint32_t slot = 0;
  std::string state;  // folder
  std::string log;    // file for its stderr
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
  // Reaps it when it has ended and starts it again after a pause that doubles from 0.2 s to 5 s. A
  // worker that refuses its work (exit 3 or 4) is not started again: an error with its last line.
  Status Tend(std::int64_t now_ms);
  void Terminate();  // SIGTERM: finish or release, then leave; not started again
  // Whether it ended on its own and will not be started again.
  bool Ended() const { return ended_; }

 private:
  bool Reap();  // true when it has just ended; how in exit_code_ or signal_

  WorkerCommand command_;
  pid_t pid_ = -1;
  int exit_code_ = 0;
  int signal_ = 0;
  bool leaving_ = false;
  bool ended_ = false;
  std::int64_t started_ms_ = 0;
  std::int64_t restart_at_ms_ = -1;
  std::int64_t pause_ms_ = 200;
};

// One line of `pawl-worker --list-devices --json` each.
struct ListedDevice {
  std::string name;
  std::string kind;
  std::string model;
  std::string backend;
  std::string json;     // the line itself
  std::string problem;  // empty: usable
};
Result<std::vector<ListedDevice>> ListWorkerDevices(const std::string& program);

// pawl-worker beside this program.
std::string WorkerProgram();

}  // namespace pawl
