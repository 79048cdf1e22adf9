#include "worker/device/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdlib>

namespace pawl {
namespace {

std::string PathOf(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == nullptr) return name;
  return map->l_name;
}

std::vector<std::string> ToolkitFolders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const home = std::getenv(variable);
    if (home != nullptr && *home != '\0') folders.push_back(home);
  }
  folders.push_back("/usr/local/cuda");
  glob_t found{};
  if (::glob("/usr/local/cuda-*", 0, nullptr, &found) == 0) {
    // The newest last by name: looked at first.
    for (std::size_t i = found.gl_pathc; i-- > 0;) folders.push_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return folders;
}

}  // namespace

Result<Library> Library::Open(const LibraryPlaces& places) {
  std::string said;
  const auto load = [&](const std::string& name) -> void* {
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr && said.empty()) said = ::dlerror();
    return handle;
  };
  if (const char* chosen = std::getenv(places.variable.c_str()); chosen && *chosen != '\0') {
    if (void* handle = load(chosen)) return Library(places.what, handle, PathOf(handle, chosen));
    return Error{"no " + places.what + ": " + places.variable + " names " + chosen + ": " + said,
                 Advice::kReject};
  }
  for (const std::string& name : places.names) {
    if (void* handle = load(name)) return Library(places.what, handle, PathOf(handle, name));
  }
  if (places.in_toolkit) {
    for (const std::string& folder : ToolkitFolders()) {
      for (const char* below : {"/lib64/", "/lib/", "/extras/CUPTI/lib64/"}) {
        for (const std::string& name : places.names) {
          const std::string path = folder + below + name;
          if (void* handle = load(path)) return Library(places.what, handle, PathOf(handle, path));
        }
      }
    }
  }
  return Error{"no " + places.what + ": " + said + " (" + places.variable + " can name the file)",
               Advice::kReject};
}

void* Library::Find(const char* symbol) const { return ::dlsym(handle_, symbol); }

Status Library::Require(const char* symbol, void*& function) const {
  function = Find(symbol);
  if (function != nullptr) return {};
  return Error{what_ + " " + path_ + " has no function " + symbol + "; a newer one is needed",
               Advice::kReject};
}

}  // namespace pawl
