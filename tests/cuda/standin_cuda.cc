// A stand-in for libcuda: memory is this machine's, time is counted by launches, and kernels are
// the functions below, known by their names. It records how often it is called and can be told to
// fail.
//
// Built as a library that the loader opens in the place of the driver (PAWL_LIBCUDA).
// PAWL_STANDIN_GPUS: how many it has, where nobody says otherwise; 1.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/standin.h"
#include "tests/cuda/standin_state.h"
#include "worker/device/cuda/driver_api.h"
#include "worker/device/cuda/source_text.h"

namespace pawl {

namespace {

constexpr int kFaults[] = {kCuIllegalAddress, kCuAssert, kCuLaunchFailed, kCuMisalignedAddress};

CuResult Enter(const char* name) {
  StandinState& state = The();
  ++state.calls;
  if (state.sticky != kCuSuccess) return static_cast<CuResult>(state.sticky);
  if (state.calls != state.fail_at) return kCuSuccess;
  state.failed = name;
  if (std::find(std::begin(kFaults), std::end(kFaults), state.code) != std::end(kFaults)) {
    state.sticky = state.code;
  }
  return static_cast<CuResult>(state.code);
}
#define ENTER() \
  if (const CuResult entered = Enter(__func__); entered != kCuSuccess) return entered

void Do(CuStream stream, std::function<void()> work) {
  if (The().tracing) {
    const double start = The().us;
    work();
    The().traced.emplace_back(start, The().us);
    return;
  }
  if (stream != nullptr && stream->capturing != nullptr) {
    stream->capturing->nodes.push_back(std::move(work));
  } else {
    work();
  }
}

void Profile(CuFunction function) {
  if (The().profiling) ++The().profiled[function->name];
}

void* Host(CuAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

extern "C" {

void standin_reset(int devices) {
  StandinState& state = The();
  state.calls = 0;
  state.fail_at = 0;
  state.sticky = kCuSuccess;
  state.devices = devices;
  state.failed.clear();
  state.log.clear();
  state.profiling = false;
  state.profiled.clear();
}
void standin_fail(std::uint64_t call, int code) {
  The().fail_at = The().calls + call;
  The().code = code;
  The().failed.clear();
}
std::uint64_t standin_calls() { return The().calls; }
const char* standin_failed() { return The().failed.c_str(); }
std::uint64_t standin_profiled(const char* kernel) { return The().profiled[kernel]; }
std::uint64_t standin_memory() { return The().memory.size(); }
void standin_trace(int on) {
  if (on != 0 && !The().tracing) The().traced.clear();
  The().tracing = on != 0;
}
int standin_traced(std::uint64_t at, std::uint64_t* start_ns, std::uint64_t* end_ns) {
  if (at >= The().traced.size()) return 0;
  *start_ns = static_cast<std::uint64_t>(1e6 + The().traced[at].first * 1e3);
  *end_ns = static_cast<std::uint64_t>(1e6 + The().traced[at].second * 1e3);
  return 1;
}

CuResult cuGetErrorName(CuResult code, const char** name) {
  static thread_local char text[32];
  std::snprintf(text, sizeof text, "CUDA_ERROR_%d", static_cast<int>(code));
  *name = text;
  return kCuSuccess;
}
CuResult cuGetErrorString(CuResult, const char** text) {
  *text = "as told";
  return kCuSuccess;
}
CuResult cuInit(unsigned) {
  ENTER();
  return The().devices < 0 ? kCuNoDevice : kCuSuccess;
}
CuResult cuDriverGetVersion(int* version) {
  ENTER();
  *version = 13'000;
  return kCuSuccess;
}
CuResult cuDeviceGetCount(int* count) {
  ENTER();
  *count = The().devices;
  return kCuSuccess;
}
CuResult cuDeviceGet(CuDevice* device, int index) {
  ENTER();
  *device = index;
  return kCuSuccess;
}
CuResult cuDeviceGetName(char* name, int size, CuDevice) {
  ENTER();
  std::snprintf(name, static_cast<std::size_t>(size), "Stand-in GPU");
  return kCuSuccess;
}
CuResult cuDeviceGetUuid_v2(CuUuid* uuid, CuDevice device) {
  ENTER();
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(16 * device + i);
  return kCuSuccess;
}
CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice) {
  ENTER();
  const std::map<int, int> values = {{kCuClockRateKhz, 1'500'000},
                                     {kCuMultiprocessors, 4},
                                     {kCuMemoryClockRateKhz, 1'000'000},
                                     {kCuMemoryBusBits, 256},
                                     {kCuL2CacheBytes, 1 << 20},
                                     {kCuCapabilityMajor, 9},
                                     {kCuCapabilityMinor, 0},
                                     {kCuMaxSharedBytesOptIn, 232'448}};
  *value = values.at(attribute);
  return kCuSuccess;
}
CuResult cuDeviceTotalMem_v2(std::size_t* bytes, CuDevice) {
  ENTER();
  *bytes = 1ull << 30;
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxSetFlags_v2(CuDevice, unsigned) {
  ENTER();
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice) {
  ENTER();
  *context = &The().context;
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) {
  ENTER();
  return kCuSuccess;
}
CuResult cuCtxSetCurrent(CuContext) {
  ENTER();
  return kCuSuccess;
}
CuResult cuModuleLoadData(CuModule* module, const void* code) {
  ENTER();
  *module = new CuModuleTag{static_cast<const char*>(code)};
  return kCuSuccess;
}
CuResult cuModuleUnload(CuModule) {
  ENTER();
  return kCuSuccess;
}
CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  ENTER();
  *function = new CuFunctionTag{module, name};
  return kCuSuccess;
}
CuResult cuFuncGetAttribute(int* value, CuFunctionAttribute attribute, CuFunction) {
  ENTER();
  *value = attribute == kCuMaxThreadsPerBlock ? 1024 : attribute == kCuRegisters ? 32 : 0;
  return kCuSuccess;
}
CuResult cuFuncSetAttribute(CuFunction, CuFunctionAttribute, int) {
  ENTER();
  return kCuSuccess;
}
CuResult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  ENTER();
  *free_bytes = *total = 1ull << 30;
  return kCuSuccess;
}
CuResult cuMemAlloc_v2(CuAddress* address, std::size_t bytes) {
  ENTER();
  *address = reinterpret_cast<CuAddress>(std::malloc(bytes));
  The().memory[*address] = bytes;
  return kCuSuccess;
}
CuResult cuMemFree_v2(CuAddress address) {
  The().memory.erase(address);
  std::free(Host(address));
  ENTER();
  return kCuSuccess;
}
CuResult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  ENTER();
  *data = std::malloc(bytes);
  return kCuSuccess;
}
CuResult cuMemFreeHost(void* data) {
  std::free(data);
  ENTER();
  return kCuSuccess;
}
CuResult cuMemcpyHtoDAsync_v2(CuAddress to, const void* from, std::size_t bytes, CuStream) {
  ENTER();
  std::memcpy(Host(to), from, bytes);
  return kCuSuccess;
}
CuResult cuMemcpyDtoHAsync_v2(void* to, CuAddress from, std::size_t bytes, CuStream) {
  ENTER();
  std::memcpy(to, Host(from), bytes);
  return kCuSuccess;
}
CuResult cuMemcpyDtoDAsync_v2(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) {
  ENTER();
  Do(stream, [=] { std::memcpy(Host(to), Host(from), bytes); });
  return kCuSuccess;
}
CuResult cuMemsetD8Async(CuAddress to, unsigned char byte, std::size_t bytes, CuStream stream) {
  ENTER();
  Do(stream, [=] {
    std::memset(Host(to), byte, bytes);
    The().Advance(2);
  });
  return kCuSuccess;
}
CuResult cuMemsetD32Async(CuAddress to, unsigned word, std::size_t words, CuStream) {
  ENTER();
  std::fill_n(static_cast<unsigned*>(Host(to)), words, word);
  return kCuSuccess;
}
CuResult cuStreamCreate(CuStream* stream, unsigned) {
  ENTER();
  *stream = new CuStreamTag;
  return kCuSuccess;
}
CuResult cuStreamSynchronize(CuStream) {
  ENTER();
  return kCuSuccess;
}
CuResult cuStreamBeginCapture_v2(CuStream stream, int) {
  ENTER();
  stream->capturing = new CuGraphTag;
  return kCuSuccess;
}
CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  *graph = stream->capturing;
  stream->capturing = nullptr;
  ENTER();
  return kCuSuccess;
}
CuResult cuEventCreate(CuEvent* event, unsigned) {
  ENTER();
  *event = new CuEventTag;
  return kCuSuccess;
}
CuResult cuEventDestroy_v2(CuEvent event) {
  delete event;
  ENTER();
  return kCuSuccess;
}
CuResult cuEventRecord(CuEvent event, CuStream) {
  ENTER();
  event->us = The().us;
  return kCuSuccess;
}
CuResult cuEventElapsedTime(float* ms, CuEvent start, CuEvent end) {
  ENTER();
  *ms = static_cast<float>((end->us - start->us) / 1e3);
  return kCuSuccess;
}
CuResult cuGraphInstantiateWithFlags(CuGraphExec* ready, CuGraph graph, unsigned long long) {
  ENTER();
  *ready = new CuGraphExecTag{graph->nodes};
  return kCuSuccess;
}
CuResult cuGraphUpload(CuGraphExec, CuStream) {
  ENTER();
  return kCuSuccess;
}
CuResult cuGraphLaunch(CuGraphExec ready, CuStream) {
  ENTER();
  for (const auto& node : ready->nodes) node();
  The().Advance(5);  // a graph's start
  return static_cast<CuResult>(The().sticky);
}
CuResult cuGraphDestroy(CuGraph graph) {
  delete graph;
  ENTER();
  return kCuSuccess;
}
CuResult cuGraphExecDestroy(CuGraphExec ready) {
  delete ready;
  ENTER();
  return kCuSuccess;
}
CuResult cuProfilerStart() {
  ENTER();
  if (The().profiling) return kCuInvalidValue;  // one is not begun in another
  The().profiling = true;
  return kCuSuccess;
}
CuResult cuProfilerStop() {
  ENTER();
  if (!The().profiling) return kCuInvalidValue;
  The().profiling = false;
  return kCuSuccess;
}
CuResult cuLaunchKernel(CuFunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, CuStream stream, void** arguments, void**) {
  ENTER();
  Profile(function);
  Do(stream, StandinKernel(function, arguments));
  return kCuSuccess;
}
CuResult cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** arguments,
                          void**) {
  ENTER();
  Profile(function);
  Do(config->stream, StandinKernel(function, arguments));
  return kCuSuccess;
}

}  // extern "C"
}  // namespace pawl
