// What people get wrong: one line each that says where, what was seen and what is wanted; nothing
// is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string GemmJob(const std::string& extra = "") {
  return "operation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
         "shape = { m = 4096, n = 4096, k = 4096 }\nconfirm = false\n"
         "devices = [\"replay:" +
         Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
         "\"]\n"
         "[proposer]\nname = \"random\"\n[budget]\ngenerations = 5\n" +
         extra;
}

// One line on stderr, and the exit code.
void ExpectOneLine(const Finished& finished, int code,
                   const testing::Matcher<std::string>& matcher) {
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_THAT(finished.err, matcher);
}

TEST(BadInput, AnUnknownKnobInStartNamesThePlaceAndTheNearest) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob("[start]\nMGW = 64\n"));
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("job.toml:12: "), HasSubstr("MGW"), HasSubstr("MWG")));
}

TEST(BadInput, AMisspeltKeyNamesTheNearest) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob() + "generatons = 3\n");
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
                AllOf(HasSubstr("job.toml:"), HasSubstr("generatons"), HasSubstr("generations")));
}

TEST(BadInput, AShapeThatIsNotDivisibleListsEveryViolatedConstraint) {
  TempFolder folder;
  WriteFile(folder / "job.toml",
            "operation = \"matmul\"\nbackend = \"cuda\"\nstructure = \"tiled\"\n"
            "shape = { m = 1000, n = 1024, k = 1000 }\ninstrument = \"event_span\"\n"
            "devices = [\"replay:" +
                Source("jobs/replay/data/matmul-ledger.json") +
                "\"]\n"
                "[budget]\ngenerations = 5\n");
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("1000"), HasSubstr("m"), HasSubstr("k_step")));
}

TEST(BadInput, AMissingPackageNamesTheOnesThereAre) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob());
  std::string job = GemmJob();
  job.replace(job.find("gemm"), 4, "gemv");
  WriteFile(folder / "job.toml", job);
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("gemv"), HasSubstr("gemm"), HasSubstr("matmul")));
}

TEST(BadInput, UnreadableReplayDataNamesTheFile) {
  TempFolder folder;
  WriteFile(folder / "broken.json", "{\"device\": ");
  ExpectOneLine(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger",
                      folder / "ledger", "--device", "replay:" + (folder / "broken.json")}),
                3, HasSubstr("broken.json"));
  ExpectOneLine(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger",
                      folder / "ledger", "--device", "replay:" + (folder / "absent.json")}),
                3, HasSubstr("absent.json"));
}

TEST(BadInput, NoDeviceSaysWhatToDo) {
  TempFolder folder;
  WriteFile(
      folder / "job.toml",
      "operation = \"matmul\"\nbackend = \"cuda\"\nstructure = \"tiled\"\n"
      "shape = { m = 1024, n = 1024, k = 1024 }\ndevices = [\"any\"]\n[budget]\ngenerations = 5\n");
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("no device"), HasSubstr("pawl devices")));
  ExpectOneLine(
      Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger", "--device", "abacus"}), 3,
      HasSubstr("abacus"));
}

TEST(BadInput, ASecondCoordinatorIsRefused) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob());
  Process first({Program("pawl"), "run", folder / "job.toml", "--workers", "0", "--ledger",
                 folder / "ledger"},
                "", {"PAWL_KERNELS=" + Source("kernels")});
  ASSERT_TRUE(first.ReadLine(20'000).has_value()) << "the first opens its ledger before it prints";
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("ledger"), HasSubstr(std::to_string(first.pid()))));
}

TEST(BadInput, ResumingWithAnEditedTemplateNamesTheFileAndForkGoesOn) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "kernels");
  std::filesystem::copy(Source("kernels/gemm"), folder / "kernels/gemm",
                        std::filesystem::copy_options::recursive);
  WriteFile(folder / "job.toml", GemmJob());
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        Program("pawl"),   "run",       folder / "job.toml", "--ledger",
        folder / "ledger", "--kernels", folder / "kernels"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunToEnd(arguments);
  };
  ASSERT_EQ(run({}).code, 0);
  const std::size_t before = LogOf(folder / "ledger", "1").size();
  const std::string file = folder / "kernels/gemm/cuda/clblast.toml";
  WriteFile(file, ReadFile(file) + "\n# edited\n");
  ExpectOneLine(
      run({}), 3,
      AllOf(HasSubstr("gemm/cuda/clblast.toml"), HasSubstr("changed"), HasSubstr("--fork")));
  EXPECT_EQ(LogOf(folder / "ledger", "1").size(), before);
  ASSERT_EQ(run({"--fork"}).code, 0);
  EXPECT_EQ(LogOf(folder / "ledger", "2").size(), 5U);
}

TEST(BadInput, UsageErrorsExitWith2) {
  EXPECT_EQ(Pawl({}).code, 2);
  EXPECT_EQ(Pawl({"runn"}).code, 2);
  EXPECT_EQ(Pawl({"run"}).code, 2);
  EXPECT_EQ(Pawl({"run", "/nonexistent/job.toml"}).code, 2);
  EXPECT_EQ(Pawl({"--version"}).code, 0);
}

TEST(BadInput, AFolderThatIsNoLedgerIsSaid) {
  TempFolder folder;
  WriteFile(folder / "notes.txt", "not a ledger");
  ExpectOneLine(Pawl({"log", "--ledger", folder.path()}), 3, HasSubstr("ledger"));
  ExpectOneLine(Pawl({"status", "--ledger", folder / "absent"}), 3, HasSubstr("absent"));
}

TEST(BadInput, AnAddressThatIsNotThisMachineIsRefusedWithoutKeys) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob());
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger", "--listen",
                      "tcp://0.0.0.0:0"}),
                3, AllOf(HasSubstr("0.0.0.0"), HasSubstr("keys")));
}

}  // namespace
}  // namespace pawl::test
