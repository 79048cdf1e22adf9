#pragma once
// The declarations of NVIDIA's driver interface that pawl calls: our own, so that pawl is built the
// same with and without the CUDA Toolkit. Names, numbers and layouts are those of cuda.h (CUDA 11.8
// to 13), which tests/cuda/declarations_test.cc compares them with where it is there.

#include <cstdint>

namespace pawl {

using CuDevice = int;
using CuAddress = unsigned long long;  // CUdeviceptr
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;

// CUresult. Only those that are told apart are named; the driver names them all.
enum CuResult : int {
  kCuSuccess = 0,
  kCuInvalidValue = 1,
  kCuOutOfMemory = 2,
  kCuStubLibrary = 34,
  kCuDeviceUnavailable = 46,
  kCuNoDevice = 100,
  kCuEccUncorrectable = 214,
  kCuNvlinkUncorrectable = 220,
  kCuContained = 226,
  kCuNotReady = 600,
  kCuIllegalAddress = 700,
  kCuLaunchOutOfResources = 701,
  kCuLaunchTimeout = 702,
  kCuAssert = 710,
  kCuHardwareStackError = 714,
  kCuIllegalInstruction = 715,
  kCuMisalignedAddress = 716,
  kCuInvalidAddressSpace = 717,
  kCuInvalidPc = 718,
  kCuLaunchFailed = 719,
  kCuTensorMemoryLeak = 721,
  kCuSystemNotReady = 802,
  kCuUnknown = 999,
};

// CUdevice_attribute
enum CuDeviceAttribute : int {
  kCuClockRateKhz = 13,
  kCuMultiprocessors = 16,
  kCuMemoryClockRateKhz = 36,
  kCuMemoryBusBits = 37,
  kCuL2CacheBytes = 38,
  kCuCapabilityMajor = 75,
  kCuCapabilityMinor = 76,
  kCuMaxSharedBytesOptIn = 97,
};

// CUfunction_attribute
enum CuFunctionAttribute : int {
  kCuMaxThreadsPerBlock = 0,
  kCuStaticSharedBytes = 1,
  kCuLocalBytes = 3,
  kCuRegisters = 4,
  kCuMaxDynamicSharedBytes = 8,
  kCuNonPortableClusterAllowed = 14,
};

struct CuUuid {
  unsigned char bytes[16];
};

inline constexpr int kCuAttributeClusterDimension = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
struct CuLaunchAttribute {
  int id;
  int pad;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
struct CuLaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  unsigned attribute_count;
};

inline constexpr unsigned kCuContextSpin = 1;        // CU_CTX_SCHED_SPIN
inline constexpr unsigned kCuStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kCuEventDefault = 0;       // CU_EVENT_DEFAULT
inline constexpr int kCuCaptureThreadLocal = 1;      // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

// X(member of Driver, symbol, arguments)
#define PAWL_DRIVER_FUNCTIONS(X)                                                                \
  X(Init, "cuInit", unsigned)                                                                   \
  X(DriverVersion, "cuDriverGetVersion", int*)                                                  \
  X(DeviceCount, "cuDeviceGetCount", int*)                                                      \
  X(DeviceGet, "cuDeviceGet", CuDevice*, int)                                                   \
  X(DeviceName, "cuDeviceGetName", char*, int, CuDevice)                                        \
  X(DeviceUuid, "cuDeviceGetUuid_v2", CuUuid*, CuDevice)                                        \
  X(DeviceAttribute, "cuDeviceGetAttribute", int*, CuDeviceAttribute, CuDevice)                 \
  X(DeviceMemory, "cuDeviceTotalMem_v2", std::size_t*, CuDevice)                                \
  X(ContextFlags, "cuDevicePrimaryCtxSetFlags_v2", CuDevice, unsigned)                          \
  X(ContextRetain, "cuDevicePrimaryCtxRetain", CuContext*, CuDevice)                            \
  X(ContextRelease, "cuDevicePrimaryCtxRelease_v2", CuDevice)                                   \
  X(ContextSetCurrent, "cuCtxSetCurrent", CuContext)                                            \
  X(ModuleLoad, "cuModuleLoadData", CuModule*, const void*)                                     \
  X(ModuleUnload, "cuModuleUnload", CuModule)                                                   \
  X(ModuleFunction, "cuModuleGetFunction", CuFunction*, CuModule, const char*)                  \
  X(FunctionAttribute, "cuFuncGetAttribute", int*, CuFunctionAttribute, CuFunction)             \
  X(SetFunctionAttribute, "cuFuncSetAttribute", CuFunction, CuFunctionAttribute, int)           \
  X(MemoryInfo, "cuMemGetInfo_v2", std::size_t*, std::size_t*)                                  \
  X(MemoryAllocate, "cuMemAlloc_v2", CuAddress*, std::size_t)                                   \
  X(MemoryFree, "cuMemFree_v2", CuAddress)                                                      \
  X(HostAllocate, "cuMemHostAlloc", void**, std::size_t, unsigned)                              \
  X(HostFree, "cuMemFreeHost", void*)                                                           \
  X(CopyToDevice, "cuMemcpyHtoDAsync_v2", CuAddress, const void*, std::size_t, CuStream)        \
  X(CopyToHost, "cuMemcpyDtoHAsync_v2", void*, CuAddress, std::size_t, CuStream)                \
  X(CopyOnDevice, "cuMemcpyDtoDAsync_v2", CuAddress, CuAddress, std::size_t, CuStream)          \
  X(SetBytes, "cuMemsetD8Async", CuAddress, unsigned char, std::size_t, CuStream)               \
  X(SetWords, "cuMemsetD32Async", CuAddress, unsigned, std::size_t, CuStream)                   \
  X(StreamCreate, "cuStreamCreate", CuStream*, unsigned)                                        \
  X(StreamSynchronize, "cuStreamSynchronize", CuStream)                                         \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", CuStream, int)                               \
  X(StreamEndCapture, "cuStreamEndCapture", CuStream, CuGraph*)                                 \
  X(EventCreate, "cuEventCreate", CuEvent*, unsigned)                                           \
  X(EventDestroy, "cuEventDestroy_v2", CuEvent)                                                 \
  X(EventRecord, "cuEventRecord", CuEvent, CuStream)                                            \
  X(EventElapsed, "cuEventElapsedTime", float*, CuEvent, CuEvent)                               \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", CuGraphExec*, CuGraph, unsigned long long) \
  X(GraphUpload, "cuGraphUpload", CuGraphExec, CuStream)                                        \
  X(GraphLaunch, "cuGraphLaunch", CuGraphExec, CuStream)                                        \
  X(GraphDestroy, "cuGraphDestroy", CuGraph)                                                    \
  X(GraphExecDestroy, "cuGraphExecDestroy", CuGraphExec)                                        \
  X(ProfilerStart, "cuProfilerStart")                                                           \
  X(ProfilerStop, "cuProfilerStop")                                                             \
  X(Launch, "cuLaunchKernel", CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned,     \
    unsigned, unsigned, CuStream, void**, void**)                                               \
  X(LaunchEx, "cuLaunchKernelEx", const CuLaunchConfig*, CuFunction, void**, void**)

}  // namespace pawl
