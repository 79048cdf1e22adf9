#include "worker/sandbox/process_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "worker/cgroups.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "pawl-runner-";  // and the keeper's number

// One write call, as cgroup files want it. Why not; empty: done.
std::string WriteTo(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return path + ": " + std::strerror(errno);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  if (written == static_cast<ssize_t>(text.size())) return {};
  return path + ": " + std::strerror(error);
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Those of keepers that are gone. One that still has processes in it stays.
void RemoveLeft(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (name.rfind(kName, 0) != 0) continue;
    std::error_code ignored;
    if (!fs::exists("/proc/" + name.substr(kName.size()), ignored)) ::rmdir(it->path().c_str());
  }
}

}  // namespace

std::string PidsCgroup(const std::string& cgroups, const std::string& root) {
  std::string second_version;
  for (const Cgroup& cgroup : ParseCgroups(cgroups)) {
    if (cgroup.IsElsewhere()) continue;
    const std::string below = cgroup.path == "/" ? "" : cgroup.path;
    if (cgroup.Has("pids")) return root + "/pids" + below;
    if (cgroup.controllers.empty()) second_version = root + below;
  }
  std::error_code ignored;
  if (fs::exists(root + "/cgroup.controllers", ignored)) return second_version;
  return {};
}

ProcessLimit::ProcessLimit(const std::string& root, std::uint32_t processes) {
  const std::string own = PidsCgroup(ReadWhole("/proc/self/cgroup"), root);
  if (own.empty()) {
    problem_ = "no cgroup with the controller pids";
    return;
  }
  RemoveLeft(own);
  const std::string folder = own + "/" + std::string(kName) + std::to_string(::getpid());
  if (::mkdir(folder.c_str(), 0755) != 0) {
    problem_ = folder + ": " + std::strerror(errno);
    return;
  }
  folder_ = folder;
  std::error_code ignored;
  if (!fs::exists(folder + "/pids.max", ignored)) {
    WriteTo(own + "/cgroup.subtree_control", "+pids");
  }
  problem_ = WriteTo(folder + "/pids.max", std::to_string(processes));
  if (!problem_.empty()) Remove();
}

void ProcessLimit::Take(pid_t process) {
  if (folder_.empty()) return;
  problem_ = WriteTo(folder_ + "/cgroup.procs", std::to_string(process));
  if (!problem_.empty()) Remove();
}

void ProcessLimit::Remove() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
  folder_.clear();
}

}  // namespace pawl
