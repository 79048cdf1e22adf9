#include "worker/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "worker/sandbox/calls.h"
#include "worker/sandbox/files.h"
#include "worker/sandbox/process_limit.h"

namespace pawl {
namespace {

constexpr int kMostProcessesLeft = 32;  // init, the runner, a compiler and its parts are a few
constexpr int kLost = 3;                // exit code of one whose other side is gone
constexpr std::pair<SandboxMode, std::string_view> kModes[] = {
    {SandboxMode::kAuto, "auto"}, {SandboxMode::kRequire, "require"}, {SandboxMode::kOff, "off"}};

// A clone past the C library would leave the thread sanitizer's own thread behind.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMayClone = false;
#else
constexpr bool kMayClone = true;
#endif

std::string Why(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

// What the keeper hears from init.
struct Word {
  enum Kind : int { kBegun, kFilesFailed, kEnded } kind = kBegun;
  int wait_status = 0;  // kEnded: the runner's
  char why[500] = {};   // kFilesFailed
};

// What init hears before it begins.
struct Start {
  char processes[500] = {};  // why there is no limit on them; empty: there is one
  char files[500] = {};      // why files are to be left as they are; empty: they are to be closed
};

void Put(char (&into)[500], const std::string& text) {
  std::snprintf(into, sizeof into, "%s", text.c_str());
}

template <typename Value>
bool WriteWhole(int fd, const Value& value) {
  ssize_t size = 0;
  do {
    size = ::write(fd, &value, sizeof value);
  } while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof value);  // shorter than what a pipe takes in one piece
}

template <typename Value>
bool ReadWhole(int fd, Value& value) {
  ssize_t size = 0;
  do {
    size = ::read(fd, &value, sizeof value);
  } while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof value);
}

std::string WriteTo(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Why(path.c_str());
  const ssize_t written = ::write(fd, text.data(), text.size());
  const std::string why = Why(path.c_str());
  ::close(fd);
  return written == static_cast<ssize_t>(text.size()) ? std::string() : why;
}

// In its user namespace everybody is who they are outside. Why not; empty: done.
std::string MapUsers(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/";
  const auto same = [](unsigned id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  WriteTo(folder + "setgroups", "deny");
  std::string why = WriteTo(folder + "uid_map", same(::geteuid()));
  if (why.empty()) why = WriteTo(folder + "gid_map", same(::getegid()));
  return why;
}

int ProcessesInside() {
  int count = 0;
  DIR* const entries = ::opendir("/proc");
  if (entries == nullptr) return count;
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') ++count;
  }
  ::closedir(entries);
  return count;
}

bool MayMakeNamespaces() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct ours[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capget, &header, ours) == 0 &&
         (ours[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

// Since 5.14 a user namespace counts its own processes, so that a limit in it says nothing of
// others.
bool NamespacesCountProcesses() {
  utsname name{};
  int major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 5 || (major == 5 && minor >= 14));
}

// Everything but the process numbers. In the process that becomes the runner's parent, or the
// runner.
SandboxReport Close(const SandboxRequest& request, const Start& start, bool own_numbers,
                    bool own_users) {
  SandboxReport report;
  const auto unshare = [&report](const char* name, int what) {
    const bool done = ::unshare(what) == 0;
    report.parts.push_back({name, done ? "" : Why("unshare")});
    return done;
  };
  unshare("network", CLONE_NEWNET);
  unshare("ipc", CLONE_NEWIPC);
  std::string no_mounts = start.files;
  if (no_mounts.empty() && ::unshare(CLONE_NEWNS) != 0) no_mounts = Why("unshare");
  if (no_mounts.empty()) {
    CloseFiles(request, own_numbers, report);
  } else {
    report.parts.push_back({"files", no_mounts});
    report.parts.push_back({"proc", "files are not closed"});
  }
  std::string processes = start.processes;
  if (!processes.empty() && own_users && ::geteuid() != 0 && NamespacesCountProcesses()) {
    const rlimit limit{request.processes, request.processes};
    processes = ::setrlimit(RLIMIT_NPROC, &limit) == 0 ? "" : Why("setrlimit");
  }
  report.parts.push_back({"processes", processes});
  report.parts.push_back({"privileges", DropPrivileges()});
  report.parts.push_back({"calls", FilterCalls(request.gpu)});
  return report;
}

// Process 1 inside, where process numbers are its own. Returns in the runner.
SandboxReport BecomeInit(const SandboxRequest& request, int from_keeper, int to_keeper,
                         int namespaces) {
  const bool own_numbers = (namespaces & CLONE_NEWPID) != 0;
  const bool own_users = (namespaces & CLONE_NEWUSER) != 0;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Start start;
  if (!ReadWhole(from_keeper, start)) ::_exit(kLost);
  ::close(from_keeper);
  // A keeper that ended before it was asked for its death has closed its end.
  pollfd keeper{to_keeper, 0, 0};
  if (::poll(&keeper, 1, 0) != 0) ::_exit(kLost);

  SandboxReport report = Close(request, start, own_numbers, own_users);
  for (const SandboxPart& part : report.parts) {
    if (part.name != "files" || part.missing.empty() || start.files[0] != '\0') continue;
    // Half closed: to be begun again without that.
    Word word{Word::kFilesFailed, 0, {}};
    Put(word.why, part.missing);
    WriteWhole(to_keeper, word);
    ::_exit(kLost);
  }
  if (own_numbers) report.parts.insert(report.parts.begin(), {"numbers", ""});
  for (const SandboxPart& part : report.parts) {
    if (part.name == "proc") report.own_numbers = own_numbers && part.missing.empty();
  }

  WriteWhole(to_keeper, Word{Word::kBegun, 0, {}});
  const pid_t runner = ::fork();
  if (runner < 0) ::_exit(kLost);
  if (runner == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::poll(&keeper, 1, 0) != 0) ::_exit(kLost);
    ::close(to_keeper);
    return report;
  }
  ::close(request.socket);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) ::_exit(kLost);
    if (ended != runner) continue;
    WriteWhole(to_keeper, Word{Word::kEnded, status, {}});
    ::_exit(0);
  }
}

// Ends as the runner did.
[[noreturn]] void EndAs(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::kill(::getpid(), number);
    ::_exit(128 + number);
  }
  ::_exit(WEXITSTATUS(wait_status));
}

struct Try {
  std::string failed;                 // why there was no init
  std::string files;                  // why files could not be closed
  std::optional<SandboxReport> in{};  // set in the runner
};

// Makes an init and waits for its end; returns in the runner, or when there was none.
Try TryWith(const SandboxRequest& request, int namespaces, const std::string& files) {
  Try tried;
  int to_init[2], from_init[2];
  if (::pipe2(to_init, O_CLOEXEC) != 0) return {Why("pipe"), "", {}};
  if (::pipe2(from_init, O_CLOEXEC) != 0) {
    ::close(to_init[0]);
    ::close(to_init[1]);
    return {Why("pipe"), "", {}};
  }
  ProcessLimit limit("/sys/fs/cgroup", request.processes);
  // As fork does, in namespaces of its own. It stays outside itself, so it writes the maps of
  // users.
  const long init = ::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (init == 0) {
    ::close(to_init[1]);
    ::close(from_init[0]);
    limit.Disown();
    tried.in = BecomeInit(request, to_init[0], from_init[1], namespaces);
    return tried;
  }
  const int cloned = errno;
  ::close(to_init[0]);
  ::close(from_init[1]);
  if (init > 0 && (namespaces & CLONE_NEWUSER) != 0)
    tried.failed = MapUsers(static_cast<pid_t>(init));
  if (init < 0) {
    tried.failed = cloned == ENOSPC ? "clone: user.max_*_namespaces allows no more"
                                    : std::string("clone: ") + std::strerror(cloned);
  }
  Word word;
  bool ended = false;
  if (tried.failed.empty()) {
    limit.Take(static_cast<pid_t>(init));
    Start start;
    Put(start.processes, limit.Problem());
    Put(start.files, files);
    WriteWhole(to_init[1], start);
    ended = ReadWhole(from_init[0], word);
    if (ended && word.kind == Word::kBegun) {
      // What a runner holds open is open for as long as it lives, and no longer.
      ::close(request.socket);
      ended = ReadWhole(from_init[0], word);
    }
  }
  ::close(to_init[1]);
  ::close(from_init[0]);
  int status = 0;
  while (init > 0 && ::waitpid(static_cast<pid_t>(init), &status, 0) < 0 && errno == EINTR) {
  }
  limit.Remove();
  if (!tried.failed.empty()) return tried;
  if (ended && word.kind == Word::kFilesFailed) {
    tried.files = word.why;
    return tried;
  }
  EndAs(ended ? word.wait_status : status);
}

}  // namespace

std::string_view Name(SandboxMode mode) {
  for (const auto& [known, name] : kModes) {
    if (known == mode) return name;
  }
  CHECK(false, static_cast<int>(mode));
}

std::optional<SandboxMode> ParseSandboxMode(std::string_view name) {
  for (const auto& [mode, known] : kModes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

bool SandboxReport::Whole() const { return Missing().empty(); }

std::string SandboxReport::Missing() const {
  std::string missing;
  for (const SandboxPart& part : parts) {
    if (part.missing.empty()) continue;
    missing += (missing.empty() ? "" : "; ") + part.name + " (" + part.missing + ")";
  }
  return missing;
}

std::string SandboxReport::Line() const {
  std::string on;
  for (const SandboxPart& part : parts) {
    if (part.missing.empty()) on += (on.empty() ? "" : ",") + part.name;
  }
  const std::string missing = Missing();
  std::string line = "on=" + (on.empty() ? "nothing" : on);
  if (!missing.empty()) line += " missing=\"" + missing + "\"";
  return line;
}

SandboxReport EnterSandbox(const SandboxRequest& request) {
  std::string no_numbers = "not with the thread sanitizer";
  std::string files;
  const int numbers = request.gpu ? 0 : CLONE_NEWPID;
  // Who may make namespaces without one of users does; others need that first.
  for (const int users : {0, CLONE_NEWUSER}) {
    if (!kMayClone) break;
    if (users == 0 && !MayMakeNamespaces()) continue;
    const int namespaces = numbers | users;
    for (files.clear();;) {
      Try tried = TryWith(request, namespaces, files);
      if (tried.in) return *std::move(tried.in);
      no_numbers = tried.failed;
      if (!tried.failed.empty()) break;
      files = tried.files.empty() ? "init failed" : tried.files;
    }
  }
  Start start;
  Put(start.processes, "no process numbers of its own");
  Put(start.files, "no process numbers of its own");
  SandboxReport report = Close(request, start, false, false);
  report.parts.insert(report.parts.begin(), {"numbers", no_numbers});
  return report;
}

bool IsWorn(const SandboxReport& report) {
  for (const std::string& disk : report.disks) {
    struct statvfs info {};
    if (::statvfs(disk.c_str(), &info) == 0 && info.f_bfree < info.f_blocks / 2) return true;
  }
  return report.own_numbers && ProcessesInside() > kMostProcessesLeft;
}

}  // namespace pawl
