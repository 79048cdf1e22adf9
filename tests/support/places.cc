#include "tests/support/places.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schema/check.h"

namespace pawl::test {

// The only file that is compiled with paths of the checkout, so that another checkout's objects are
// the same.
const std::string& SourceFolder() {
  static const std::string folder = PAWL_SOURCE_DIR;
  return folder;
}

const std::string& BinFolder() {
  static const std::string folder = PAWL_BIN_DIR;
  return folder;
}

TempFolder::TempFolder() {
  path_ = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
  CHECK(::mkdtemp(path_.data()) != nullptr, path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void WriteFile(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  CHECK(file.good(), path);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace pawl::test
