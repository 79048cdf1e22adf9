// Every planted fault of tests/data/planted_cuda is found, and what is said of it names the place;
// the same kernel without its fault passes.

#include <gmock/gmock.h>

#include <future>

#include "tests/emulated/emulated_kernel.h"
#include "worker/device/host/machine.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Matcher;

struct Planted {
  std::string operation;
  std::string structure;
  std::vector<Scalar> shape;  // at which it shows
  Matcher<const std::string&> says;
};

std::vector<Scalar> Rows(std::int64_t width) { return {{"rows", 6}, {"width", width}}; }
std::vector<Scalar> Elements(std::int64_t n) { return {{"n", n}}; }

const std::vector<Planted>& AllPlanted() {
  static const std::vector<Planted> planted = {
      {"row_sum", "missing_barrier", Rows(768),
       AllOf(HasSubstr("row_sum at row_sum/cuda/missing_barrier.cu:"),
             HasSubstr("reads sums in shared memory, byte 128 of 256 (word 32), which no thread of "
                       "the block has written yet: is a barrier missing?"))},
      {"row_sum", "divergent_barrier", Rows(768),
       AllOf(HasSubstr("wait at different barriers, so one lies in a divergent branch"),
             HasSubstr("divergent_barrier.cu:12"), HasSubstr("divergent_barrier.cu:19"))},
      {"twice", "missing_wait", Elements(1024),
       AllOf(HasSubstr("missing_wait.cu:15"),
             HasSubstr("reads tile in shared memory, byte 0 of 1024"),
             HasSubstr("an asynchronous copy of thread (0,0,0) of block (0,0,0) is still in "
                       "flight: not waited for by CpAsyncWait"))},
      {"twice", "wait_one_group_short", Elements(1024),
       AllOf(HasSubstr("reads tiles in shared memory"), HasSubstr("is still in flight"))},
      {"twice", "wrong_parity", Elements(1024),
       AllOf(HasSubstr("Y["), HasSubstr("256 of 1024 wrong; written by thread ("))},
      {"twice", "wrong_units", Elements(1024),
       AllOf(HasSubstr("wrong_units.cu:11"),
             HasSubstr("writes 4 bytes out of range: dynamic shared memory byte 1024, of 512"))},
      {"twice", "off_by_one", Elements(1024),
       AllOf(HasSubstr("off_by_one.cu:8"),
             HasSubstr("thread (63,0,0) of block (15,0,0) reads 4 bytes out of range: X element "
                       "1024, of 1024"))},
      {"twice", "misaligned_quad", Elements(1024),
       AllOf(HasSubstr("misaligned_quad.cu:9"), HasSubstr("reads 16 bytes of X[3] at once"),
             HasSubstr("no multiple of 16"))},
      {"row_sum", "double_counted_span", Rows(128), HasSubstr("Y[")},
      {"twice", "missing_tail_guard", Elements(1000),
       HasSubstr("thread (40,0,0) of block (15,0,0) reads 4 bytes out of range: X element 1000, of "
                 "1000")},
      {"row_sum", "unwritten_shared", Rows(768),
       AllOf(HasSubstr("unwritten_shared.cu:18"),
             HasSubstr("thread (2,0,0) of block (0,0,0) reads partial in shared memory, byte 8 of "
                       "128 (word 2), which no thread of the block has written"))},
      {"row_sum", "shared_race", Rows(768),
       AllOf(HasSubstr("shared_race.cu:11"), HasSubstr("race on shared memory: thread ("),
             HasSubstr("sum in shared memory"), HasSubstr("with no barrier between"))},
      {"twice", "unwritten_output", Elements(1024), HasSubstr("Y[192] was left unwritten")},
      {"row_sum", "unordered_sum", Rows(768),
       HasSubstr("not deterministic: Y[0] depends on the order in which blocks, warps or "
                 "asynchronous copies run")},
      {"row_sum", "missing_cluster_barrier", Rows(128),
       AllOf(HasSubstr("missing_cluster_barrier.cu:17"), HasSubstr("sum in shared memory"))},
      {"row_sum", "leaves_cluster", Rows(128),
       AllOf(HasSubstr("leaves_cluster.cu:17"),
             HasSubstr("leaves its cluster while thread (0,0,0) of block (0,0,0) uses its "
                       "shared memory: no cluster barrier lies between"))},
      // Beside the list of faults that a GPU hides: what is refused or caught by other means.
      {"twice", "writes_its_input", Elements(1024),
       AllOf(HasSubstr("writes_its_input.cu:9"), HasSubstr("writes to the input X[0]"))},
      {"twice", "overlapping_blocks", Elements(1024),
       AllOf(HasSubstr("overlapping_blocks.cu:9"),
             HasSubstr("race on global memory: thread (0,0,0) of block (1,0,0) writes Y[64], which "
                       "thread (63,0,0) of block (0,0,0) wrote, with nothing that orders the two "
                       "blocks between"))},
      {"row_sum", "divergent_shuffle", Rows(128),
       AllOf(HasSubstr("divergent_shuffle.cu:9"),
             HasSubstr("reads lane 16 by __shfl_down_sync(), which has left the kernel"))},
      {"twice", "array_overrun", Elements(1024),
       AllOf(HasSubstr("array_overrun.cu:14"),
             HasSubstr("uses index 16 of an array of type 'float [16]'"))},
  };
  return planted;
}

class PlantedFault : public testing::TestWithParam<std::size_t> {};

TEST_P(PlantedFault, IsFoundAndNamedAndItsAbsencePasses) {
  const Planted& planted = AllPlanted()[GetParam()];
  const auto package = LoadPackage("tests/data/planted_cuda/" + planted.operation);
  const auto audited = [&](const std::string& fault) {
    return Audited(OrderFor(package, planted.structure, "fault=" + fault, planted.shape));
  };
  const Report right = audited("false");
  EXPECT_EQ(right.outcome.kind, OutcomeKind::kMeasured) << right.outcome.detail;
  ASSERT_EQ(right.checks.size(), 1U);
  EXPECT_TRUE(right.checks[0].passed);
  EXPECT_GT(right.checks[0].elements, 0U);
  const Report wrong = audited("true");
  EXPECT_EQ(wrong.outcome.kind, OutcomeKind::kWrongOutput);
  EXPECT_EQ(wrong.outcome.arm, ArmRole::kCandidate);
  EXPECT_THAT(wrong.outcome.detail, planted.says);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::Range<std::size_t>(0, AllPlanted().size()),
                         [](const auto& which) { return AllPlanted()[which.param].structure; });

TEST(PlantedFaults, ADoubleCountedSpanIsRightWhereItIsAMultipleOf32) {
  const auto package = LoadPackage("tests/data/planted_cuda/row_sum");
  const Report report = Audited(OrderFor(package, "double_counted_span", "fault=true", Rows(768)));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kMeasured) << report.outcome.detail;
}

TEST(PlantedFaults, InlinePtxIsRefusedWithItsLineAndWhatToUse) {
  const auto package = LoadPackage("tests/data/planted_cuda/twice");
  const Report report = Audited(OrderFor(package, "inline_ptx", "fault=true", Elements(1024)));
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(report.outcome.detail,
            "twice/cuda/inline_ptx.cu:9: inline PTX, which the emulated device cannot run; use "
            "pawl_device.h's CpAsync4/8/16, CpAsyncCommit, CpAsyncWait, ClusterRank, ClusterSync "
            "or MapShared instead");
}

// The same findings again, by a worker of one core and by workers beside each other.
TEST(PlantedFaults, AreFoundTheSameWayAgain) {
  const auto package = LoadPackage("tests/data/planted_cuda/row_sum");
  std::vector<Order> orders;
  for (const char* structure : {"missing_barrier", "shared_race", "missing_cluster_barrier"}) {
    orders.push_back(OrderFor(package, structure, "fault=true", Rows(128)));
  }
  const auto audited = [&](const DeviceOptions& options) {
    std::vector<Report> reports;
    const auto device = OpenDevice("emulated:sm_90", options);
    for (const Order& order : orders) {
      auto executed = (*device)->Execute(order, [](Stage, ArmRole) {});
      reports.push_back(std::move(executed->report));
    }
    return reports;
  };
  std::vector<Report> first;
  for (const Order& order : orders) first.push_back(Audited(order));
  std::vector<DeviceOptions> workers(3, EmulatedOptions());
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].scratch += std::to_string(i);
  workers[0].cores = {ReadMachine({}).cores.front()};
  std::vector<std::vector<Report>> again = {audited(workers[0])};
  auto beside = std::async(std::launch::async, audited, workers[1]);
  again.push_back(audited(workers[2]));
  again.push_back(beside.get());
  for (const std::vector<Report>& reports : again) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      EXPECT_EQ(reports[i].outcome, first[i].outcome);
      EXPECT_EQ(reports[i].checks, first[i].checks);
    }
  }
}

}  // namespace
}  // namespace pawl::test
