#include "worker/device/host/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace pawl {
namespace {

constexpr std::size_t kMaxOutputBytes = 64 << 10;
constexpr rlim_t kMaxCpuSeconds = 900;  // a compiler that outlives its runner ends by itself

std::vector<std::string> EnvironmentFor(const std::string& folder) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.rfind("LC_ALL=", 0) == 0 || text.rfind("TMPDIR=", 0) == 0) continue;
    variables.emplace_back(text);
  }
  variables.emplace_back("LC_ALL=C");
  variables.emplace_back("TMPDIR=" + folder);
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void ProcessHold::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  if (group_ > 0) ::kill(-group_, SIGSTOP);
}

void ProcessHold::Continue() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = false;
  if (group_ > 0) ::kill(-group_, SIGCONT);
}

void ProcessHold::Started(pid_t group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  group_ = group;
  if (stopped_) ::kill(-group_, SIGSTOP);
}

void ProcessHold::Ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  group_ = -1;
}

Result<Finished> RunProgram(const std::vector<std::string>& argv, const std::string& folder,
                            ProcessHold* hold) {
  CHECK(!argv.empty());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{argv[0] + ": no pipe for its output: " + std::strerror(errno), Advice::kRetry};
  }
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables = EnvironmentFor(folder);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> variable_pointers = Pointers(variables);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int spawned = ::posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                     argument_pointers.data(), variable_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (spawned != 0) {
    ::close(ends[0]);
    return Error{argv[0] + ": cannot be started: " + std::strerror(spawned), Advice::kReject};
  }
  const rlimit cpu{kMaxCpuSeconds, kMaxCpuSeconds};
  ::prlimit(pid, RLIMIT_CPU, &cpu, nullptr);
  if (hold != nullptr) hold->Started(pid);

  Finished finished;
  char bytes[4096];
  for (;;) {
    const ssize_t size = ::read(ends[0], bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    const std::size_t room = kMaxOutputBytes - finished.output.size();
    finished.output.append(bytes, std::min(room, static_cast<std::size_t>(size)));
  }
  ::close(ends[0]);
  // Its number must not be free for reuse while another thread may still signal it: reaped only
  // after Ended.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  if (hold != nullptr) hold->Ended();
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(wait_status)) {
    finished.signal = WTERMSIG(wait_status);
  } else {
    finished.exit_code = WEXITSTATUS(wait_status);
  }
  return finished;
}

}  // namespace pawl
