#include "tests/emulated/emulated_kernel.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>

#include "kernels/space.h"
#include "schema/check.h"
#include "tests/support/places.h"
#include "worker/device/emulated/arm_memory.h"
#include "worker/device/emulated/kernel_object.h"
#include "worker/device/emulated/unit_text.h"
#include "worker/device/fill.h"
#include "worker/device/host/compiler.h"
#include "worker/object_cache.h"

namespace pawl::test {
namespace {

// Of this process, gone with it.
const std::string& Folder() {
  struct Kept {
    std::string path = testing::TempDir() + "pawl-emulated-" + std::to_string(::getpid());
    Kept() { std::filesystem::create_directories(path); }
    ~Kept() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Kept kept;
  return kept.path;
}

double CpuSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::shared_ptr<const Operation> Kept(Result<Operation> operation) {
  CHECK(operation.has_value(), operation ? "" : operation.error().message);
  return std::make_shared<Operation>(*std::move(operation));
}

}  // namespace

std::shared_ptr<const Operation> LoadPackage(const std::string& folder) {
  return Kept(LoadOperation(SourceFolder() + "/" + folder));
}

std::shared_ptr<const Operation> LoadFiles(const std::map<std::string, std::string>& files,
                                           const std::string& name) {
  return Kept(LoadOperation(files, name));
}

Order OrderFor(std::shared_ptr<const Operation> operation, const std::string& structure,
               const std::string& settings, const std::vector<Scalar>& shape) {
  AuditPlan plan;
  plan.backend = "cuda";
  const Structure* found = operation->FindStructure("cuda", structure);
  CHECK(found != nullptr || structure == "committed", structure);
  Configuration configuration;
  if (found != nullptr) {
    const Result<Configuration> parsed = ParseConfiguration(settings, *found, found->start);
    CHECK(parsed.has_value(), parsed ? "" : parsed.error().message);
    configuration = *parsed;
  }
  plan.items = {{found, configuration, shape}};
  plan.operation = std::move(operation);
  Result<Order> order = AuditOrder(plan, 0, Attempt(1));
  CHECK(order.has_value(), order ? "" : order.error().message);
  return *std::move(order);
}

Order OneKernel(const std::string& launch, const std::string& source) {
  std::map<std::string, std::string> files = LoadPackage("tests/data/planted_cuda/twice")->files;
  for (auto file = files.begin(); file != files.end();) {
    file = file->first.rfind("cuda/", 0) == 0 ? files.erase(file) : std::next(file);
  }
  files["cuda/committed.toml"] = "[[committed]]\nsource = \"one.cu\"\n" + launch;
  files["cuda/one.cu"] = source;
  return OrderFor(LoadFiles(files, "twice"), "committed", "", {{"n", 1000}});
}

std::string FoundIn(const std::string& source, const std::string& launch) {
  constexpr const char* kBlocks =
      "kernel = \"one\"\ngrid = [\"ceil_div(n, 64)\", 1, 1]\nblock = [64, 1, 1]\n";
  const Report report = Audited(OneKernel(launch.empty() ? kBlocks : launch, source));
  return report.outcome.detail;
}

DeviceOptions EmulatedOptions() {
  DeviceOptions options;
  options.scratch = Folder() + "/scratch";
  options.cache = Folder() + "/cache";
  return options;
}

Device& DeviceNamed(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  std::unique_ptr<Device>& device = devices[name];
  if (device == nullptr) {
    Result<std::unique_ptr<Device>> opened = OpenDevice(name, EmulatedOptions());
    CHECK(opened.has_value(), opened ? "" : opened.error().message);
    device = *std::move(opened);
  }
  return *device;
}

Report Audited(const Order& order, const std::string& device) {
  Result<Execution> executed = DeviceNamed(device).Execute(order, [](Stage, ArmRole) {});
  CHECK(executed.has_value(), executed ? "" : executed.error().message);
  return std::move(executed->report);
}

Ran RunLaunches(const Order& order, const RunOrder& run) {
  static const auto cache = *ObjectCache::Open(EmulatedOptions().cache, 1 << 30);
  static const auto compiler = *Compiler::Open(EmulatedOptions().scratch, *cache, "tests");
  const Arm& arm = order.arms.front();
  const Unit unit = *EmulatedUnit(order, arm, *LimitsOf("sm_90"), run.watched);
  const Result<Built> built = compiler->Build(unit);
  CHECK(built && built->ok, built ? built->problem : built.error().message);
  std::vector<bool> launches;
  for (const Launch& launch : arm.launches) {
    launches.push_back(launch.kind == LaunchKind::kKernel);
  }
  const auto kernel = *KernelObject::Load(built->object, EmulatedOptions().scratch, launches);

  const ArmMemory memory = *ArmMemory::Allocate(order, arm);
  for (std::size_t i = 0; i < memory.ranges.size(); ++i) {
    const GlobalRange& range = memory.ranges[i];
    if (range.writable) {
      Poison(range.data, range.bytes);
    } else {
      FillBuffer(range.buffer, static_cast<std::uint32_t>(i), order.input_seeds.front(),
                 range.data);
    }
  }
  std::vector<std::int64_t> scalars;
  for (const Scalar& scalar : order.scalars) scalars.push_back(scalar.value);

  Ran ran;
  Emulator emulator(memory.ranges);
  const double start = CpuSeconds();
  for (std::size_t i = 0; i < arm.launches.size() && !ran.finding; ++i) {
    if (arm.launches[i].kind == LaunchKind::kMemset) {
      emulator.Memset(arm.launches[i]);
      continue;
    }
    const auto found = emulator.Run(*kernel, arm.launches[i], i, scalars, run);
    CHECK(found.has_value(), found ? "" : found.error().message);
    if (*found) ran.finding = (*found)->text;
  }
  ran.seconds = CpuSeconds() - start;
  for (const GlobalRange& range : memory.ranges) {
    std::vector<float>& values = ran.buffers[range.buffer.name];
    values.resize(range.bytes / sizeof(float));
    std::memcpy(values.data(), range.data, values.size() * sizeof(float));
  }
  return ran;
}

}  // namespace pawl::test
