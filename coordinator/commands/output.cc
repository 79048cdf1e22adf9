#include "coordinator/commands/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "coordinator/commands/command.h"

namespace pawl {

void HoldStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. Read only: what is written to it is refused.
    if (::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) != stream) ::_exit(3);
  }
  std::signal(SIGPIPE, SIG_DFL);
}

int FlushOutput(int code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int cause = errno;
  if (flushed && std::ferror(stdout) == 0) return code;
  if (code != kExitDone && code != kExitWrong) return code;  // it has said its line already
  return Fail(std::string("cannot write the output") +
              (cause == 0 ? "" : std::string(": ") + std::strerror(cause)));
}

}  // namespace pawl
