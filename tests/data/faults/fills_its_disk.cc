#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

// Aborts when nobody stops it at 20 GiB.
extern "C" void fills_its_disk(const float* in, float* out, std::int64_t n) {
  static const bool filled = [] {
    const std::vector<char> block(1 << 20, 'x');
    const int fd = open("/tmp/filled", O_WRONLY | O_CREAT, 0644);
    for (int written = 0; write(fd, block.data(), block.size()) > 0; ++written) {
      if (written > 20 << 10) abort();
    }
    close(fd);
    return true;
  }();
  if (!filled) return;
  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
}
