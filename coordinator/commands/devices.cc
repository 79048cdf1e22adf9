// pawl devices: what this machine can measure on, as pawl-worker finds it.

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coordinator/commands/command.h"
#include "coordinator/report/text.h"
#include "coordinator/service/worker_process.h"

namespace pawl {
namespace {

std::string List(const nlohmann::json& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word.get<std::string>();
  return text;
}

int Devices(bool as_json) {
  auto devices = ListWorkerDevices(WorkerProgram(), true);
  if (!devices) return Fail(devices.error().message);
  const bool colour = ColourWanted(STDOUT_FILENO);
  bool usable = false;
  for (const ListedDevice& device : *devices) {
    usable = usable || device.problem.empty();
    if (as_json) {
      std::printf("%s\n", device.json.c_str());
      continue;
    }
    const auto json = nlohmann::json::parse(device.json);
    const auto notes = json.value("notes", std::vector<std::string>());
    if (!device.problem.empty()) {
      std::printf("%s  %s\n", Paint(device.name, Tone::kDim, colour).c_str(),
                  device.problem.c_str());
      for (const std::string& note : notes) std::printf("      %s\n", note.c_str());
      continue;
    }
    std::printf("%s  %s\n", Paint(device.name, Tone::kStrong, colour).c_str(),
                device.model.c_str());
    std::printf("      backend %s; instruments %s; cores %u\n", device.backend.c_str(),
                List(json.value("instruments", nlohmann::json::array())).c_str(),
                json.value("cores", 0U));
    const double gflops = json.value("peak_gflops", 0.0);
    const double gbytes = json.value("peak_gbytes_per_s", 0.0);
    if (gflops > 0)
      std::printf("      peak %s float32", FormatRate(gflops * 1e9, "FLOP/s").c_str());
    if (gflops > 0 && gbytes > 0) std::printf(", %s", FormatRate(gbytes * 1e9, "B/s").c_str());
    if (gflops > 0) std::printf("\n");
    std::printf("      toolchain %s\n", json.value("toolchain", "").c_str());
    for (const std::string& note : notes) std::printf("      %s\n", note.c_str());
  }
  return usable ? kExitDone : Fail("no device can be used; see the reasons above");
}

}  // namespace

void AddDevices(CLI::App& app, int& code) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "what this machine can measure on");
  command->add_flag("--json", *as_json, "one JSON object a line");
  command->callback([as_json, &code] { code = Devices(*as_json); });
}

}  // namespace pawl
