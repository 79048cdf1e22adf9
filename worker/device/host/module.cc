#include "worker/device/host/module.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace pawl {
namespace {

// The threads of this process, by name of their folder.
std::set<std::string> Threads() {
  std::set<std::string> threads;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    threads.insert(entry.path().filename());
  }
  return threads;
}

// Libraries that a kernel brings along (OpenMP's, a BLAS) have threads that outlive a call: they
// stay.
void KeepLibraries(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return;
  while (map->l_prev != nullptr) map = map->l_prev;
  const link_map* own = nullptr;
  ::dlinfo(handle, RTLD_DI_LINKMAP, &own);
  for (; map != nullptr; map = map->l_next) {
    if (map == own || map->l_name == nullptr || *map->l_name != '/') continue;
    if (std::strstr(map->l_name, "/load.") != nullptr) continue;  // other arms
    if (void* kept = ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
      ::dlclose(kept);
  }
}

}  // namespace

Result<std::unique_ptr<Module>> Module::Load(const std::string& object,
                                             const std::string& scratch) {
  static std::atomic<std::uint64_t> next{0};
  std::error_code failed;
  const std::string path = std::filesystem::absolute(scratch, failed).string() + "/load." +
                           std::to_string(::getpid()) + "." + std::to_string(next.fetch_add(1)) +
                           ".so";
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(object.data(), static_cast<std::streamsize>(object.size()));
    file.close();
    if (!file) {
      const std::string why = std::strerror(errno);
      ::unlink(path.c_str());
      return Error{path + ": cannot write an object to load: " + why, Advice::kRetry};
    }
  }
  std::set<std::string> threads = Threads();
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ::unlink(path.c_str());
  if (handle == nullptr) {
    std::string why = ::dlerror();
    // The loader names a file that is gone.
    for (std::size_t at; (at = why.find(path + ": ")) != std::string::npos;) {
      why.erase(at, path.size() + 2);
    }
    return Error{why, Advice::kReject};
  }
  KeepLibraries(handle);
  return std::unique_ptr<Module>(new Module(handle, std::move(threads)));
}

Module::~Module() {
  // A thread that has come since may be the kernel's own: its code stays. Their number alone says
  // little, since threads of the module before may have ended meanwhile.
  const std::set<std::string> now = Threads();
  if (std::includes(threads_at_load_.begin(), threads_at_load_.end(), now.begin(), now.end())) {
    ::dlclose(handle_);
  }
}

Result<void*> Module::Find(const std::string& symbol) const {
  if (void* found = ::dlsym(handle_, symbol.c_str())) return found;
  return Error{"no symbol " + symbol + " in the object", Advice::kReject};
}

}  // namespace pawl
