#pragma once
// What the stand-in driver knows: its calls, its memory, its time.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/device/cuda/driver_api.h"

namespace pawl {

struct CuContextTag {};
struct CuModuleTag {
  std::string code;
  float remembered = 0;  // static memory of a kernel: its own in each load
  bool has_remembered = false;
  std::vector<float> kept{};  // likewise
};
struct CuFunctionTag {
  CuModule module;
  std::string name;
};
struct CuStreamTag {
  CuGraph capturing = nullptr;
};
struct CuEventTag {
  double us = 0;
};
struct CuGraphTag {
  std::vector<std::function<void()>> nodes;
};
struct CuGraphExecTag {
  std::vector<std::function<void()>> nodes;
};

struct StandinState {
  std::uint64_t calls = 0;
  std::uint64_t fail_at = 0;  // the number of the call; 0: none
  int code = kCuUnknown;
  int sticky = kCuSuccess;  // every call from now on
  double us = 0;            // now
  double kilocycles = 0;    // of a multiprocessor's clock, until now
  int devices = std::getenv("PAWL_STANDIN_GPUS") ? std::atoi(std::getenv("PAWL_STANDIN_GPUS")) : 1;
  std::map<CuAddress, std::size_t> memory;
  std::string failed;  // the function that was made to fail
  CuContextTag context;
  std::vector<std::string> log;
  bool profiling = false;
  std::map<std::string, std::uint64_t> profiled;  // launches, by kernel
  bool tracing = false;
  std::vector<std::pair<double, double>> traced;  // in us

  void Advance(double by_us, double mhz = 1500) {
    us += by_us;
    kilocycles += by_us * mhz / 1e3;
  }
};
inline StandinState& The() {
  static StandinState state;
  return state;
}

// What the kernel does: pawl's own and those of the tests, by their names. The arguments are taken
// now; the work is done when it is called.
std::function<void()> StandinKernel(CuFunction function, void** arguments);

}  // namespace pawl
