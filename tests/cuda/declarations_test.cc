// Our own declarations against NVIDIA's, where the CUDA Toolkit's headers are: numbers, layouts and
// signatures.

#include <cuda.h>
#include <cudaProfiler.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "worker/device/cuda/driver_api.h"

namespace pawl {
namespace {

// What passes the same way: pointers are alike, and an enumeration is its number.
template <typename T, bool = std::is_enum_v<T>>
struct Passed {
  using Type = T;
};
template <typename T>
struct Passed<T, true> {
  using Type = int;
};
template <typename T>
struct Passed<T*, false> {
  using Type = void*;
};
template <typename T>
using PassedAs = typename Passed<std::remove_cv_t<T>>::Type;
// unsigned and int pass alike too.
template <typename A, typename B>
constexpr bool kAlike = std::is_same_v<PassedAs<A>, PassedAs<B>> ||
                        (std::is_integral_v<PassedAs<A>> && std::is_integral_v<PassedAs<B>> &&
                         sizeof(PassedAs<A>) == sizeof(PassedAs<B>));

template <typename A, typename B>
struct Same : std::false_type {};
template <typename... A, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct Same<CUresult(A...), CuResult(B...)>
    : std::bool_constant<(kAlike<A, B> && ...)> {
};

TEST(Declarations, HaveTheSignaturesOfTheDriver) {
  EXPECT_TRUE((Same<decltype(cuInit), CuResult(unsigned)>::value));
#define PAWL_SAME(function, ...) \
  static_assert(Same<decltype(function), CuResult(__VA_ARGS__)>::value, #function)
  PAWL_SAME(cuDeviceGetName, char*, int, CuDevice);
  PAWL_SAME(cuDeviceGetUuid, CuUuid*, CuDevice);
  PAWL_SAME(cuDeviceGetAttribute, int*, CuDeviceAttribute, CuDevice);
  PAWL_SAME(cuDeviceTotalMem, std::size_t*, CuDevice);
  PAWL_SAME(cuDevicePrimaryCtxSetFlags, CuDevice, unsigned);
  PAWL_SAME(cuDevicePrimaryCtxRetain, CuContext*, CuDevice);
  PAWL_SAME(cuDevicePrimaryCtxRelease, CuDevice);
  PAWL_SAME(cuModuleLoadData, CuModule*, const void*);
  PAWL_SAME(cuModuleGetFunction, CuFunction*, CuModule, const char*);
  PAWL_SAME(cuFuncGetAttribute, int*, CuFunctionAttribute, CuFunction);
  PAWL_SAME(cuFuncSetAttribute, CuFunction, CuFunctionAttribute, int);
  PAWL_SAME(cuMemGetInfo, std::size_t*, std::size_t*);
  PAWL_SAME(cuMemAlloc, CuAddress*, std::size_t);
  PAWL_SAME(cuMemFree, CuAddress);
  PAWL_SAME(cuMemHostAlloc, void**, std::size_t, unsigned);
  PAWL_SAME(cuMemcpyHtoDAsync, CuAddress, const void*, std::size_t, CuStream);
  PAWL_SAME(cuMemcpyDtoHAsync, void*, CuAddress, std::size_t, CuStream);
  PAWL_SAME(cuMemcpyDtoDAsync, CuAddress, CuAddress, std::size_t, CuStream);
  PAWL_SAME(cuMemsetD8Async, CuAddress, unsigned char, std::size_t, CuStream);
  PAWL_SAME(cuMemsetD32Async, CuAddress, unsigned, std::size_t, CuStream);
  PAWL_SAME(cuStreamCreate, CuStream*, unsigned);
  PAWL_SAME(cuStreamBeginCapture, CuStream, int);
  PAWL_SAME(cuStreamEndCapture, CuStream, CuGraph*);
  PAWL_SAME(cuEventCreate, CuEvent*, unsigned);
  PAWL_SAME(cuEventRecord, CuEvent, CuStream);
  PAWL_SAME(cuEventElapsedTime, float*, CuEvent, CuEvent);
  PAWL_SAME(cuGraphInstantiateWithFlags, CuGraphExec*, CuGraph, unsigned long long);
  PAWL_SAME(cuGraphUpload, CuGraphExec, CuStream);
  PAWL_SAME(cuGraphLaunch, CuGraphExec, CuStream);
  PAWL_SAME(cuLaunchKernel, CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
            unsigned, CuStream, void**, void**);
  PAWL_SAME(cuLaunchKernelEx, const CuLaunchConfig*, CuFunction, void**, void**);
#undef PAWL_SAME
}

TEST(Declarations, HaveTheNumbersOfTheDriver) {
  EXPECT_EQ(int{kCuOutOfMemory}, int{CUDA_ERROR_OUT_OF_MEMORY});
  EXPECT_EQ(int{kCuDeviceUnavailable}, int{CUDA_ERROR_DEVICE_UNAVAILABLE});
  EXPECT_EQ(int{kCuNoDevice}, int{CUDA_ERROR_NO_DEVICE});
  EXPECT_EQ(int{kCuEccUncorrectable}, int{CUDA_ERROR_ECC_UNCORRECTABLE});
  EXPECT_EQ(int{kCuNvlinkUncorrectable}, int{CUDA_ERROR_NVLINK_UNCORRECTABLE});
  EXPECT_EQ(int{kCuIllegalAddress}, int{CUDA_ERROR_ILLEGAL_ADDRESS});
  EXPECT_EQ(int{kCuLaunchOutOfResources}, int{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES});
  EXPECT_EQ(int{kCuLaunchTimeout}, int{CUDA_ERROR_LAUNCH_TIMEOUT});
  EXPECT_EQ(int{kCuAssert}, int{CUDA_ERROR_ASSERT});
  EXPECT_EQ(int{kCuHardwareStackError}, int{CUDA_ERROR_HARDWARE_STACK_ERROR});
  EXPECT_EQ(int{kCuIllegalInstruction}, int{CUDA_ERROR_ILLEGAL_INSTRUCTION});
  EXPECT_EQ(int{kCuMisalignedAddress}, int{CUDA_ERROR_MISALIGNED_ADDRESS});
  EXPECT_EQ(int{kCuInvalidAddressSpace}, int{CUDA_ERROR_INVALID_ADDRESS_SPACE});
  EXPECT_EQ(int{kCuInvalidPc}, int{CUDA_ERROR_INVALID_PC});
  EXPECT_EQ(int{kCuLaunchFailed}, int{CUDA_ERROR_LAUNCH_FAILED});
  EXPECT_EQ(int{kCuUnknown}, int{CUDA_ERROR_UNKNOWN});
  EXPECT_EQ(int{kCuClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
  EXPECT_EQ(int{kCuMultiprocessors}, int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  EXPECT_EQ(int{kCuMemoryClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE});
  EXPECT_EQ(int{kCuMemoryBusBits}, int{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH});
  EXPECT_EQ(int{kCuL2CacheBytes}, int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
  EXPECT_EQ(int{kCuCapabilityMajor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
  EXPECT_EQ(int{kCuCapabilityMinor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  EXPECT_EQ(int{kCuMaxSharedBytesOptIn},
            int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
  EXPECT_EQ(int{kCuMaxThreadsPerBlock}, int{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
  EXPECT_EQ(int{kCuStaticSharedBytes}, int{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kCuLocalBytes}, int{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES});
  EXPECT_EQ(int{kCuRegisters}, int{CU_FUNC_ATTRIBUTE_NUM_REGS});
  EXPECT_EQ(int{kCuMaxDynamicSharedBytes}, int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kCuNonPortableClusterAllowed},
            int{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED});
  EXPECT_EQ(kCuAttributeClusterDimension, int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
  EXPECT_EQ(kCuContextSpin, unsigned{CU_CTX_SCHED_SPIN});
  EXPECT_EQ(kCuStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(kCuCaptureThreadLocal, int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
}

TEST(Declarations, HaveTheLayoutsOfTheDriver) {
  EXPECT_EQ(sizeof(CuLaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(CuLaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(CuLaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(CuLaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(CuLaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(CuLaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(CuLaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(CuUuid), sizeof(CUuuid));
  EXPECT_EQ(sizeof(CuAddress), sizeof(CUdeviceptr));
}

}  // namespace
}  // namespace pawl
