// The shipped kernels on the emulated device, where an audit's list does not take them: the
// controls at every kind of shape they are chosen for, and what needs clusters.

#include <gmock/gmock.h>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

using testing::HasSubstr;

std::string Shape(const std::vector<Scalar>& shape) {
  std::string text;
  for (const Scalar& letter : shape) text += letter.name + "=" + std::to_string(letter.value) + " ";
  return text;
}

// The control of a package at a shape is this kernel, and right.
void ExpectControl(const std::string& operation, const std::vector<Scalar>& shape,
                   const std::string& kernel) {
  SCOPED_TRACE(operation + " at " + Shape(shape));
  const Order order = OrderFor(LoadPackage("kernels/" + operation), "committed", "", shape);
  EXPECT_EQ(order.arms.front().launches.front().kernel, kernel);
  const Report report = Audited(order, "emulated:sm_89");
  EXPECT_EQ(report.outcome, (Outcome{OutcomeKind::kMeasured, std::nullopt, ""}));
}

TEST(CommittedKernels, OfMatmulCoverEveryShape) {
  const auto expect = [](std::int64_t m, std::int64_t n, std::int64_t k,
                         const std::string& kernel) {
    ExpectControl("matmul", {{"m", m}, {"n", n}, {"k", k}}, kernel);
  };
  expect(128, 192, 128, "matmul_pipeline");
  expect(64, 64, 160, "matmul_pipeline");
  expect(128, 64, 96, "matmul_registers");   // too short for the pipeline
  expect(64, 128, 140, "matmul_registers");  // the last step is a part of one
  expect(64, 64, 4, "matmul_registers");
  expect(64, 64, 130, "matmul_naive");
  expect(17, 19, 23, "matmul_naive");
  expect(1, 1, 1, "matmul_naive");
}

TEST(CommittedKernels, OfLayerNormCoverEveryShape) {
  const auto expect = [](std::int64_t rows, std::int64_t width, const std::string& kernel) {
    ExpectControl("layer_norm", {{"rows", rows}, {"width", width}}, kernel);
  };
  expect(3, 768, "layer_norm_block");
  expect(2, 516, "layer_norm_block");  // one quad more than a block has threads
  expect(5, 264, "layer_norm_two_warps");
  expect(4, 504, "layer_norm_two_warps");
  expect(9, 260, "layer_norm_warp");  // two warps would share 65 quads
  expect(3, 257, "layer_norm_warp");
  expect(8, 128, "layer_norm_warp");
  expect(2, 1, "layer_norm_warp");
}

// Ways to split k over a cluster, with each path of A, with and without slices.
constexpr const char* kClusters[] = {
    "block=64x64 warp_tile=32x32 split=2",
    "block=64x64 warp_tile=32x32 split=4 slices=2 fixed_shape=true raster=8",
    "block=64x64 warp_tile=32x64 split=8 slices=2 a_path=copies stages=2 double_buffer=false",
    "block=128x64 warp_tile=64x32 split=4 slices=2 a_path=natural k_step=32 stages=2",
    "block=64x128 warp_tile=32x64 lanes_m=4 split=2 slices=2 a_path=natural",
    "block=64x64 warp_tile=64x32 split=2 slices=4 a_path=copies k_step=8",
};

Report Clustered(const std::string& settings, const std::vector<Scalar>& shape,
                 const std::string& device) {
  const Order order =
      OrderFor(LoadPackage("kernels/matmul"), "structured", settings + " reduction=cluster", shape);
  return Audited(order, device);
}

TEST(StructuredMatmul, AddsUpInAClusterWhereThereAreClusters) {
  for (const char* settings : kClusters) {
    for (const std::vector<Scalar>& shape :
         {std::vector<Scalar>{{"m", 128}, {"n", 128}, {"k", 128}},
          {{"m", 70}, {"n", 67}, {"k", 90}}}) {
      SCOPED_TRACE(settings + (" at " + Shape(shape)));
      const Report report = Clustered(settings, shape, "emulated:sm_90");
      EXPECT_EQ(report.outcome, (Outcome{OutcomeKind::kMeasured, std::nullopt, ""}));
    }
  }
}

TEST(StructuredMatmul, SaysThatClustersAreMissing) {
  const Report report =
      Clustered(kClusters[0], {{"m", 64}, {"n", 64}, {"k", 64}}, "emulated:sm_89");
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_THAT(report.outcome.detail,
              HasSubstr("reduction = cluster: clusters need sm_90 or newer"));
}

}  // namespace
}  // namespace pawl::test
