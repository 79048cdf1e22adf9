#pragma once
// A program that is spoken to in lines: in a process group of its own, with deadlines, killed with
// its group. It may hang, die, or write without end; whoever speaks to it may not. Who speaks to it
// may be killed: the group ends with it all the same.
//
//   this process ── alive ──> keeper      a fork of ours, in the program's group: while it is there
//        │                      │         the group's number is nobody else's
//        └── lines ──> program ─┘         `alive` closed, however: the keeper kills the group

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/result.h"

namespace pawl {

struct LineCommand {
  std::vector<std::string> arguments;  // the program first, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours
  std::string log;                                               // file for its stderr
  std::size_t most_line = 1 << 20;                               // bytes
};

class LineProcess {
 public:
  // Called about every 200 ms while something is waited for; false: do not wait any longer.
  using Idle = std::function<bool()>;

  // Errors: it cannot be executed.
  static Result<std::unique_ptr<LineProcess>> Start(const LineCommand& command);
  ~LineProcess();  // SIGKILL to the group, reaped
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // Sends `request` and waits for a line. Errors, each with what was seen: no answer by the
  // deadline, the process ended (how, and the last line of its log; also where something that it
  // has started holds its output), a line longer than allowed, more than one line. `interrupted()`
  // where `idle` said so.
  Result<std::string> Ask(const std::string& request, std::int64_t deadline_ms, const Idle& idle);
  bool interrupted() const { return interrupted_; }

  // Sends a last line and gives it a moment to end by itself.
  void Quit(const std::string& request, std::int64_t deadline_ms);

 private:
  enum class Waited { kReady, kLate, kStopped, kEnded };

  LineProcess(pid_t pid, pid_t keeper, int alive, int to, int from, LineCommand command);
  Waited WaitFor(int fd, short events, std::int64_t until_ms, const Idle& idle);
  Status Send(const std::string& request, std::int64_t deadline_ms, std::int64_t until_ms,
              const Idle& idle);
  Error NotReady(Waited waited, std::int64_t deadline_ms);
  Error Ended() const;
  std::optional<siginfo_t> WaitForEnd(std::int64_t until_ms) const;

  const pid_t pid_;
  const pid_t keeper_;
  const int alive_;
  const LineCommand command_;
  int to_;
  const int from_;
  std::string buffered_;
  std::int64_t idle_at_ms_ = 0;  // when the caller's turn is next
  bool interrupted_ = false;
};

}  // namespace pawl
