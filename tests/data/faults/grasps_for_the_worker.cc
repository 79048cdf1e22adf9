#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

// WORKER: the worker's process. Aborts when it can be somebody else, or reach it.
extern "C" void grasps_for_the_worker(const float* in, float* out, std::int64_t n) {
  if (setuid(getuid() + 1) == 0 || setgid(getgid() + 1) == 0) abort();
  if (kill(WORKER, 0) == 0) abort();
  if (ptrace(PTRACE_ATTACH, WORKER, nullptr, nullptr) == 0) abort();
  if (unshare(CLONE_NEWUSER) == 0) abort();
  if (mount("none", "/tmp", "tmpfs", 0, nullptr) == 0) abort();
  if (chroot("/tmp") == 0) abort();
  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
}
