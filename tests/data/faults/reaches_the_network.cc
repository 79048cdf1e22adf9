#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

// PORT: where somebody listens on the loopback address. SOCKET_FILE: another listener's. Aborts when
// it gets through to one.
static void connect_or_not(int family, const sockaddr* address, socklen_t size) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const int fd = socket(family, type, 0);
    if (fd < 0) continue;
    if (connect(fd, address, size) == 0) abort();
    if (type == SOCK_DGRAM && sendto(fd, "x", 1, MSG_DONTWAIT, address, size) == 1) abort();
    close(fd);
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
  if (family == AF_UNIX && connect(pair[0], address, size) == 0) abort();
  close(pair[0]);
  close(pair[1]);
}

extern "C" void reaches_the_network(const float* in, float* out, std::int64_t n) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(PORT);
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect_or_not(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
  sockaddr_un file{};
  file.sun_family = AF_UNIX;
  strncpy(file.sun_path, SOCKET_FILE, sizeof file.sun_path - 1);
  connect_or_not(AF_UNIX, reinterpret_cast<const sockaddr*>(&file), sizeof file);
  for (std::int64_t i = 0; i < n; ++i) out[i] = 2.0f * in[i] + 1.0f;
}
