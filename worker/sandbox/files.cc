#include "worker/sandbox/files.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

extern char** environ;

namespace pawl {
namespace {

namespace fs = std::filesystem;

// Folders that become private and empty but for what a runner needs of them.
constexpr const char* kPrivate[] = {"/tmp", "/dev/shm"};
// Devices that change nothing outside.
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};
// Of GPUs: the driver's, those of integrated ones, and that of a virtual machine under Windows.
constexpr std::string_view kGpuDevices[] = {"nvidia", "nvhost", "nvmap", "nvgpu", "dxg"};
constexpr std::pair<const char*, const char*> kDeviceLinks[] = {{"fd", "/proc/self/fd"},
                                                                {"stdin", "/proc/self/fd/0"},
                                                                {"stdout", "/proc/self/fd/1"},
                                                                {"stderr", "/proc/self/fd/2"}};
// Of /proc, what root could write to without any capability.
constexpr const char* kProcReadOnly[] = {
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"};

std::string Why(const std::string& what) { return what + ": " + std::strerror(errno); }

bool IsIn(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

std::string Absolute(const std::string& path) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return failed ? path : whole.string();
}

// A path that is reached through a descriptor after something was mounted over it.
class Held {
 public:
  explicit Held(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_PATH | O_CLOEXEC)) {}
  Held(Held&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (fd_ >= 0) ::close(fd_);
  }

  const std::string& path() const { return path_; }

  // Shows it at `place`, which is made. False: not there, or it cannot be (errno).
  bool ShowAt(const std::string& place) const {
    struct stat info {};
    errno = ENOENT;
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) return false;
    std::error_code failed;
    if (S_ISDIR(info.st_mode)) {
      fs::create_directories(place, failed);
    } else if (!fs::exists(place, failed)) {
      fs::create_directories(fs::path(place).parent_path(), failed);
      const int made = ::open(place.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      if (made < 0) return false;
      ::close(made);
    }
    const std::string from = "/proc/self/fd/" + std::to_string(fd_);
    return ::mount(from.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
  }

 private:
  std::string path_;
  int fd_;
};

// By path: a folder comes before what lies in it.
using HeldPaths = std::map<std::string, Held>;

bool MountDisk(const std::string& folder, std::uint64_t bytes, const char* mode) {
  const std::string options = "size=" + std::to_string(bytes) + ",mode=" + mode;
  return ::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID, options.c_str()) == 0;
}

// The folder becomes an empty disk of its own; of `held`, what lay in it is there again.
bool MakePrivate(const std::string& folder, std::uint64_t bytes, const HeldPaths& held) {
  if (!MountDisk(folder, bytes, "1777")) return false;
  std::string shown;  // the last one: what lies in it is there with it
  for (const auto& [path, kept] : held) {
    if (!IsIn(path, folder) || (!shown.empty() && IsIn(path, shown))) continue;
    if (!kept.ShowAt(path)) {
      if (errno == ENOENT) continue;
      return false;
    }
    shown = path;
  }
  return true;
}

// A /dev of its own; `root` would otherwise write to disks through theirs.
bool MakeDevices(const HeldPaths& held) {
  std::vector<Held> devices;
  for (const char* const name : kDevices) devices.emplace_back(std::string("/dev/") + name);
  std::error_code failed;
  for (fs::directory_iterator it("/dev", failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    for (const std::string_view wanted : kGpuDevices) {
      if (name.compare(0, wanted.size(), wanted) == 0) devices.emplace_back(it->path().string());
    }
  }
  if (!MountDisk("/dev", 64 << 10, "755")) return false;
  for (const Held& device : devices) {
    // One that this machine does not have is not missed.
    if (!device.ShowAt(device.path()) && errno != ENOENT) return false;
  }
  for (const auto& [name, target] : kDeviceLinks) {
    static_cast<void>(::symlink(target, (std::string("/dev/") + name).c_str()));
  }
  ::mkdir("/dev/shm", 01777);
  for (const auto& [path, kept] : held) {
    const bool private_too = path == "/dev/shm" || IsIn(path, "/dev/shm");
    if (IsIn(path, "/dev") && !private_too) kept.ShowAt(path);
  }
  return true;
}

#ifdef MOUNT_ATTR_RDONLY
bool SetAttributes(const std::string& path, std::uint64_t set, std::uint64_t clear, bool below) {
  mount_attr attributes{};
  attributes.attr_set = set;
  attributes.attr_clr = clear;
  return ::mount_setattr(AT_FDCWD, path.c_str(), below ? AT_RECURSIVE : 0, &attributes,
                         sizeof attributes) == 0;
}
#endif

// "\040" stands for a space in /proc/self/mountinfo.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// A remounting names all flags: those that stay are what is there. (Flags that another namespace
// has locked must not be left out.)
bool Remount(const std::string& path, bool writable) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return false;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID;
  if (info.f_flag & ST_NODEV) flags |= MS_NODEV;
  if (info.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
  if (info.f_flag & ST_NOATIME) flags |= MS_NOATIME;
  if (info.f_flag & ST_NODIRATIME) flags |= MS_NODIRATIME;
  if (info.f_flag & ST_RELATIME) flags |= MS_RELATIME;
  if (!writable) flags |= MS_RDONLY;
  return ::mount(nullptr, path.c_str(), nullptr, flags, nullptr) == 0;
}

// Kernels before 5.12: mount by mount. One that nobody can look at is passed over.
bool RemountAllReadOnly() {
  std::ifstream mounts("/proc/self/mountinfo");
  std::vector<std::string> places;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string number, parent, device, root, place;
    if (words >> number >> parent >> device >> root >> place) places.push_back(Unescape(place));
  }
  if (places.empty()) return false;
  for (const std::string& place : places) {
    if (!Remount(place, false) && errno != EACCES && errno != ENOENT && errno != EINVAL) {
      return false;
    }
  }
  return true;
}

bool MakeAllReadOnly() {
#ifdef MOUNT_ATTR_RDONLY
  if (SetAttributes("/", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, true)) return true;
#endif
  return RemountAllReadOnly();
}

bool MakeWritable(const std::string& path) {
#ifdef MOUNT_ATTR_RDONLY
  if (SetAttributes(path, 0, MOUNT_ATTR_RDONLY, false)) return true;
#endif
  return Remount(path, true);
}

bool IsReadOnly(const std::string& path) {
  struct statvfs info {};
  return ::statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

// A path as it is written and as it is found when all links are followed.
void Hold(const std::string& path, HeldPaths& held) {
  if (path.empty()) return;
  std::error_code failed;
  const std::string plain = fs::absolute(path, failed).lexically_normal().string();
  const std::string whole = Absolute(path);
  held.try_emplace(whole, whole);
  held.try_emplace(plain, plain);
}

// Folders and files of this program that the private folders would hide: itself and its libraries.
void HoldOurselves(HeldPaths& held) {
  std::error_code failed;
  Hold(fs::read_symlink("/proc/self/exe", failed).parent_path().string(), held);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find(" /");
    if (path == std::string::npos) continue;
    for (const char* const folder : kPrivate) {
      if (IsIn(line.substr(path + 1), folder)) Hold(line.substr(path + 1), held);
    }
  }
}

// Why it failed; empty: done.
std::string CloseAll(const SandboxRequest& request, std::vector<std::string>& disks) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Why("making mounts private");
  }
  std::error_code failed;
  const std::string scratch = request.scratch.empty() ? "" : Absolute(request.scratch);
  if (!scratch.empty() && !fs::create_directories(scratch, failed) && failed) {
    return scratch + ": " + failed.message();
  }
  std::vector<std::string> written;
  for (const std::string& path : request.written) {
    if (path.empty()) continue;
    fs::create_directories(path, failed);
    written.push_back(Absolute(path));
  }
  const std::string here = fs::current_path(failed).string();

  HeldPaths held;
  HoldOurselves(held);
  for (const std::string& path : PathsOfTheEnvironment()) Hold(path, held);
  for (const std::string& path : request.shown) Hold(path, held);
  for (const std::string& path : request.written) Hold(path, held);
  Hold(scratch, held);
  Hold(here, held);
  if (request.gpu) Hold("/tmp/nvidia-mps", held);  // where its daemon for shared GPUs listens

  if (!MakeDevices(held)) return Why("making /dev");
  for (const char* const folder : kPrivate) {
    if (!MakePrivate(folder, request.disk_bytes, held)) return Why(std::string("making ") + folder);
    disks.push_back(folder);
  }
  for (const std::string& path : written) {
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      return Why(path);
    }
  }
  if (!scratch.empty()) {
    if (!MountDisk(scratch, request.disk_bytes, "700")) return Why(scratch);
    disks.push_back(scratch);
  }
  for (const std::string& path : request.hidden) {
    if (fs::is_directory(path, failed) && !MountDisk(path, 4 << 10, "500")) return Why(path);
  }
  if (!MakeAllReadOnly() || !IsReadOnly("/")) return Why("making mounts read-only");
  for (const std::string& disk : disks) {
    if (!MakeWritable(disk)) return Why(disk);
  }
  // One that cannot be written outside cannot be here: whoever writes to it says so.
  for (const std::string& path : written) MakeWritable(path);
  // Paths that are not absolute are looked up from here, in what is seen now.
  if (::chdir(here.c_str()) != 0 && ::chdir("/") != 0) return Why("/");
  return {};
}

// Their own /proc, or the one that is there, in which a program still finds itself.
std::string CloseProc(bool own_numbers, bool gpu) {
  std::string problem;
  if (!own_numbers) {
    if (!gpu) problem = "no process numbers of its own";
  } else if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    problem = Why("mounting /proc");
  }
  // A CUDA driver names its threads there.
  MakeWritable("/proc");
  for (const char* const path : kProcReadOnly) {
    if (::mount(path, path, nullptr, MS_BIND | MS_REC, nullptr) == 0) {
#ifdef MOUNT_ATTR_RDONLY
      if (SetAttributes(path, MOUNT_ATTR_RDONLY, 0, true)) continue;
#endif
      if (Remount(path, false)) continue;
    }
    if (errno != ENOENT && problem.empty()) problem = Why(path);
  }
  return problem;
}

}  // namespace

void CloseFiles(const SandboxRequest& request, bool own_numbers, SandboxReport& report) {
  const std::string problem = CloseAll(request, report.disks);
  report.parts.push_back({"files", problem});
  if (!problem.empty()) {
    report.disks.clear();
    report.parts.push_back({"proc", "files are not closed"});
    return;
  }
  report.parts.push_back({"proc", CloseProc(own_numbers, request.gpu)});
  // What was kept elsewhere: programs look here for places to write to.
  ::setenv("TMPDIR", "/tmp", 1);
  // Of the CUDA driver: otherwise below the home folder.
  ::setenv("CUDA_CACHE_PATH", "/tmp/cuda-cache", 1);
}

std::vector<std::string> PathsOfTheEnvironment() {
  std::vector<std::string> paths;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = std::min(text.find('='), text.size() - 1);
    const std::string_view name = text.substr(0, equals);
    if (name == "TMPDIR" || name == "TMP" || name == "TEMP") continue;
    std::istringstream values{std::string(text.substr(equals + 1))};
    for (std::string value; std::getline(values, value, ':');) {
      std::error_code failed;
      fs::path path = fs::path(value).lexically_normal();
      if (!fs::is_directory(path, failed)) path = path.parent_path();
      for (const char* const folder : kPrivate) {
        if (IsIn(value, folder) && fs::exists(path, failed)) {
          paths.push_back(path == folder ? value : path.string());
        }
      }
    }
  }
  return paths;
}

}  // namespace pawl
