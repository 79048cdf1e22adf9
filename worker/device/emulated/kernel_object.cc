#include "worker/device/emulated/kernel_object.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "worker/device/generated_text.h"
#include "worker/device/host/subprocess.h"

// The C library's: the address of a module's thread-local block for this thread.
extern "C" void* __tls_get_addr(void*);

namespace pawl {
namespace {

struct Image {
  std::uintptr_t holds = 0;  // an address in it
  std::uintptr_t base = 0;
  std::uintptr_t begin = 0, end = 0;
  std::size_t tls_bytes = 0;
  std::size_t tls_module = 0;
};

int LookAt(dl_phdr_info* info, std::size_t, void* data) {
  Image& image = *static_cast<Image*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  std::size_t tls_bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_TLS) tls_bytes = header.p_memsz;
    if (header.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, info->dlpi_addr + header.p_vaddr);
    end = std::max<std::uintptr_t>(end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (image.holds < begin || image.holds >= end) return 0;
  image.base = info->dlpi_addr;
  image.begin = begin;
  image.end = end;
  image.tls_bytes = tls_bytes;
  image.tls_module = info->dlpi_tls_modid;
  return 1;
}

Image ImageOf(const void* at) {
  Image image;
  image.holds = reinterpret_cast<std::uintptr_t>(at);
  ::dl_iterate_phdr(LookAt, &image);
  return image;
}

}  // namespace

Result<std::unique_ptr<KernelObject>> KernelObject::Load(const std::string& object,
                                                         const std::string& scratch,
                                                         const std::vector<bool>& launches) {
  std::unique_ptr<KernelObject> kernel(new KernelObject(object, scratch, launches));
  if (Status loaded = kernel->Provide(1); !loaded) return loaded.error();
  return kernel;
}

Status KernelObject::Provide(std::size_t count) {
  while (loads_.size() < count) {
    Result<std::unique_ptr<Module>> module = Module::Load(object_, scratch_);
    if (!module) return module.error();
    LoadedKernel loaded;
    const Result<void*> unit = (*module)->Find("pawl_unit");
    if (!unit) return unit.error();
    loaded.unit = reinterpret_cast<PawlUnit* (*)()>(*unit)();
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      LaunchCall call = nullptr;
      if (launches_[i]) {
        const Result<void*> symbol = (*module)->Find("pawl_launch_" + std::to_string(i));
        if (!symbol) return symbol.error();
        call = reinterpret_cast<LaunchCall>(*symbol);
      }
      loaded.launches.push_back(call);
    }
    const Image image = ImageOf(*unit);
    loaded.base = image.base;
    loaded.image = image.begin;
    loaded.image_bytes = image.end - image.begin;
    if (image.tls_bytes > 0) {
      unsigned long index[2] = {image.tls_module, 0};
      loaded.shared = static_cast<std::byte*>(__tls_get_addr(index));
      loaded.shared_bytes = image.tls_bytes;
    }
    loaded.module = std::move(*module);
    loads_.push_back(std::move(loaded));
  }
  return {};
}

std::uint32_t KernelObject::most_shared_bytes() const {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (launches_[i]) most = std::max(most, shared_bytes(i));
  }
  return most;
}

std::uintptr_t KernelObject::HomeOf(std::uintptr_t at) const {
  for (std::size_t i = 1; i < loads_.size(); ++i) {
    if (loads_[i].Variable(at, file_)) return at - loads_[i].base + loads_[0].base;
  }
  return at;
}

void KernelObject::HandVariables(std::size_t to) {
  for (const pawl::Variable& variable : file_.device) {
    std::memcpy(reinterpret_cast<void*>(loads_[to].base + variable.offset),
                reinterpret_cast<const void*>(loads_[holder_].base + variable.offset),
                variable.bytes);
  }
  holder_ = to;
}

bool LoadedKernel::Variable(std::uintptr_t at, const ObjectFile& file) const {
  if (!Holds(at)) return false;
  return std::any_of(file.writable.begin(), file.writable.end(), [&](const auto& extent) {
    return at - base >= extent.begin && at - base < extent.end;
  });
}

std::string KernelObject::LineOf(const void* from) const {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const bool ours = std::any_of(loads_.begin(), loads_.end(),
                                [&](const LoadedKernel& load) { return load.Holds(at); });
  if (from == nullptr || !ours) return "";
  const std::string path = scratch_ + "/lines.so";
  std::ofstream(path, std::ios::binary) << object_;
  std::ostringstream offset;
  offset << "0x" << std::hex << at - 1 - ImageOf(from).base;
  std::error_code failed;
  const Result<Finished> asked = RunProgram(
      {"addr2line", "-i", "-e", std::filesystem::absolute(path, failed).string(), offset.str()},
      scratch_);
  std::filesystem::remove(path, failed);
  if (!asked || asked->exit_code != 0) return "";
  std::istringstream lines(asked->output);
  std::string line, text;
  std::string last;
  while (std::getline(lines, line)) {
    if (line.empty() || line.find('?') != std::string::npos) continue;
    line = line.substr(0, line.find(' '));  // " (discriminator 3)"
    // Names that the source gives its lines follow the folder it was built in.
    if (const std::size_t folder = line.find("/build."); folder != std::string::npos) {
      const std::size_t slash = line.find('/', folder + 1);
      if (slash != std::string::npos) line = line.substr(slash + 1);
    }
    if (line.rfind("emulated/", 0) == 0 || line.rfind("pawl_", 0) == 0 ||
        line.find(kLaunchMark) != std::string::npos) {
      continue;
    }
    if (line == last) continue;
    text += (text.empty() ? "" : ", called at ") + line;
    last = line;
  }
  return text;
}

}  // namespace pawl
