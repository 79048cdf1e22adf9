// The doors: what is said of a library that is not there or not whole, and the listing of GPUs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cuda/standin_test.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/driver.h"
#include "worker/device/cuda/library.h"
#include "worker/device/cuda/nvml.h"
#include "worker/device/cuda/nvrtc.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DoorsTest : public StandinTest {};

TEST_F(DoorsTest, SayWhatIsMissingInOneLine) {
  for (const char* variable : {"PAWL_LIBCUDA", "PAWL_LIBNVRTC", "PAWL_LIBNVML", "PAWL_LIBCUPTI"}) {
    ::setenv(variable, "/nonexistent/lib.so", 1);
  }
  const std::string lines[] = {
      Driver::Open().error().message,
      Nvrtc::Open().error().message,
      Nvml::Open().error().message,
      Cupti::Open().error().message,
  };
  EXPECT_THAT(lines[0], StartsWith("no NVIDIA driver: PAWL_LIBCUDA names /nonexistent/lib.so: "));
  EXPECT_THAT(lines[1], StartsWith("no NVRTC: "));
  EXPECT_THAT(lines[2], StartsWith("no NVML: "));
  EXPECT_THAT(lines[3], StartsWith("no CUPTI: "));
  for (const std::string& line : lines) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST_F(DoorsTest, NameTheFunctionThatAnOldLibraryLacks) {
  ::setenv("PAWL_LIBCUDA", PAWL_STANDIN_NVRTC, 1);
  ::setenv("PAWL_LIBNVRTC", PAWL_STANDIN_CUDA, 1);
  EXPECT_THAT(Driver::Open().error().message, HasSubstr("has no function cuGetErrorName"));
  EXPECT_THAT(Nvrtc::Open().error().message, HasSubstr("has no function nvrtcVersion"));
}

TEST_F(DoorsTest, PassOnWhyTheDriverDoesNotStart) {
  reset(-1);
  EXPECT_EQ(Driver::Open().error().message, "NVIDIA driver: cuInit: CUDA_ERROR_100 (as told)");
}

TEST_F(DoorsTest, ListEveryGpuAndWhatItCanDo) {
  reset(2);
  const std::vector<DeviceListing> listings = ListCuda();
  ASSERT_EQ(listings.size(), 2u);
  EXPECT_EQ(listings[1].name, "cuda:1");
  EXPECT_EQ(listings[1].problem, "");
  const DeviceFacts& facts = listings[1].facts;
  EXPECT_EQ(facts.model, "Stand-in GPU");
  EXPECT_EQ(facts.uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(facts.toolchain, "NVRTC 13.0.42 sm_90, driver for CUDA 13.0");
  EXPECT_EQ(facts.cores, 4u);
  EXPECT_DOUBLE_EQ(facts.peak_gflops, 2 * 128 * 4 * 1500 / 1e3);
  EXPECT_DOUBLE_EQ(facts.peak_gbytes_per_s, 64);
  ASSERT_EQ(listings[1].notes.size(), 3u);
  EXPECT_THAT(listings[1].notes[2], HasSubstr("no CUPTI"));
}

TEST_F(DoorsTest, SayThatThereIsNoGpu) {
  reset(0);
  const std::vector<DeviceListing> listings = ListCuda();
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_EQ(listings[0].problem, "the NVIDIA driver shows no GPU");
}

TEST(ResourceUse, IsReadFromTheAssemblersLines) {
  const ResourceUse use = ParseResourceUse(
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 38 registers, used 1 barriers, 33792 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas         .     80 bytes stack frame, 72 bytes spill stores, 96 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers\n");
  EXPECT_EQ(use, (ResourceUse{255, 33'792, 168, 80}));
  EXPECT_EQ(ParseResourceUse("kernel.cu(3): warning: nothing of the kind\n"), ResourceUse{});
}

TEST(ClockReasons, AreNamed) {
  EXPECT_EQ(DescribeClockReasons(0), "none");
  EXPECT_EQ(DescribeClockReasons(kClockReasonHwThermal | kClockReasonSwPowerCap),
            "sw power cap, hw thermal slowdown");
}

}  // namespace
}  // namespace pawl
