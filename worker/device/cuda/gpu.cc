#include "worker/device/cuda/gpu.h"

#include <algorithm>
#include <cstdio>

namespace pawl {
namespace {

// float32 lanes of a multiprocessor.
int Lanes(int capability) {
  switch (capability) {
    case 70:
    case 72:
    case 75:
    case 80:
      return 64;
    case 60:
      return 64;
    case 61:
    case 62:
    case 86:
    case 87:
    case 88:
    case 89:
    case 90:
    case 100:
    case 103:
    case 110:
    case 120:
    case 121:
      return 128;
    default:
      return 0;
  }
}

std::string Text(const CuUuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

}  // namespace

double GpuProperties::PeakGflops() const {
  return 2.0 * Lanes(capability) * multiprocessors * clock_mhz / 1e3;
}

double GpuProperties::PeakGbytesPerSecond() const {
  return 2.0 * memory_clock_mhz * memory_bus_bits / 8 / 1e3;  // two transfers a clock
}

Result<std::vector<GpuProperties>> ListGpus(const Driver& driver) {
  std::vector<GpuProperties> gpus;
  const auto failed = [&driver](DriverStatus status) {
    return Error{"NVIDIA driver: " + driver.Describe(status), Advice::kReject};
  };
  int count = 0;
  if (DriverStatus done = driver.DeviceCount(&count); !done) return failed(done);
  for (int index = 0; index < count; ++index) {
    CuDevice device = 0;
    GpuProperties gpu;
    gpu.index = index;
    char name[256] = "";
    CuUuid uuid{};
    std::size_t bytes = 0;
    if (DriverStatus done = driver.DeviceGet(&device, index); !done) return failed(done);
    if (DriverStatus done = driver.DeviceName(name, sizeof name - 1, device); !done) {
      return failed(done);
    }
    if (DriverStatus done = driver.DeviceUuid(&uuid, device); !done) return failed(done);
    if (DriverStatus done = driver.DeviceMemory(&bytes, device); !done) return failed(done);
    gpu.name = name;
    gpu.uuid = Text(uuid);
    gpu.memory_bytes = bytes;
    int major = 0, minor = 0, clock_khz = 0, memory_khz = 0, l2_bytes = 0;
    const std::pair<CuDeviceAttribute, int*> attributes[] = {
        {kCuCapabilityMajor, &major},
        {kCuCapabilityMinor, &minor},
        {kCuMultiprocessors, &gpu.multiprocessors},
        {kCuClockRateKhz, &clock_khz},
        {kCuMemoryClockRateKhz, &memory_khz},
        {kCuMemoryBusBits, &gpu.memory_bus_bits},
        {kCuL2CacheBytes, &l2_bytes},
        {kCuMaxSharedBytesOptIn, &gpu.max_shared_bytes},
    };
    for (const auto& [attribute, value] : attributes) {
      if (DriverStatus done = driver.DeviceAttribute(value, attribute, device); !done) {
        return failed(done);
      }
    }
    gpu.capability = major * 10 + minor;
    gpu.clock_mhz = clock_khz / 1000;
    gpu.memory_clock_mhz = memory_khz / 1000;
    gpu.l2_bytes = static_cast<std::uint64_t>(std::max(l2_bytes, 0));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<std::unique_ptr<Gpu>> Gpu::Open(const Driver& driver, GpuProperties properties) {
  std::unique_ptr<Gpu> gpu(new Gpu(driver, std::move(properties)));
  const auto failed = [&](DriverStatus status) {
    return Error{
        gpu->properties_.name + " (" + gpu->properties_.uuid + "): " + driver.Describe(status),
        Advice::kReject};
  };
  CuDevice device = 0;
  if (DriverStatus done = driver.DeviceGet(&device, gpu->properties_.index); !done) {
    return failed(done);
  }
  // Waiting on the core that is ours answers sooner than being woken. A context that is there
  // already keeps its own way.
  static_cast<void>(driver.ContextFlags(device, kCuContextSpin).code);
  CuContext context = nullptr;
  if (DriverStatus done = driver.ContextRetain(&context, device); !done) return failed(done);
  gpu->retained_ = true;
  if (DriverStatus done = driver.ContextSetCurrent(context); !done) return failed(done);
  if (DriverStatus done = driver.StreamCreate(&gpu->stream_, kCuStreamNonBlocking); !done) {
    return failed(done);
  }
  return gpu;
}

Gpu::~Gpu() {
  CuDevice device = 0;
  if (retained_ && driver_.DeviceGet(&device, properties_.index)) {
    static_cast<void>(driver_.ContextRelease(device).code);
  }
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  if (this == &other) return *this;
  Free();
  gpu_ = std::exchange(other.gpu_, nullptr);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

DriverStatus GpuMemory::Allocate(const Gpu& gpu, std::size_t bytes) {
  Free();
  CuAddress address = 0;
  const DriverStatus done = gpu.driver().MemoryAllocate(&address, std::max<std::size_t>(bytes, 1));
  if (!done) return done;
  gpu_ = &gpu;
  address_ = address;
  bytes_ = bytes;
  return done;
}

void GpuMemory::Free() {
  if (gpu_ != nullptr) static_cast<void>(gpu_->driver().MemoryFree(address_).code);
  gpu_ = nullptr;
  address_ = 0;
  bytes_ = 0;
}

DriverStatus PinnedMemory::Allocate(const Gpu& gpu, std::size_t bytes) {
  Free();
  void* data = nullptr;
  const DriverStatus done = gpu.driver().HostAllocate(&data, std::max<std::size_t>(bytes, 1), 0);
  if (!done) return done;
  gpu_ = &gpu;
  data_ = data;
  bytes_ = bytes;
  return done;
}

void PinnedMemory::Free() {
  if (gpu_ != nullptr) static_cast<void>(gpu_->driver().HostFree(data_).code);
  gpu_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

DriverStatus GuardedGpuMemory::Allocate(const Gpu& gpu, std::size_t bytes) {
  CHECK(bytes % 4 == 0, bytes);
  DriverStatus done = memory_.Allocate(gpu, bytes + 2 * kGuardBytes);
  if (!done) return done;
  bytes_ = bytes;
  done = gpu.driver().SetWords(before(), kPattern, kGuardBytes / 4, gpu.stream());
  if (!done) return done;
  return gpu.driver().SetWords(after(), kPattern, kGuardBytes / 4, gpu.stream());
}

}  // namespace pawl
