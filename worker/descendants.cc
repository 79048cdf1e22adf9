#include "worker/descendants.h"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr int kPasses = 200;
constexpr int kPauseMs = 5;

struct Seen {
  char state = 0;
  pid_t parent = -1;
  pid_t session = -1;
};

// From /proc/PID/stat: "pid (any name) state ppid pgrp session ...".
std::optional<Seen> Look(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const std::size_t name_end = text.rfind(')');
  Seen seen;
  if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end + 1, " %c %d %*d %d",
                                                   &seen.state, &seen.parent, &seen.session) != 3) {
    return std::nullopt;
  }
  return seen;
}

std::vector<pid_t> NumbersIn(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return numbers;
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
      numbers.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
    }
  }
  ::closedir(entries);
  return numbers;
}

// Of all its threads.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const pid_t thread : NumbersIn(tasks)) {
    std::ifstream file(tasks + "/" + std::to_string(thread) + "/children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

// SIGKILL, if `wanted` holds of what the process is. True: it was sent.
template <typename Wanted>
bool KillIf(pid_t pid, const Wanted& wanted) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return false;
  const std::optional<Seen> seen = Look(pid);
  const bool sent = seen && seen->state != 'Z' && seen->state != 'X' && wanted(*seen) &&
                    ::syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0) == 0;
  ::close(process);
  return sent;
}

class Hunt {
 public:
  explicit Hunt(pid_t runner) : runner_(runner), own_session_(::getsid(0)) {}

  // One look at everything that has left the session; true: something was there.
  bool KillEscaped() const {
    bool found = false;
    for (const pid_t child : ChildrenOf(::getpid())) {
      if (child == runner_) continue;
      const std::optional<Seen> seen = Look(child);
      if (!seen || seen->session == own_session_) continue;
      // A child of ours keeps its number until we reap it.
      if (seen->state == 'Z') {
        ::waitpid(child, nullptr, WNOHANG);
        continue;
      }
      if (seen->session == runner_) continue;
      found = true;
      KillTree(child, true);
    }
    if (KillTree(runner_, false)) found = true;
    return found;
  }

  bool KillSession() const {
    bool found = false;
    for (const pid_t pid : NumbersIn("/proc")) {
      if (pid == runner_) continue;
      if (KillIf(pid, [this](const Seen& seen) { return seen.session == runner_; })) found = true;
    }
    return found;
  }

 private:
  // Children first: once their parent is gone they are ours, and found at the next look.
  bool KillTree(pid_t root, bool itself) const {
    bool found = false;
    for (const pid_t child : ChildrenOf(root)) {
      if (child != runner_ && KillTree(child, true)) found = true;
    }
    const auto outside = [this](const Seen& seen) {
      return seen.session != runner_ && seen.session != own_session_;
    };
    return (itself && KillIf(root, outside)) || found;
  }

  const pid_t runner_;
  const pid_t own_session_;
};

}  // namespace

void AdoptOrphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool EndEscaped(pid_t runner) {
  const Hunt hunt(runner);
  for (int pass = 0; pass < kPasses; ++pass) {
    if (!hunt.KillEscaped()) return true;
    ::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

bool EndAllOf(pid_t runner) {
  const Hunt hunt(runner);
  for (int pass = 0; pass < kPasses; ++pass) {
    const bool session = hunt.KillSession();
    const bool escaped = hunt.KillEscaped();
    if (!session && !escaped) return true;
    ::poll(nullptr, 0, kPauseMs);
  }
  return false;
}

}  // namespace pawl
