#include "worker/device/cuda/gpu_arm.h"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::uint32_t kPortableClusterBlocks = 8;

std::uint64_t Product(const std::array<std::uint32_t, 3>& sides) {
  return std::uint64_t{sides[0]} * sides[1] * sides[2];
}

std::string Sides(const std::array<std::uint32_t, 3>& sides) {
  return std::to_string(sides[0]) + "x" + std::to_string(sides[1]) + "x" + std::to_string(sides[2]);
}

}  // namespace

std::variant<std::unique_ptr<GpuArm>, ArmProblem> GpuArm::Load(
    const Gpu& gpu, const Arm& arm, const std::vector<std::string>& kernels,
    const CudaObject& object) {
  const Driver& driver = gpu.driver();
  std::unique_ptr<GpuArm> loaded(new GpuArm(gpu, arm));
  const auto failed = [&](DriverStatus status, const std::string& what) {
    return ArmProblem{status, what + driver.Describe(status)};
  };
  if (DriverStatus done = driver.ModuleLoad(&loaded->module_, object.cubin.data()); !done) {
    loaded->module_ = nullptr;
    return failed(done, "its code cannot be loaded: ");
  }
  for (const Launch& launch : loaded->arm_.launches) {
    if (launch.kind == LaunchKind::kMemset) {
      loaded->launches_.push_back({&launch, nullptr});
      continue;
    }
    const auto at = std::find(kernels.begin(), kernels.end(), launch.kernel) - kernels.begin();
    CHECK(static_cast<std::size_t>(at) < object.names.size(), launch.kernel);
    CuFunction function = nullptr;
    const std::string& name = object.names[static_cast<std::size_t>(at)];
    if (DriverStatus done = driver.ModuleFunction(&function, loaded->module_, name.c_str());
        !done) {
      return failed(done, "kernel " + launch.kernel + ": ");
    }
    DriverStatus status;
    if (std::string problem = loaded->Prepare(launch, function, status); !problem.empty()) {
      return ArmProblem{status, std::move(problem)};
    }
    loaded->launches_.push_back({&launch, function});
  }
  for (const Scratch& scratch : loaded->arm_.scratch) {
    const std::size_t bytes = static_cast<std::size_t>(scratch.elements) * SizeOf(scratch.dtype);
    if (DriverStatus done = loaded->scratch_.emplace_back().Allocate(gpu, bytes); !done) {
      return failed(done, "scratch " + scratch.name + " of " + std::to_string(bytes) + " B: ");
    }
  }
  return loaded;
}

// What the kernel and this GPU allow, in their own figures, before the driver says only that a
// value is invalid. Empty: it may be launched.
std::string GpuArm::Prepare(const Launch& launch, CuFunction function, DriverStatus& status) const {
  const Driver& driver = gpu_.driver();
  const auto attribute = [&](CuFunctionAttribute which) {
    int value = 0;
    if (DriverStatus done = driver.FunctionAttribute(&value, which, function); !done) status = done;
    return value;
  };
  const int max_threads = attribute(kCuMaxThreadsPerBlock);
  const int static_bytes = attribute(kCuStaticSharedBytes);
  const int registers = attribute(kCuRegisters);
  if (!status) return "kernel " + launch.kernel + ": " + driver.Describe(status);
  const std::uint64_t threads = Product(launch.block);
  if (threads == 0 || Product(launch.grid) == 0) {
    return "kernel " + launch.kernel + ": grid " + Sides(launch.grid) + " of blocks " +
           Sides(launch.block) + " is empty";
  }
  if (threads > static_cast<std::uint64_t>(std::max(max_threads, 0))) {
    return "kernel " + launch.kernel + ": a block of " + std::to_string(threads) +
           " threads; with its " + std::to_string(registers) + " registers a thread it allows " +
           std::to_string(max_threads);
  }
  const std::uint64_t shared = std::uint64_t{launch.dynamic_shared_bytes} +
                               static_cast<std::uint64_t>(std::max(static_bytes, 0));
  const auto allowed = static_cast<std::uint64_t>(gpu_.properties().max_shared_bytes);
  if (shared > allowed) {
    return "kernel " + launch.kernel + ": " + std::to_string(shared) +
           " B of shared memory needed, " + std::to_string(allowed) + " B allowed a block";
  }
  if (launch.dynamic_shared_bytes > 0) {
    status = driver.SetFunctionAttribute(function, kCuMaxDynamicSharedBytes,
                                         static_cast<int>(launch.dynamic_shared_bytes));
    if (!status) {
      return "kernel " + launch.kernel + ": " + std::to_string(launch.dynamic_shared_bytes) +
             " B of dynamic shared memory: " + driver.Describe(status);
    }
  }
  if (Product(launch.cluster) > kPortableClusterBlocks) {
    status = driver.SetFunctionAttribute(function, kCuNonPortableClusterAllowed, 1);
    if (!status) {
      return "kernel " + launch.kernel + ": clusters of " +
             std::to_string(Product(launch.cluster)) + " blocks: " + driver.Describe(status);
    }
  }
  return {};
}

GpuArm::~GpuArm() {
  if (module_ != nullptr) static_cast<void>(gpu_.driver().ModuleUnload(module_).code);
}

DriverStatus GpuArm::PoisonScratch() const {
  for (const GuardedGpuMemory& memory : scratch_) {
    const DriverStatus done =
        gpu_.driver().SetBytes(memory.data(), 0xff, memory.bytes(), gpu_.stream());
    if (!done) return done;
  }
  return {};
}

DriverStatus GpuArm::Call(const std::vector<CuAddress>& buffers,
                          const std::vector<std::size_t>& buffer_bytes,
                          const std::vector<std::int64_t>& scalars) const {
  const Driver& driver = gpu_.driver();
  CuAddress addresses[64];
  void* pointers[64];
  for (const Ready& ready : launches_) {
    const Launch& launch = *ready.launch;
    if (ready.function == nullptr) {
      const Argument& target = launch.arguments.front();
      const bool buffer = target.kind == Argument::Kind::kBuffer;
      const DriverStatus done = driver.SetBytes(
          buffer ? buffers[target.index] : scratch_[target.index].data(), launch.byte,
          buffer ? buffer_bytes[target.index] : scratch_[target.index].bytes(), gpu_.stream());
      if (!done) return done;
      continue;
    }
    CHECK(launch.arguments.size() <= std::size(pointers), launch.arguments.size());
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const Argument& argument = launch.arguments[i];
      switch (argument.kind) {
        case Argument::Kind::kBuffer:
          addresses[i] = buffers[argument.index];
          break;
        case Argument::Kind::kScratch:
          addresses[i] = scratch_[argument.index].data();
          break;
        case Argument::Kind::kScalar:
          // The driver takes as many bytes as the parameter has: the low ones of a 32-bit one.
          addresses[i] = static_cast<CuAddress>(scalars[argument.index]);
          break;
      }
      pointers[i] = &addresses[i];
    }
    DriverStatus done;
    if (Product(launch.cluster) <= 1) {
      done = driver.Launch(ready.function, launch.grid[0], launch.grid[1], launch.grid[2],
                           launch.block[0], launch.block[1], launch.block[2],
                           launch.dynamic_shared_bytes, gpu_.stream(), pointers, nullptr);
    } else {
      CuLaunchAttribute cluster{};
      cluster.id = kCuAttributeClusterDimension;
      cluster.value.cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
      const CuLaunchConfig config{launch.grid[0],
                                  launch.grid[1],
                                  launch.grid[2],
                                  launch.block[0],
                                  launch.block[1],
                                  launch.block[2],
                                  launch.dynamic_shared_bytes,
                                  gpu_.stream(),
                                  &cluster,
                                  1};
      done = driver.LaunchEx(&config, ready.function, pointers, nullptr);
    }
    if (!done) return done;
  }
  return {};
}

}  // namespace pawl
