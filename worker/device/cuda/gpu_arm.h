#pragma once
// An arm on a GPU: its machine code loaded, its kernels found, its launches ready to be queued.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "schema/order.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/nvrtc.h"

namespace pawl {

// Why an arm cannot be used: with the driver's status where it was the driver's word.
struct ArmProblem {
  DriverStatus status;
  std::string detail;
};

class GpuArm {
 public:
  // Each load has static memory of its own, also of equal code. A problem is the arm's fault:
  // refused code, or a launch that this GPU or the kernel's own needs do not allow.
  static std::variant<std::unique_ptr<GpuArm>, ArmProblem> Load(
      const Gpu& gpu, const Arm& arm, const std::vector<std::string>& kernels,
      const CudaObject& object);
  GpuArm(const GpuArm&) = delete;
  GpuArm& operator=(const GpuArm&) = delete;
  ~GpuArm();

  // Queues all launches once.
  DriverStatus Call(const std::vector<CuAddress>& buffers,
                    const std::vector<std::size_t>& buffer_bytes,
                    const std::vector<std::int64_t>& scalars) const;

  const std::vector<GuardedGpuMemory>& scratch() const { return scratch_; }
  DriverStatus PoisonScratch() const;
  const Arm& arm() const { return arm_; }

 private:
  struct Ready {
    const Launch* launch;
    CuFunction function;  // null: a fill
  };

  GpuArm(const Gpu& gpu, const Arm& arm) : gpu_(gpu), arm_(arm) {}
  std::string Prepare(const Launch& launch, CuFunction function, DriverStatus& status) const;

  const Gpu& gpu_;
  const Arm arm_;
  CuModule module_ = nullptr;
  std::vector<Ready> launches_;
  std::vector<GuardedGpuMemory> scratch_;
};

}  // namespace pawl
