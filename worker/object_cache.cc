#include "worker/object_cache.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "pawlobj1";
constexpr std::size_t kHeadBytes = 8 + 32;
constexpr char kAside[] = "aside.";  // names of files that are being written begin so
constexpr std::chrono::minutes kLongestWrite(10);

// Names of files that are being written differ within a process by this, between processes by what
// they have drawn: runners in sandboxes all have the same number.
std::atomic<std::uint64_t> next_name{0};

std::string DrawnName() {
  std::uint64_t bits[2] = {};
  // Early at boot, at worst: then the time tells them apart.
  if (::getrandom(bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    bits[0] = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return std::to_string(bits[0]) + "." + std::to_string(bits[1]);
}

std::string ReadAll(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0) return {};
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t size = ::read(fd, bytes.data() + taken, bytes.size() - taken);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    taken += static_cast<std::size_t>(size);
  }
  bytes.resize(taken);
  return bytes;
}

}  // namespace

ObjectCache::ObjectCache(std::string folder, std::uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes), drawn_name_(DrawnName()) {}

Result<std::unique_ptr<ObjectCache>> ObjectCache::Open(const std::string& folder,
                                                       std::uint64_t max_bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return Error{folder + ": cannot make the object cache: " + failed.message(), Advice::kReject};
  }
  std::unique_ptr<ObjectCache> cache(new ObjectCache(folder, max_bytes));
  cache->Trim();
  return cache;
}

// Two levels, so that no folder holds tens of thousands of files.
std::string ObjectCache::PathOf(const Digest& key) const {
  const std::string hex = key.Hex();
  return folder_ + "/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

std::optional<std::string> ObjectCache::Get(const Digest& key) const {
  const std::string path = PathOf(key);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string bytes = ReadAll(fd);
  ::futimens(fd, nullptr);  // now used; a read-only folder only makes it older than it is
  ::close(fd);
  if (bytes.size() >= kHeadBytes && std::string_view(bytes).substr(0, kMagic.size()) == kMagic) {
    const Digest found = Sha256(std::string_view(bytes).substr(kHeadBytes));
    if (std::memcmp(found.bytes.data(), bytes.data() + kMagic.size(), found.bytes.size()) == 0) {
      bytes.erase(0, kHeadBytes);
      return bytes;
    }
  }
  ::unlink(path.c_str());
  return std::nullopt;
}

Status ObjectCache::Put(const Digest& key, std::string_view bytes) {
  const std::string path = PathOf(key);
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  const std::string aside =
      folder_ + "/" + kAside + drawn_name_ + "." + std::to_string(next_name.fetch_add(1));
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    const Digest digest = Sha256(bytes);
    file.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
    file.write(reinterpret_cast<const char*>(digest.bytes.data()),
               static_cast<std::streamsize>(digest.bytes.size()));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      const std::string why = std::strerror(errno);
      ::unlink(aside.c_str());
      return Error{aside + ": cannot write to the object cache: " + why, Advice::kRetry};
    }
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    ::unlink(aside.c_str());
    return Error{path + ": cannot write to the object cache: " + why, Advice::kRetry};
  }
  const std::lock_guard<std::mutex> lock(trimming_);
  total_bytes_ += kHeadBytes + bytes.size();
  if (total_bytes_ > max_bytes_) Trim();
  return {};
}

// Looks at the whole folder, and takes away the oldest until a tenth below the cap, so that the
// next look is a tenth of the cap away. Files left aside by a process that died go with their age
// like the others, but not those that somebody is writing just now.
void ObjectCache::Trim() {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::error_code failed;
  const fs::file_time_type being_written = fs::file_time_type::clock::now() - kLongestWrite;
  total_bytes_ = 0;
  for (fs::recursive_directory_iterator it(folder_, failed), end; !failed && it != end;
       it.increment(failed)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone) continue;
    const std::uint64_t bytes = it->file_size(gone);
    if (gone) continue;
    const fs::file_time_type used = it->last_write_time(gone);
    if (gone) continue;
    total_bytes_ += bytes;
    const bool aside = it->path().filename().string().rfind(kAside, 0) == 0;
    if (!aside || used < being_written) entries.push_back({it->path(), used, bytes});
  }
  if (total_bytes_ <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  const std::uint64_t goal = max_bytes_ - max_bytes_ / 10;
  for (const Entry& entry : entries) {
    if (total_bytes_ <= goal) return;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total_bytes_ -= entry.bytes;
  }
}

}  // namespace pawl
