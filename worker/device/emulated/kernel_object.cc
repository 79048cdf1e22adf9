#include "worker/device/emulated/kernel_object.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

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

// "_ZZ6kernelvE6a_tile" is "kernel()::a_tile": the last name; "a_tile.0" of a C function's is
// "a_tile".
std::string PlainName(const char* symbol) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : symbol;
  std::free(demangled);
  if (const std::size_t colons = name.rfind("::"); colons != std::string::npos) {
    name = name.substr(colons + 2);
  }
  return name.substr(0, name.find('.'));
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

std::vector<SharedVariable> KernelObject::SharedVariables() const {
  std::vector<SharedVariable> variables;
  Elf64_Ehdr file;
  if (object_.size() < sizeof file) return variables;
  std::memcpy(&file, object_.data(), sizeof file);
  const auto section = [&](std::size_t i, Elf64_Shdr& header) {
    const std::size_t at = file.e_shoff + i * file.e_shentsize;
    if (i >= file.e_shnum || at + sizeof header > object_.size()) return false;
    std::memcpy(&header, object_.data() + at, sizeof header);
    return header.sh_offset + header.sh_size <= object_.size();
  };
  for (std::size_t i = 0; i < file.e_shnum; ++i) {
    Elf64_Shdr symbols, names;
    if (!section(i, symbols) || symbols.sh_type != SHT_SYMTAB) continue;
    if (!section(symbols.sh_link, names)) continue;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, object_.data() + symbols.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_size == 0) continue;
      if (symbol.st_name >= names.sh_size) continue;
      const std::string name = object_.c_str() + names.sh_offset + symbol.st_name;
      variables.push_back({PlainName(name.c_str()), symbol.st_value, symbol.st_size});
    }
  }
  std::sort(variables.begin(), variables.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return variables;
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
    if (line.rfind("emulated/", 0) == 0 || line.rfind("pawl_", 0) == 0) continue;
    if (line == last) continue;
    text += (text.empty() ? "" : ", called at ") + line;
    last = line;
  }
  return text;
}

}  // namespace pawl
