#pragma once
// A shared library that is opened at run time, function by function: nothing of NVIDIA's is linked,
// so that one program runs with and without it.

#include <string>
#include <vector>

#include "schema/result.h"

namespace pawl {

// Where a library may be. `variable`: an environment variable that names a file to open instead of
// all others: for one in an unusual place, and for tests that bring a stand-in.
struct LibraryPlaces {
  std::string what;                // "NVIDIA driver", for messages
  std::string variable;            // "PAWL_LIBCUDA"
  std::vector<std::string> names;  // as the loader finds them, in this order
  bool in_toolkit = false;  // also looked for below CUDA_HOME, CUDA_PATH and /usr/local/cuda*
};

class Library {
 public:
  // Errors: none can be loaded, with what the loader said of the first name.
  static Result<Library> Open(const LibraryPlaces& places);

  // Null when the library has no such function.
  void* Find(const char* symbol) const;
  // The same; an error names library and function.
  Status Require(const char* symbol, void*& function) const;

  const std::string& path() const { return path_; }  // of the file that was loaded

 private:
  Library(std::string what, void* handle, std::string path)
      : what_(std::move(what)), handle_(handle), path_(std::move(path)) {}

  std::string what_;
  void* handle_;  // never closed: its threads and handlers may outlive any caller
  std::string path_;
};

}  // namespace pawl
