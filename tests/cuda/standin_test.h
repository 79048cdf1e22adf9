#pragma once
// A fixture over the stand-ins: the driver and NVRTC that the device opens are the tests' own.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/cuda/standin.h"
#include "tests/support/places.h"
#include "worker/device/cuda/cuda_device.h"

namespace pawl {

class StandinTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PAWL_LIBCUDA", PAWL_STANDIN_CUDA, 1);
    ::setenv("PAWL_LIBNVRTC", PAWL_STANDIN_NVRTC, 1);
    ::setenv("PAWL_LIBNVML", "/nonexistent/libnvidia-ml.so", 1);
    ::setenv("PAWL_LIBCUPTI", "/nonexistent/libcupti.so", 1);
    void* const library = ::dlopen(PAWL_STANDIN_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    reset = reinterpret_cast<decltype(&standin_reset)>(::dlsym(library, "standin_reset"));
    fail = reinterpret_cast<decltype(&standin_fail)>(::dlsym(library, "standin_fail"));
    calls = reinterpret_cast<decltype(&standin_calls)>(::dlsym(library, "standin_calls"));
    failed = reinterpret_cast<decltype(&standin_failed)>(::dlsym(library, "standin_failed"));
    profiled = reinterpret_cast<decltype(&standin_profiled)>(::dlsym(library, "standin_profiled"));
    memory = reinterpret_cast<decltype(&standin_memory)>(::dlsym(library, "standin_memory"));
    reset(1);
  }

  DeviceOptions Options() const {
    DeviceOptions options;
    options.scratch = folder_.path();
    options.cache = folder_.path() + "/cache";
    return options;
  }

  std::unique_ptr<Device> Open() const { return Open(Options()); }
  std::unique_ptr<Device> Open(const DeviceOptions& options) const {
    Result<std::unique_ptr<Device>> device = OpenCuda("", options);
    CHECK(device, device.error().message);
    return std::move(*device);
  }

  static Execution Run(Device& device, const Order& order) {
    Result<Execution> execution = device.Execute(order, [](Stage, ArmRole) {});
    EXPECT_TRUE(execution) << execution.error().message;
    return execution ? std::move(*execution) : Execution{};
  }

  decltype(&standin_reset) reset = nullptr;
  decltype(&standin_fail) fail = nullptr;
  decltype(&standin_calls) calls = nullptr;
  decltype(&standin_failed) failed = nullptr;
  decltype(&standin_memory) memory = nullptr;
  decltype(&standin_profiled) profiled = nullptr;

 private:
  const test::TempFolder folder_;
};

}  // namespace pawl
