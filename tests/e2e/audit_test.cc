// pawl audit, as a person would run it: coordinator, sockets, workers and the emulated device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Finished Audit(std::vector<std::string> arguments, const std::string& kernels = "kernels") {
  arguments.insert(arguments.begin(), {Program("pawl"), "audit"});
  arguments.insert(arguments.end(), {"--kernels", Source(kernels)});
  return RunToEnd(arguments, 200'000);
}

TEST(AuditCommand, ChecksEveryConfigurationOfTheListAndSaysWhatWasRefused) {
  const Finished run = Audit({"layer_norm", "--shapes", "rows=8,width=128", "--shapes",
                              "rows=1,width=100", "--sample", "3", "--json", "--workers", "2"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> lines = JsonLines(run.out);
  ASSERT_GE(lines.size(), 2U);
  const json& summary = lines.back();
  EXPECT_EQ(summary["failed"], 0);
  EXPECT_EQ(summary["passed"], summary["listed"]);
  EXPECT_EQ(summary["listed"].get<std::size_t>(), lines.size() - 1);
  EXPECT_GT(summary["refused"].get<int>(), 0);
  EXPECT_THAT(summary["refused_why"]["shape"]["example"].get<std::string>(),
              HasSubstr("rows are not a multiple of the block's"));
  bool committed = false;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["outcome"], "measured");
    EXPECT_GT(lines[i]["elements"].get<int>(), 0);
    committed = committed || lines[i]["structure"] == "committed";
  }
  EXPECT_TRUE(committed);
}

TEST(AuditCommand, FailsOnOneFaultAndNamesIt) {
  const Finished run = Audit({"twice", "--shapes", "n=1000", "--device", "emulated:sm_90"},
                             "tests/data/planted_cuda");
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("off_by_one: fault=true at n=1000"),
                             HasSubstr("off_by_one.cu:8: thread (39,0,0) of block (15,0,0) reads 4 "
                                       "bytes out of range: X element 1000, of 1000")));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("off_by_one: fault=false")));
  EXPECT_THAT(run.out, HasSubstr("FAILED  listed"));
}

// Results come in the order in which they are ready; what they are depends on nothing.
TEST(AuditCommand, FindsTheSameWithAnyNumberOfWorkers) {
  TempFolder folder;
  std::vector<std::map<std::string, std::string>> found;
  for (const char* workers : {"1", "3"}) {
    const Finished run =
        Audit({"row_sum", "--shapes", "rows=6,width=128", "--device", "emulated:sm_90", "--workers",
               workers, "--json", "--state", folder / "state"},
              "tests/data/planted_cuda");
    EXPECT_EQ(run.code, 1) << run.err;
    std::map<std::string, std::string> findings;
    for (const json& line : JsonLines(run.out)) {
      if (!line.contains("outcome")) continue;
      findings[line["structure"].get<std::string>() + line["configuration"].get<std::string>()] =
          line["why"];
    }
    found.push_back(std::move(findings));
  }
  EXPECT_GT(found[0].size(), 10U);
  EXPECT_EQ(found[0], found[1]);
}

// A kernel that takes its runner down is its own failure and nobody else's.
TEST(AuditCommand, OutlivesAKernelThatCrashes) {
  const Finished run =
      Audit({"planted", "--backend", "host", "--shapes", "n=100", "--deadline", "5", "--json"},
            "tests/data/packages");
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  const std::vector<json> lines = JsonLines(run.out);
  std::size_t crashed = 0, hung = 0, passed = 0;
  for (const json& line : lines) {
    if (!line.contains("outcome")) continue;
    if (line["outcome"] == "crashed") ++crashed;
    if (line["outcome"] == "hung") ++hung;
    if (line["passed"] == true) ++passed;
  }
  EXPECT_GT(crashed, 0U);
  EXPECT_EQ(hung, 1U);
  EXPECT_GT(passed, 0U);
  EXPECT_EQ(lines.back()["listed"].get<std::size_t>(), lines.size() - 1);
}

TEST(AuditCommand, ThatCheckedNothingHasNotPassed) {
  const Finished run = Audit({"gemm", "--shapes", "m=64,n=64,k=64"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("structure clblast has no source"),
                             HasSubstr("nothing was checked, so nothing has passed")));
}

TEST(AuditCommand, ThatCheckedNothingOfAStructureHasNotPassed) {
  const std::vector<std::string> odd = {"layer_norm", "--shapes", "rows=1,width=3", "--sample",
                                        "1"};
  const Finished run = Audit(odd);
  EXPECT_EQ(run.code, 1) << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("nothing of structure split was checked: none of its "),
                             HasSubstr("FAILED  listed")));
  std::vector<std::string> as_json = odd;
  as_json.push_back("--json");
  const json summary = JsonLines(Audit(as_json).out).back();
  EXPECT_EQ(summary["failed"], 0);
  EXPECT_TRUE(summary["unchecked"].contains("split")) << summary;
}

TEST(AuditCommand, SaysWhatItCannotTake) {
  const auto error = [](std::vector<std::string> arguments) {
    const Finished run = Audit(std::move(arguments));
    EXPECT_NE(run.code, 0);
    return run.err;
  };
  EXPECT_THAT(error({"matmull"}), HasSubstr("nearest is 'matmul'"));
  EXPECT_THAT(error({"matmul", "--backend", "vulkan"}), HasSubstr("has no backend 'vulkan'"));
  EXPECT_THAT(error({"matmul", "--shapes", "m=256,n"}), HasSubstr("'m=256,n' is no shape"));
  EXPECT_THAT(error({"matmul", "--shapes", "m=256"}), HasSubstr("shape letter 'n' is missing"));
  EXPECT_THAT(error({"matmul", "--device", "emulated:sm_75"}),
              HasSubstr("architecture 'sm_75' is not known"));
  EXPECT_THAT(error({"matmul", "--device", "host"}), HasSubstr("the audit is of backend cuda"));
}

}  // namespace
}  // namespace pawl::test
