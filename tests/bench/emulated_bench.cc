// How long the emulated device takes: a 1024^3 product, tile 64 x 64, 4 x 4 a thread, with and
// without watching its accesses. CPU seconds of one core; the compilation is not in them. Run by
// hand, in a release build.

#include <cstdio>

#include "tests/emulated/emulated_kernel.h"

int main() {
  using namespace pawl;
  const auto package = test::LoadPackage("kernels/matmul");
  for (const char* settings : {"staging=guarded k_step=32", "staging=pipeline k_step=32"}) {
    const Order order =
        test::OrderFor(package, "tiled", settings, {{"m", 1024}, {"n", 1024}, {"k", 1024}});
    for (const bool watched : {false, true}) {
      const test::Ran ran = test::RunLaunches(order, {false, false, watched});
      std::printf("%s, checks %s: %.2f s%s\n", settings, watched ? "on" : "off", ran.seconds,
                  ran.finding ? (", but " + *ran.finding).c_str() : "");
    }
  }
}
