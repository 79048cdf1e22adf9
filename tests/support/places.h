#pragma once
// Where a test finds the project's files and programs, and a folder of its own.

#include <string>

namespace pawl::test {

const std::string& SourceFolder();  // the checkout's root, absolute
const std::string& BinFolder();     // where the build puts its programs

// A fresh folder below the system's temporary one, removed with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void WriteFile(const std::string& path, const std::string& text);  // makes its folders
std::string ReadFile(const std::string& path);                     // empty when there is none

}  // namespace pawl::test
