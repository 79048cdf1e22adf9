#include "worker/device/cuda/driver.h"

#include <cstdlib>

namespace pawl {

Result<std::unique_ptr<Driver>> Driver::Open() {
  // A kernel's code is on the GPU when it is first timed.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  // Devices are numbered as nvidia-smi numbers them.
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  Result<Library> library =
      Library::Open({"NVIDIA driver", "PAWL_LIBCUDA", {"libcuda.so.1"}, false});
  if (!library) return library.error();
  std::unique_ptr<Driver> driver(new Driver(std::move(*library)));
  const auto take = [&](const char* symbol, auto& function) -> Status {
    void* found = nullptr;
    if (Status required = driver->library_.Require(symbol, found); !required) return required;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return {};
  };
  if (Status taken = take("cuGetErrorName", driver->error_name_); !taken) return taken.error();
  if (Status taken = take("cuGetErrorString", driver->error_string_); !taken) return taken.error();
#define PAWL_X(member, symbol, ...)                                   \
  if (Status taken = take(symbol, driver->member.function); !taken) { \
    return taken.error();                                             \
  }
  PAWL_DRIVER_FUNCTIONS(PAWL_X)
#undef PAWL_X
  const auto refuse = [&](DriverStatus status) {
    return Error{"NVIDIA driver: " + driver->Describe(status), Advice::kReject};
  };
  if (DriverStatus done = driver->Init(0); !done) return refuse(done);
  int version = 0;
  if (DriverStatus done = driver->DriverVersion(&version); !done) return refuse(done);
  driver->cuda_version_ =
      std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  return driver;
}

std::string Driver::Describe(DriverStatus status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string described = std::string(status.call) + ": ";
  if (error_name_(status.code, &name) != kCuSuccess || name == nullptr) {
    return described + "error " + std::to_string(status.code);
  }
  described += name;
  if (error_string_(status.code, &text) == kCuSuccess && text != nullptr) {
    described += " (" + std::string(text) + ")";
  }
  return described;
}

FaultKind FaultOf(CuResult code) {
  switch (code) {
    case kCuIllegalAddress:
    case kCuAssert:
    case kCuHardwareStackError:
    case kCuIllegalInstruction:
    case kCuMisalignedAddress:
    case kCuInvalidAddressSpace:
    case kCuInvalidPc:
    case kCuLaunchFailed:
    case kCuTensorMemoryLeak:
      return FaultKind::kCrashed;
    case kCuLaunchTimeout:
      return FaultKind::kHung;
    case kCuLaunchOutOfResources:
      return FaultKind::kLaunch;
    case kCuDeviceUnavailable:
    case kCuNoDevice:
    case kCuEccUncorrectable:
    case kCuNvlinkUncorrectable:
    case kCuContained:
    case kCuSystemNotReady:
    case kCuUnknown:
      return FaultKind::kDevice;
    default:
      return FaultKind::kNone;
  }
}

}  // namespace pawl
