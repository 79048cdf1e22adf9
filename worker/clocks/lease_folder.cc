#include "worker/clocks/lease_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr char kLease[] = ".lease";
constexpr char kLock[] = ".lock";
constexpr char kNew[] = ".new";  // not whole yet
constexpr mode_t kMode = 0644;

Error Failed(const std::string& path, const char* what) {
  return Error{path + ": " + what + ": " + std::strerror(errno), Advice::kRetry};
}

// A name that is a file's, whatever NVML said.
Status CheckName(const std::string& gpu) {
  const bool plain =
      !gpu.empty() && gpu.size() <= 96 && std::all_of(gpu.begin(), gpu.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-';
      });
  if (plain) return {};
  return Error{"'" + gpu + "' is not the UUID of a GPU", Advice::kReject};
}

Status WriteWhole(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return Failed(path, "fsync");
  return {};
}

Status SyncFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed(path, "open");
  const bool synced = ::fsync(fd) == 0;
  const Status status = synced ? Status() : Status(Failed(path, "fsync"));
  ::close(fd);
  return status;
}

// From /proc/PID/stat: "pid (any name) state ...", the start being the 22nd word.
std::optional<std::uint64_t> StartOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(text.substr(name_end + 1));
  std::string word;
  words >> word;
  if (word == "Z" || word == "X") return std::nullopt;
  for (int number = 4; number <= 22 && words >> word;) ++number;
  if (!words) return std::nullopt;
  return std::strtoull(word.c_str(), nullptr, 10);
}

}  // namespace

std::string DefaultLeaseFolder() {
  if (const char* folder = std::getenv("PAWL_CLOCK_LEASES"); folder && *folder) return folder;
  return "/run/pawl/clocks";
}

Result<Machine> ThisMachine() {
  Machine machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine.boot;
  machine.pid = ::getpid();
  machine.start_of = StartOf;
  if (machine.boot.empty() || !StartOf(machine.pid)) {
    return Error{"clocks: /proc does not tell this boot, or when this process started",
                 Advice::kReject};
  }
  return machine;
}

LeaseFolder::Hold::~Hold() { ::close(fd_); }

std::string LeaseFolder::FileOf(const std::string& gpu, const char* ending) const {
  return path_ + "/" + gpu + ending;
}

Status LeaseFolder::Make() {
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) {
    return Error{path_ + ": cannot be made: " + failed.message() +
                     (failed == std::errc::permission_denied ? "; root is needed" : ""),
                 Advice::kReject};
  }
  return {};
}

Result<std::unique_ptr<LeaseFolder::Hold>> LeaseFolder::Take(const std::string& gpu) {
  if (Status named = CheckName(gpu); !named) return named.error();
  const std::string path = FileOf(gpu, kLock);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0) return Failed(path, "open");
  auto hold = std::make_unique<Hold>(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return hold;
  if (errno == EWOULDBLOCK) return std::unique_ptr<Hold>();
  return Failed(path, "flock");
}

Result<std::vector<std::string>> LeaseFolder::Gpus() const {
  std::vector<std::string> gpus;
  std::error_code failed;
  if (!fs::exists(path_, failed) && !failed) return gpus;
  for (auto entry = fs::directory_iterator(path_, failed);
       !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const fs::path file = entry->path().filename();
    if (file.extension() == kLease && CheckName(file.stem().string())) {
      gpus.push_back(file.stem().string());
    }
  }
  if (failed) return Error{path_ + ": cannot be read: " + failed.message(), Advice::kRetry};
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

Result<std::optional<ClockLease>> LeaseFolder::Read(const std::string& gpu) const {
  if (Status named = CheckName(gpu); !named) return named.error();
  const std::string path = FileOf(gpu, kLease);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<ClockLease>();
    return Failed(path, "open");
  }
  std::ostringstream text;
  text << file.rdbuf();
  Result<ClockLease> lease = DecodeLease(text.str());
  if (lease && lease->gpu == gpu) return std::optional(*std::move(lease));
  return Error{path + ": " + (lease ? "names " + lease->gpu : lease.error().message) +
                   "; remove it once the clocks of that GPU are known to be reset",
               Advice::kReject};
}

Status LeaseFolder::Write(const ClockLease& lease) {
  if (Status named = CheckName(lease.gpu); !named) return named;
  const std::string path = FileOf(lease.gpu, kLease);
  const std::string made = FileOf(lease.gpu, kNew);
  const int fd = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0) return Failed(made, "open");
  const Status written = WriteWhole(fd, EncodeLease(lease), made);
  ::close(fd);
  if (!written) return written;
  if (std::rename(made.c_str(), path.c_str()) != 0) return Failed(path, "rename");
  return SyncFolder(path_);
}

Status LeaseFolder::Remove(const std::string& gpu) {
  const std::string path = FileOf(gpu, kLease);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Failed(path, "unlink");
  return SyncFolder(path_);
}

}  // namespace pawl
