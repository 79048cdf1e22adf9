// pawl audit, as a person would run it: coordinator, sockets, workers and the emulated device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
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

// The command line of one worker's audit of a package that the tests bring.
std::vector<std::string> AuditOnHost(const std::string& package) {
  return {Program("pawl"),
          "audit",
          package,
          "--backend",
          "host",
          "--shapes",
          "n=100",
          "--workers",
          "1",
          "--kernels",
          Source("tests/data/packages")};
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
  EXPECT_THAT(error({"matmul", "--shapes", "m=99999999999999999999,n=1,k=1"}),
              HasSubstr("--shapes: m=99999999999999999999 is out of range; 1 to "));
  EXPECT_THAT(error({"matmul", "--seed", "-1"}), HasSubstr("'-1'; a whole number from 0"));
  EXPECT_THAT(error({"matmul", "--state", ""}), HasSubstr("empty"));
}

// Alone, and not below the head of a table that never comes.
TEST(AuditCommand, ADeviceThatItCannotUseIsSaidAlone) {
  const std::pair<const char*, const char*> cases[] = {
      {"emulated:sm_75", "architecture 'sm_75' is not known"},
      {"host", "the audit is of backend cuda"},
      {"no_such", "no_such"}};
  for (const auto& [device, why] : cases) {
    const Finished run = Audit({"matmul", "--device", device});
    ExpectOneLine(run, 3, HasSubstr(why));
    EXPECT_EQ(run.out, "") << device;
  }
}

// A compiler that says what one says on a full disk, in place of a full disk.
TEST(AuditCommand, WhatCouldNotBeRunIsNoFaultOfAKernelAndExits3) {
  TempFolder folder;
  WriteFile(folder / "c++",
            "#!/bin/sh\ncase \"$*\" in *--version*) echo c++ 1.0; exit 0;; esac\n"
            "if [ ! -e " +
                folder.path() + "/first ]; then : > " + folder.path() +
                "/first; exec c++ \"$@\"; fi\n"
                "echo 'kernel.s: No space left on device'; exit 1\n");
  std::filesystem::permissions(folder / "c++", std::filesystem::perms::owner_all);
  const auto audit = [&](std::vector<std::string> more) {
    std::filesystem::remove(folder / "first");
    std::vector<std::string> arguments = AuditOnHost("passes");
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunToEnd(arguments, 100'000, {"PAWL_CXX=" + (folder / "c++")});
  };
  const Finished run = audit({});
  ExpectOneLine(
      run, 3,
      AllOf(HasSubstr("3 of 3 kernels could not be run: "), HasSubstr("no space left on device")));
  EXPECT_THAT(run.out, AllOf(HasSubstr("NOT RUN  committed"),
                             HasSubstr("NOT RUN  listed 3, passed 0, failed 0, not run 3")));
  const Finished as_json = audit({"--json"});
  EXPECT_EQ(as_json.code, 3) << as_json.err;
  const json summary = JsonLines(as_json.out).back();
  EXPECT_EQ(summary["given_up"], 3);
  EXPECT_EQ(summary["failed"], 0);
  EXPECT_TRUE(JsonLines(as_json.out).front()["outcome"].is_null());
}

// What a killed audit has left among the temporary files is gone after the next.
TEST(AuditCommand, TakesAwayWhatAKilledOneHasLeft) {
  TempFolder folder;
  const auto left = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      count += entry.path().filename().string().starts_with("pawl-errands-") ? 1 : 0;
    }
    return count;
  };
  const std::vector<std::string> command = AuditOnHost("planted");
  const std::vector<std::string> environment = {"TMPDIR=" + folder.path()};
  Process killed(command, "", environment);
  ASSERT_TRUE(WaitFor([&] { return left() == 1; }, 60'000));
  killed.Signal(SIGKILL);
  ASSERT_EQ(killed.Wait(10'000), 128 + SIGKILL);
  ASSERT_EQ(left(), 1U);
  Process next(command, "", environment);
  EXPECT_TRUE(next.ReadLine(60'000)) << "its head: it has begun";
  EXPECT_EQ(left(), 1U) << "its own";
}

}  // namespace
}  // namespace pawl::test
