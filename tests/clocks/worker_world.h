#pragma once
// Workers as whole processes over the stand-ins, in a folder of the test's own.

#include <dirent.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/clocks/nvml_world.h"

namespace pawl::test {

inline std::size_t Times(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

class WorkerClocks : public NvmlWorld {
 protected:
  // A worker with no coordinator there: it opens its device, pins, and waits.
  std::unique_ptr<Process> Start(std::vector<std::string> options, const std::string& told = "",
                                 int slot = 0) const {
    std::vector<std::string> arguments = {Program("pawl-worker"),
                                          "--connect",
                                          "ipc://" + (folder_ / "nobody"),
                                          "--state",
                                          folder_ / "state",
                                          "--slot",
                                          std::to_string(slot)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return std::make_unique<Process>(arguments, WorkerLog(slot), Environment(told));
  }
  std::string WorkerLog(int slot = 0) const { return folder_ / ("log-" + std::to_string(slot)); }
  static std::vector<std::string> Pin(const std::string& device = "cuda") {
    return {"--device", device, "--clocks", "pin", "--clock-mhz", "1200"};
  }
  // Processes that were told of this test's folder.
  std::string Processes() const {
    std::string found;
    DIR* const folder = ::opendir("/proc");
    CHECK(folder != nullptr);
    while (const dirent* entry = ::readdir(folder)) {
      if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
      const pid_t pid = std::atoi(entry->d_name);
      const std::string line = CommandLineOf(pid);
      if (line.find(folder_.path()) != std::string::npos) {
        found += std::to_string(pid) + " " + line + "\n";
      }
    }
    ::closedir(folder);
    return found;
  }
  ::testing::AssertionResult NothingIsLeft(const std::string& gpu = kGpu0) const {
    std::string processes;
    if (!WaitFor([&] { return (processes = Processes()).empty(); }, kPatienceMs)) {
      return ::testing::AssertionFailure() << "left running:\n" << processes;
    }
    return ComesFree(gpu);
  }
};

}  // namespace pawl::test
