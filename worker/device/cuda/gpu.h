#pragma once
// One GPU: what it is, its context and stream, memory and events on it. Everything is queued on one
// stream, from the thread that opened it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schema/result.h"
#include "worker/device/cuda/driver.h"

namespace pawl {

struct GpuProperties {
  int index = 0;  // as nvidia-smi counts
  std::string name;
  std::string uuid;    // "GPU-6a1b..."
  int capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int clock_mhz = 0;  // the highest
  int memory_clock_mhz = 0;
  int memory_bus_bits = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  int max_shared_bytes = 0;  // of a block, opted in

  // float32 multiply-adds, both counted; 0: lanes of this architecture are not known.
  double PeakGflops() const;
  double PeakGbytesPerSecond() const;
};

// Errors: the driver's.
Result<std::vector<GpuProperties>> ListGpus(const Driver& driver);

class Gpu {
 public:
  // Errors: the context cannot be made.
  static Result<std::unique_ptr<Gpu>> Open(const Driver& driver, GpuProperties properties);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  const Driver& driver() const { return driver_; }
  const GpuProperties& properties() const { return properties_; }
  CuStream stream() const { return stream_; }
  DriverStatus Synchronize() const { return driver_.StreamSynchronize(stream_); }

 private:
  Gpu(const Driver& driver, GpuProperties properties)
      : driver_(driver), properties_(std::move(properties)) {}

  const Driver& driver_;
  const GpuProperties properties_;
  bool retained_ = false;
  CuStream stream_ = nullptr;
};

// Memory on a GPU, or none.
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(GpuMemory&& other) noexcept
      : gpu_(std::exchange(other.gpu_, nullptr)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory() { Free(); }

  // In the place of what it held.
  DriverStatus Allocate(const Gpu& gpu, std::size_t bytes);

  CuAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void Free();

  const Gpu* gpu_ = nullptr;
  CuAddress address_ = 0;
  std::size_t bytes_ = 0;
};

// Memory of this machine that copies to and from a GPU may use without waiting.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { Free(); }

  DriverStatus Allocate(const Gpu& gpu, std::size_t bytes);
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void Free();

  const Gpu* gpu_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Memory that a kernel gets, with a known pattern on both sides:
//
//   | pattern, 4 KiB | elements | pattern, 4 KiB |
class GuardedGpuMemory {
 public:
  static constexpr std::uint32_t kPattern = 0xa5c396f0;
  static constexpr std::size_t kGuardBytes = 4096;

  // `bytes`: a multiple of 4.
  DriverStatus Allocate(const Gpu& gpu, std::size_t bytes);
  CuAddress data() const { return memory_.address() + kGuardBytes; }
  std::size_t bytes() const { return bytes_; }
  CuAddress before() const { return memory_.address(); }
  CuAddress after() const { return data() + bytes_; }

 private:
  GpuMemory memory_;
  std::size_t bytes_ = 0;
};

}  // namespace pawl
