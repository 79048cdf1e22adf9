#pragma once
// A folder of a test's own, gone at its end.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "schema/check.h"

namespace pawl {

class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
    CHECK(::mkdtemp(path_.data()) != nullptr, path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pawl
