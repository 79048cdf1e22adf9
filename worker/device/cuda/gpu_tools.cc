#include "worker/device/cuda/gpu_tools.h"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint64_t kProbeWords = 1 << 18;
constexpr std::size_t kStampBytes = 4 * sizeof(std::uint64_t);

}  // namespace

template <typename... Arguments>
DriverStatus GpuTools::Run(const std::string& kernel, std::uint64_t threads,
                           Arguments... arguments) {
  void* pointers[] = {&arguments...};
  const std::uint64_t most_blocks =
      static_cast<std::uint64_t>(gpu_.properties().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
      (threads + kThreads - 1) / kThreads, 1, std::max<std::uint64_t>(most_blocks, 1)));
  return gpu_.driver().Launch(functions_.at(kernel), blocks, 1, 1, kThreads, 1, 1, 0, gpu_.stream(),
                              pointers, nullptr);
}

Result<std::unique_ptr<GpuTools>> GpuTools::Open(const Gpu& gpu, const CudaObject& object) {
  std::unique_ptr<GpuTools> tools(new GpuTools(gpu));
  const Driver& driver = gpu.driver();
  const std::string name = gpu.properties().name + " (" + gpu.properties().uuid + ")";
  const auto failed = [&](const std::string& doing, DriverStatus status) {
    return Error{name + ": " + doing + ": " + driver.Describe(status), Advice::kReject};
  };
  if (DriverStatus done = driver.ModuleLoad(&tools->module_, object.cubin.data()); !done) {
    return failed("pawl's own kernels cannot be loaded", done);
  }
  for (const std::string& kernel : object.names) {
    CuFunction function = nullptr;
    if (DriverStatus done = driver.ModuleFunction(&function, tools->module_, kernel.c_str());
        !done) {
      return failed("pawl's own kernel " + kernel, done);
    }
    tools->functions_.emplace(kernel, function);
  }
  if (DriverStatus done = tools->stamps_.Allocate(gpu, kStampBytes); !done) {
    return failed("memory for time stamps", done);
  }
  if (DriverStatus done = tools->stamps_read_.Allocate(gpu, kStampBytes); !done) {
    return failed("memory for time stamps", done);
  }

  // The probe: what was written is read back by all multiprocessors, and a wrong expectation is
  // found out word by word.
  GpuMemory memory;
  const auto probe = [&]() -> DriverStatus {
    PAWL_PASS(memory.Allocate(gpu, kProbeWords * 4));
    PAWL_PASS(
        driver.SetWords(memory.address(), GuardedGpuMemory::kPattern, kProbeWords, gpu.stream()));
    PAWL_PASS(tools->Begin(2));
    PAWL_PASS(tools->Words(memory.address(), kProbeWords, GuardedGpuMemory::kPattern));
    PAWL_PASS(tools->Words(memory.address(), kProbeWords, ~GuardedGpuMemory::kPattern));
    return tools->Read();
  };
  if (DriverStatus done = probe(); !done) return failed("its health probe", done);
  if (tools->found(0).count != 0 || tools->found(1).count != kProbeWords) {
    return Error{name + ": its health probe found " + std::to_string(tools->found(0).count) +
                     " wrong words where none is, and " + std::to_string(tools->found(1).count) +
                     " where all " + std::to_string(kProbeWords) +
                     " are; the GPU is not to be trusted",
                 Advice::kReject};
  }
  return tools;
}

DriverStatus GpuTools::Begin(std::size_t most) {
  const std::size_t bytes = most * sizeof(Found);
  if (founds_.bytes() < bytes) {
    PAWL_PASS(founds_.Allocate(gpu_, bytes));
    PAWL_PASS(read_.Allocate(gpu_, bytes));
  }
  next_ = 0;
  return gpu_.driver().SetBytes(founds_.address(), 0, std::max<std::size_t>(bytes, 1),
                                gpu_.stream());
}

CuAddress GpuTools::NextFound() {
  const CuAddress at = founds_.address() + next_ * sizeof(Found);
  ++next_;
  CHECK(next_ * sizeof(Found) <= founds_.bytes(), next_);
  return at;
}

DriverStatus GpuTools::Compare(const Buffer& buffer, CuAddress out, CuAddress expected, double rtol,
                               double atol) {
  const auto count = static_cast<std::uint64_t>(buffer.Elements());
  return Run("pawl_compare_" + std::string(Name(buffer.dtype)), count, out, expected, count, rtol,
             atol, NextFound());
}

DriverStatus GpuTools::Finite(CuAddress values, std::uint64_t count) {
  return Run("pawl_finite", count, values, count, NextFound());
}

DriverStatus GpuTools::Words(CuAddress words, std::uint64_t count, std::uint32_t value) {
  return Run("pawl_words", count, words, count, value, NextFound());
}

DriverStatus GpuTools::Bytes(CuAddress a, CuAddress b, std::uint64_t count) {
  return Run("pawl_bytes", count / 16, a, b, count, NextFound());
}

DriverStatus GpuTools::Read() {
  PAWL_PASS(gpu_.driver().CopyToHost(read_.data(), founds_.address(), next_ * sizeof(Found),
                                     gpu_.stream()));
  return gpu_.Synchronize();
}

const Found& GpuTools::found(std::size_t index) const {
  CHECK(index < next_, index);
  return static_cast<const Found*>(read_.data())[index];
}

DriverStatus GpuTools::Plausible(const Buffer& buffer, CuAddress out, CuAddress expected,
                                 double rtol, double atol, std::uint64_t shift) {
  const auto count = static_cast<std::uint64_t>(buffer.Elements());
  return Run("pawl_plausible_" + std::string(Name(buffer.dtype)), count, out, expected, count, rtol,
             atol, shift);
}

DriverStatus GpuTools::Spoil(const Buffer& buffer, CuAddress out, std::uint64_t seed) {
  const auto count = static_cast<std::uint64_t>(buffer.Elements());
  const auto words = static_cast<std::uint64_t>(SizeOf(buffer.dtype) / 4);
  return Run("pawl_spoil", count, out, count, words, seed);
}

DriverStatus GpuTools::Apply(const Nudges& nudges) {
  if (nudges.count == 0) return {};
  Nudges argument = nudges;
  void* pointers[] = {&argument};
  return gpu_.driver().Launch(functions_.at("pawl_nudge"), 1, 1, 1, Nudges::kMost, 1, 1, 0,
                              gpu_.stream(), pointers, nullptr);
}

DriverStatus GpuTools::ClearStamps() {
  return gpu_.driver().SetBytes(stamps_.address(), 0, kStampBytes, gpu_.stream());
}

DriverStatus GpuTools::Stamp(std::uint32_t slot) {
  // Blocks of one thread, more of them than multiprocessors: one lands on the first.
  const auto blocks = static_cast<unsigned>(std::max(gpu_.properties().multiprocessors, 1) * 2);
  CuAddress stamps = stamps_.address();
  void* pointers[] = {&stamps, &slot};
  return gpu_.driver().Launch(functions_.at("pawl_stamp"), blocks, 1, 1, 1, 1, 1, 0, gpu_.stream(),
                              pointers, nullptr);
}

GpuTools::Clock GpuTools::StampedMhz() {
  Clock clock;
  clock.status =
      gpu_.driver().CopyToHost(stamps_read_.data(), stamps_.address(), kStampBytes, gpu_.stream());
  if (clock.status) clock.status = gpu_.Synchronize();
  if (!clock.status) return clock;
  const auto* const stamps = static_cast<const std::uint64_t*>(stamps_read_.data());
  if (stamps[0] == 0 || stamps[2] <= stamps[0] || stamps[3] <= stamps[1]) return clock;
  clock.ns = static_cast<double>(stamps[2] - stamps[0]);
  clock.mhz = static_cast<double>(stamps[3] - stamps[1]) / clock.ns * 1e3;
  return clock;
}

}  // namespace pawl
