// Every shipped CUDA package on a real GPU, in this process: what compute-sanitizer is run over
// (scripts/gpu-check --sanitize). `pawl audit --device cuda:0` asks the same of workers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

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

std::vector<std::string> CudaPackages() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Kernels())) {
    if (!std::filesystem::exists(entry.path() / "operation.toml")) continue;
    const Result<Operation> operation = LoadOperation(entry.path().string());
    const Backend* const cuda = operation ? operation->FindBackend("cuda") : nullptr;
    // A package of recorded times alone has no audit shapes.
    if (cuda != nullptr && !operation->audit_shapes.empty()) names.push_back(operation->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A package, and which of kParts equal shares of its kernels: so that several processes can go
// through a large package at once.
constexpr std::size_t kParts = 12;
class GpuPackages : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

TEST_P(GpuPackages, AreRightOnTheirAuditList) {
  // Only a GPU shows it; scripts/gpu-check refuses to begin where there is none.
  const std::vector<DeviceListing> listings = ListCuda();
  if (!listings.front().problem.empty()) {
    GTEST_SKIP() << "no GPU can be used here: " << listings.front().problem;
  }
  const auto& [name, part] = GetParam();
  const test::TempFolder folder;
  DeviceOptions options;
  options.scratch = folder.path();
  options.cache = folder / "cache";
  const Result<std::unique_ptr<Device>> device = OpenCuda("", options);
  ASSERT_TRUE(device) << device.error().message;
  Result<Operation> operation = LoadOperation((Kernels() / name).string());
  ASSERT_TRUE(operation) << operation.error().message;
  AuditRequest request;
  request.backend = "cuda";
  request.sample = kMostOfAStructure;
  const Result<AuditPlan> plan =
      PlanAudit(std::make_shared<Operation>(*std::move(operation)), request);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_FALSE(plan->items.empty());  // a small package leaves its last shares empty
  std::size_t right = 0, all = 0;
  for (std::size_t i = part; i < plan->items.size(); i += kParts) {
    const Result<Order> order = AuditOrder(*plan, i, Attempt(1));
    ASSERT_TRUE(order) << order.error().message;
    const Result<Execution> execution = (*device)->Execute(*order, [](Stage, ArmRole) {});
    ASSERT_TRUE(execution) << plan->items[i].Name() << ": " << execution.error().message;
    const Outcome& outcome = execution->report.outcome;
    EXPECT_EQ(outcome.kind, OutcomeKind::kMeasured)
        << plan->items[i].Name() << ": " << outcome.detail;
    // Where a sanitizer is stopped, its log says how far it came.
    std::printf("%s  %s\n", std::string(Name(outcome.kind)).c_str(), plan->items[i].Name().c_str());
    std::fflush(stdout);
    ++all;
    right += outcome.kind == OutcomeKind::kMeasured ? 1 : 0;
  }
  std::printf("package %-24s %zu of %zu kernels right (share %zu of %zu)\n", name.c_str(), right,
              all, part + 1, kParts);
}

INSTANTIATE_TEST_SUITE_P(Shipped, GpuPackages,
                         testing::Combine(testing::ValuesIn(CudaPackages()),
                                          testing::Range<std::size_t>(0, kParts)),
                         [](const auto& which) {
                           return std::get<0>(which.param) + "_" +
                                  std::to_string(std::get<1>(which.param) + 1);
                         });

}  // namespace
}  // namespace pawl
