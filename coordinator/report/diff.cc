#include "coordinator/report/diff.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pawl {
namespace {

// A name inside single quotes of a shell command.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Result<std::string> UnifiedDiff(const std::string& old_text, const std::string& old_name,
                                const std::string& new_text, const std::string& new_name) {
  if (old_text == new_text) return std::string();
  std::string folder = (std::filesystem::temp_directory_path() / "pawl-diff-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return Error{"cannot make a folder in " + folder};
  const std::string old_path = folder + "/old", new_path = folder + "/new";
  std::ofstream(old_path) << old_text;
  std::ofstream(new_path) << new_text;
  const std::string command = "diff -u --label " + Quoted(old_name) + " --label " +
                              Quoted(new_name) + " " + Quoted(old_path) + " " + Quoted(new_path);
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe != nullptr) {
    std::array<char, 4096> chunk;
    while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
      text.append(chunk.data(), got);
    }
    ::pclose(pipe);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (text.empty()) return Error{"diff(1) gave nothing; is diffutils installed?"};
  return text;
}

}  // namespace pawl
