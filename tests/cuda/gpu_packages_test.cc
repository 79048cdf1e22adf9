// Every shipped CUDA package on a real GPU, in this process: what compute-sanitizer is run over
// (scripts/gpu-check --sanitize). `pawl audit --device cuda:0` asks the same of workers.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "coordinator/search/audit.h"
#include "tests/support/places.h"
#include "worker/device/cuda/cuda_device.h"

namespace pawl {
namespace {

constexpr std::uint64_t kMostOfAStructure = 60;

// Beside the program in a bundle, else where it was built from.
std::filesystem::path Kernels() {
  std::error_code ignored;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto beside = bin / "../kernels";
  if (std::filesystem::exists(beside, ignored)) return beside;
  return test::SourceFolder() + "/kernels";
}

TEST(GpuPackages, AreRightOnEveryConfigurationOfTheirAuditLists) {
  // Only a GPU shows it; scripts/gpu-check refuses to begin where there is none.
  const std::vector<DeviceListing> listings = ListCuda();
  if (!listings.front().problem.empty()) {
    GTEST_SKIP() << "no GPU can be used here: " << listings.front().problem;
  }
  const test::TempFolder folder;
  DeviceOptions options;
  options.scratch = folder.path();
  options.cache = folder / "cache";
  Result<std::unique_ptr<Device>> device = OpenCuda("", options);
  ASSERT_TRUE(device) << device.error().message;
  std::size_t packages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Kernels())) {
    if (!std::filesystem::exists(entry.path() / "operation.toml")) continue;
    Result<Operation> operation = LoadOperation(entry.path().string());
    ASSERT_TRUE(operation) << operation.error().message;
    if (operation->FindBackend("cuda") == nullptr || operation->audit_shapes.empty()) continue;
    AuditRequest request;
    request.backend = "cuda";
    request.sample = kMostOfAStructure;
    Result<AuditPlan> plan = PlanAudit(std::make_shared<Operation>(*std::move(operation)), request);
    ASSERT_TRUE(plan) << plan.error().message;
    if (plan->items.empty()) continue;
    ++packages;
    std::size_t right = 0;
    for (std::size_t i = 0; i < plan->items.size(); ++i) {
      const Result<Order> order = AuditOrder(*plan, i, Attempt(1));
      ASSERT_TRUE(order) << order.error().message;
      const Result<Execution> execution = (*device)->Execute(*order, [](Stage, ArmRole) {});
      ASSERT_TRUE(execution) << plan->items[i].Name() << ": " << execution.error().message;
      const Outcome& outcome = execution->report.outcome;
      EXPECT_EQ(outcome.kind, OutcomeKind::kMeasured)
          << plan->items[i].Name() << ": " << outcome.detail;
      right += outcome.kind == OutcomeKind::kMeasured ? 1 : 0;
    }
    std::printf("package %-24s %zu of %zu kernels right\n", plan->operation->name.c_str(), right,
                plan->items.size());
  }
  EXPECT_GT(packages, 0u);
}

}  // namespace
}  // namespace pawl
