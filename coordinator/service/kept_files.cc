#include "coordinator/service/kept_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace pawl {
namespace {

namespace fs = std::filesystem;

std::string Number(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

// The number in a name; 0: it is not one of these.
std::uint64_t NumberIn(const std::string& name, const std::string& stem,
                       const std::string& ending) {
  if (name.size() <= stem.size() + ending.size() || !name.starts_with(stem) ||
      !name.ends_with(ending)) {
    return 0;
  }
  std::uint64_t number = 0;
  const char* const begin = name.data() + stem.size();
  const char* const end = name.data() + name.size() - ending.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc() && rest == end ? number : 0;
}

Result<std::vector<std::string>> Names(const std::string& folder, const std::string& stem,
                                       const std::string& ending) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::exists(folder, error)) return names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (NumberIn(name, stem, ending) > 0) names.push_back(name);
  }
  if (error) return Error{"cannot read " + folder + ": " + error.message()};
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return NumberIn(a, stem, ending) < NumberIn(b, stem, ending);
  });
  return names;
}

Status Sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!synced) return Error{"cannot sync " + path + ": " + std::strerror(why)};
  return {};
}

Status WriteWhole(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return Error{"cannot write " + path + ": " + std::strerror(errno)};
  std::size_t done = 0;
  int why = 0;
  while (done < text.size() && why == 0) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      why = errno;
    }
  }
  if (why == 0 && ::fsync(fd) != 0) why = errno;
  if (::close(fd) != 0 && why == 0) why = errno;
  if (why != 0) return Error{"cannot write " + path + ": " + std::strerror(why)};
  return {};
}

}  // namespace

Result<std::vector<KeptFile>> ReadKept(const std::string& folder, const std::string& stem,
                                       const std::string& ending) {
  const auto names = Names(folder, stem, ending);
  if (!names) return names.error();
  std::vector<KeptFile> files;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    std::ifstream file;
    if (fs::is_regular_file(path, error)) file.open(path, std::ios::binary);
    if (!file.is_open()) {
      files.push_back({name, "", "cannot read " + path});
      continue;
    }
    std::ostringstream text;
    text << file.rdbuf();
    const bool whole = text || fs::file_size(path, error) == 0;  // of nothing, nothing is put in
    files.push_back({name, text.str(), whole ? "" : "cannot read " + path});
  }
  return files;
}

Status MakeKeepable(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{"cannot make " + folder + ": " + error.message()};
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return Error{"cannot keep files in " + folder + ": " + std::strerror(errno)};
}

Result<std::string> Keep(const std::string& folder, const std::string& stem,
                         const std::string& ending, const std::string& text) {
  if (Status made = MakeKeepable(folder); !made) return made.error();
  std::error_code error;
  const auto names = Names(folder, stem, ending);
  if (!names) return names.error();
  std::uint64_t number = names->empty() ? 0 : NumberIn(names->back(), stem, ending);
  const std::string draft = folder + "/." + stem + std::to_string(::getpid()) + ".part";
  fs::remove(draft, error);  // of a process of that number that was killed
  Status written = WriteWhole(draft, text);
  std::string name;
  // A name that another process took meanwhile stays its own.
  while (written) {
    name = stem + Number(++number) + ending;
    if (::link(draft.c_str(), (folder + "/" + name).c_str()) == 0) break;
    if (errno == EEXIST) continue;
    written = Error{"cannot make " + folder + "/" + name + ": " + std::strerror(errno)};
  }
  fs::remove(draft, error);
  if (!written) return written.error();
  if (Status synced = Sync(folder, O_RDONLY | O_DIRECTORY); !synced) return synced.error();
  return name;
}

}  // namespace pawl
