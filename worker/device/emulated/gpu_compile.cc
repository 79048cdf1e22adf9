#include "worker/device/emulated/gpu_compile.h"

#include <algorithm>
#include <cstring>

#include "worker/device/cuda/source_text.h"

namespace pawl {
namespace {

Digest KeyOf(const CudaUnit& unit, const std::string& version) {
  Hasher hasher;
  hasher.Field("emulated nvrtc 1").Field(version).Field(unit.text);
  for (const auto& [name, text] : unit.headers) hasher.Field(name).Field(text);
  for (const std::string& option : unit.options) hasher.Field(option);
  for (const std::string& kernel : unit.kernels) hasher.Field(kernel);
  return hasher.Finish();
}

}  // namespace

GpuCompile::GpuCompile(ObjectCache& cache, int sm) : cache_(cache), sm_(sm) {
  Result<std::unique_ptr<Nvrtc>> opened = Nvrtc::Open();
  if (!opened) {
    note_ = "no NVRTC: no source is compiled for a GPU";
    return;
  }
  note_ = "NVRTC " + (*opened)->version() + " (" + (*opened)->path() + ")";
  const std::vector<int>& made = (*opened)->architectures();
  if (std::find(made.begin(), made.end(), sm) == made.end()) {
    note_ += ", which makes no code for sm_" + std::to_string(sm);
    return;
  }
  nvrtc_ = std::move(*opened);
}

std::optional<GpuCompile::Answer> GpuCompile::Compile(const Order& order, const Arm& arm) {
  if (nvrtc_ == nullptr) return std::nullopt;
  const CudaUnit unit = KernelUnitFor(order.sources[*arm.source], order.headers, arm.launches,
                                      order.build_options, sm_);
  Answer answer;
  const Digest key = KeyOf(unit, nvrtc_->version());
  if (const std::optional<std::string> kept = cache_.Get(key);
      kept && kept->size() == sizeof answer.use) {
    std::memcpy(&answer.use, kept->data(), sizeof answer.use);
    return answer;
  }
  const CudaObject object = nvrtc_->Compile(unit);
  if (!object.ok) {
    answer.problem = "NVRTC for sm_" + std::to_string(sm_) + ": " + object.problem;
    return answer;
  }
  answer.use = ParseResourceUse(object.log);
  // What cannot be kept is asked again.
  static_cast<void>(
      cache_.Put(key, {reinterpret_cast<const char*>(&answer.use), sizeof answer.use}).has_value());
  return answer;
}

}  // namespace pawl
