#include "worker/device/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace pawl {
namespace {

constexpr int kSuccess = 0;
constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION

// The line that says what is wrong: the first with "error", else the last that says anything.
std::string ProblemOf(const std::string& log) {
  std::istringstream lines(log);
  std::string line, chosen;
  while (std::getline(lines, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    chosen = line;
    if (line.find("error") != std::string::npos) break;
  }
  if (chosen.size() > 300) chosen.resize(300);
  return chosen;
}

// "// Cuda compilation tools, release 13.0, V13.0.88" in the head of what it makes.
std::string ReleaseIn(const std::string& ptx) {
  const std::size_t at = ptx.find(", V");
  if (at == std::string::npos) return {};
  const std::size_t end = ptx.find_first_not_of("0123456789.", at + 3);
  return ptx.substr(at + 3, end == std::string::npos ? end : end - at - 3);
}

// Equal units have equal logs.
std::string WithoutTimes(const std::string& log) {
  std::istringstream lines(log);
  std::string line, kept;
  while (std::getline(lines, line)) {
    if (line.find("Compile time = ") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

std::uint32_t NumberBefore(const std::string& line, const std::string& words) {
  const std::size_t at = line.find(words);
  if (at == std::string::npos) return 0;
  std::size_t first = at;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  return static_cast<std::uint32_t>(
      std::strtoul(line.substr(first, at - first).c_str(), nullptr, 10));
}

}  // namespace

Result<std::unique_ptr<Nvrtc>> Nvrtc::Open() {
  Result<Library> library = Library::Open(
      {"NVRTC", "PAWL_LIBNVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, true});
  if (!library) return library.error();
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc(std::move(*library)));
  const auto take = [&](const char* symbol, auto& function) -> Status {
    void* found = nullptr;
    if (Status required = nvrtc->library_.Require(symbol, found); !required) return required;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return {};
  };
  int (*version)(int*, int*) = nullptr;
  int (*arch_count)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
  for (const Status& taken :
       {take("nvrtcVersion", version), take("nvrtcGetNumSupportedArchs", arch_count),
        take("nvrtcGetSupportedArchs", archs), take("nvrtcGetErrorString", nvrtc->error_string_),
        take("nvrtcCreateProgram", nvrtc->create_), take("nvrtcDestroyProgram", nvrtc->destroy_),
        take("nvrtcAddNameExpression", nvrtc->add_name_),
        take("nvrtcCompileProgram", nvrtc->compile_),
        take("nvrtcGetLoweredName", nvrtc->lowered_name_),
        take("nvrtcGetProgramLogSize", nvrtc->log_size_), take("nvrtcGetProgramLog", nvrtc->log_),
        take("nvrtcGetCUBINSize", nvrtc->cubin_size_), take("nvrtcGetCUBIN", nvrtc->cubin_),
        take("nvrtcGetPTXSize", nvrtc->ptx_size_), take("nvrtcGetPTX", nvrtc->ptx_)}) {
    if (!taken) return taken.error();
  }
  int major = 0, minor = 0, count = 0;
  if (version(&major, &minor) != kSuccess || arch_count(&count) != kSuccess || count <= 0) {
    return Error{"NVRTC " + nvrtc->path() + " does not say its version", Advice::kReject};
  }
  nvrtc->version_ = std::to_string(major) + "." + std::to_string(minor);
  nvrtc->architectures_.resize(static_cast<std::size_t>(count));
  if (archs(nvrtc->architectures_.data()) != kSuccess) nvrtc->architectures_.clear();

  // It looks for its second half by name alone: found where the first was, when that was by path.
  const std::size_t slash = nvrtc->path().rfind('/');
  if (slash != std::string::npos) {
    const std::string half =
        nvrtc->path().substr(0, slash + 1) + "libnvrtc-builtins.so." + nvrtc->version_;
    static_cast<void>(::dlopen(half.c_str(), RTLD_NOW | RTLD_GLOBAL));
  }

  // Its exact release is only in what it makes.
  Program program = nullptr;
  std::size_t size = 0;
  const char* const options[] = {"--gpu-architecture=compute_80"};
  if (nvrtc->create_(&program, "", "release.cu", 0, nullptr, nullptr) == kSuccess &&
      nvrtc->compile_(program, 1, options) == kSuccess &&
      nvrtc->ptx_size_(program, &size) == kSuccess && size > 0) {
    std::string ptx(size, '\0');
    if (nvrtc->ptx_(program, ptx.data()) == kSuccess) {
      if (const std::string release = ReleaseIn(ptx); !release.empty()) nvrtc->version_ = release;
    }
  }
  if (program != nullptr) nvrtc->destroy_(&program);
  return nvrtc;
}

std::string Nvrtc::Describe(int result) const {
  const char* const text = error_string_(result);
  return text != nullptr ? text : "NVRTC error " + std::to_string(result);
}

CudaObject Nvrtc::Compile(const CudaUnit& unit) const {
  CudaObject object;
  std::vector<const char*> texts, names, options;
  for (const auto& [name, text] : unit.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string& option : unit.options) options.push_back(option.c_str());
  Program program = nullptr;
  int result = create_(&program, unit.text.c_str(), unit.name.c_str(),
                       static_cast<int>(names.size()), texts.data(), names.data());
  if (result != kSuccess) {
    object.problem = "nvrtcCreateProgram: " + Describe(result);
    return object;
  }
  for (const std::string& kernel : unit.kernels) {
    if (result == kSuccess) result = add_name_(program, kernel.c_str());
  }
  if (result == kSuccess) {
    result = compile_(program, static_cast<int>(options.size()), options.data());
  }
  std::size_t size = 0;
  if (log_size_(program, &size) == kSuccess && size > 1) {
    object.log.resize(size);
    if (log_(program, object.log.data()) != kSuccess) object.log.clear();
    object.log.resize(std::min(object.log.find('\0'), object.log.size()));
    object.log = WithoutTimes(object.log);
  }
  if (result == kSuccess) result = cubin_size_(program, &size);
  if (result == kSuccess) {
    object.cubin.resize(size);
    result = cubin_(program, object.cubin.data());
  }
  for (const std::string& kernel : unit.kernels) {
    const char* lowered = nullptr;
    if (result == kSuccess) result = lowered_name_(program, kernel.c_str(), &lowered);
    if (result == kSuccess) object.names.emplace_back(lowered);
  }
  destroy_(&program);
  object.ok = result == kSuccess && !object.cubin.empty();
  if (!object.ok) {
    object.cubin.clear();
    object.names.clear();
    object.problem = ProblemOf(object.log);
    if (result != kCompilation || object.problem.empty()) {
      object.problem = Describe(result) + (object.problem.empty() ? "" : ": " + object.problem);
    }
  }
  return object;
}

ResourceUse ParseResourceUse(const std::string& log) {
  ResourceUse use;
  std::istringstream lines(log);
  std::string line;
  while (std::getline(lines, line)) {
    use.registers = std::max(use.registers, NumberBefore(line, " registers"));
    use.shared_bytes = std::max(use.shared_bytes, NumberBefore(line, " bytes smem"));
    use.stack_bytes = std::max(use.stack_bytes, NumberBefore(line, " bytes stack frame"));
    use.spill_bytes +=
        NumberBefore(line, " bytes spill stores") + NumberBefore(line, " bytes spill loads");
  }
  return use;
}

}  // namespace pawl
