#include "coordinator/service/own_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// What is open is what has that name.
bool IsAt(int fd, const std::string& path) {
  struct stat open {
  }, there{};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

// Those of this user's that nobody holds. What cannot be looked at or taken away stays.
void Sweep(const fs::path& places, const std::string& start) {
  std::error_code failed;
  for (fs::directory_iterator entry(places, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    if (!entry->path().filename().string().starts_with(start)) continue;
    const int fd = ::open(path.c_str(), kFolder);
    if (fd < 0) continue;
    struct stat status {};
    const bool ours = ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid();
    if (ours && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
    ::close(fd);
  }
}

}  // namespace

Result<std::unique_ptr<OwnFolder>> OwnFolder::Make(const std::string& kind) {
  std::error_code failed;
  const fs::path places = fs::temp_directory_path(failed);
  if (failed) return Error{"no folder for temporary files: " + failed.message()};
  const std::string start = "pawl-" + kind + "-";
  Sweep(places, start);
  while (true) {
    std::string path = (places / (start + "XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) {
      return Error{"cannot make a folder in " + places.string() + ": " + std::strerror(errno)};
    }
    // Somebody's sweep may have come in between: then he has it, and takes it away.
    const int lock = ::open(path.c_str(), kFolder);
    if (lock < 0 && errno != ENOENT) {
      return Error{"cannot open " + path + ": " + std::strerror(errno)};
    }
    if (lock < 0) continue;
    // A file system without locks has no sweep that takes anything away either.
    while (::flock(lock, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (IsAt(lock, path)) return std::unique_ptr<OwnFolder>(new OwnFolder(path, lock));
    ::close(lock);
  }
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace pawl
