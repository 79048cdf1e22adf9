#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

// FILES: paths that it tries to write, which may be on a disk of its own: who runs it looks whether
// they are there. HIDDEN: one that it tries to read. Aborts when it can read that, or change the
// system; its own disk it must be able to write.
extern "C" void writes_elsewhere(const float* in, float* out, std::int64_t n) {
  mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr);
  for (const char* const path : {FILES}) {
    const int fd = open(path, O_WRONLY | O_CREAT, 0644);
    if (fd >= 0) close(fd);
  }
  if (open(HIDDEN, O_RDONLY) >= 0) abort();
  for (const char* const path : {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"}) {
    if (open(path, O_WRONLY) >= 0) abort();
  }
  const int own = open("/tmp/mine", O_WRONLY | O_CREAT, 0644);
  if (own < 0 || write(own, "x", 1) != 1) abort();
  close(own);
  const int comm = open("/proc/self/task/2/comm", O_WRONLY);
  if (comm < 0 || write(comm, "kernel", 6) != 6) abort();
  close(comm);
  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
}
