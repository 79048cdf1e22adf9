// What people get wrong: one line each that says where, what was seen and what is wanted; nothing
// is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(BadInput, AnUnknownKnobInStartNamesThePlaceAndTheNearest) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5, "[start]\nMGW = 64\n"));
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
                AllOf(HasSubstr("job.toml:12: "), HasSubstr("MGW"), HasSubstr("MWG")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger")) << "a bad job leaves nothing behind";
}

TEST(BadInput, AStartValueThatTheKnobDoesNotListIsRefusedWithTheList) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5, "[start]\nMWG = 48\n"));
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
                AllOf(HasSubstr("job.toml:12: "), HasSubstr("'48'"), HasSubstr("(16, 32, 64")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, AShapeThatFitsNowhereIsRefusedWithTheBytes) {
  TempFolder folder;
  WriteFile(folder / "job.toml",
            "operation = \"matmul\"\nbackend = \"host\"\n"
            "shape = { m = 131072, n = 131072, k = 512 }\n[budget]\ngenerations = 1\n");
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--workers", "0", "--ledger", folder / "ledger"}),
                2,
                AllOf(HasSubstr("job.toml"), HasSubstr("17179869184 elements"),
                      HasSubstr("68.7 GB"), HasSubstr("8589934592")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, AShapeOfMoreElementsThanAnOrderMayHaveIsRefusedWhereItStands) {
  TempFolder folder;
  for (const char* backend : {"host", "cuda"}) {
    const std::string job = "operation = \"matmul\"\nbackend = \"" + std::string(backend) +
                            "\"\nshape = { m = 1000000, n = 1000000, k = 1000000 }\n";
    const auto refusal = [](const std::string& place) {
      return AllOf(HasSubstr(place + ":3: "), HasSubstr("tensor A has 1000000000000 elements"),
                   HasSubstr("at most 8589934592 are taken"));
    };
    WriteFile(folder / "m.toml", job);
    ExpectOneLine(Pawl({"measure", folder / "m.toml"}), 2, refusal("m.toml"));
    WriteFile(folder / "job.toml", job + "structure = \"" +
                                       (backend[0] == 'h' ? "blocked" : "tiled") +
                                       "\"\n[budget]\ngenerations = 1\n");
    ExpectOneLine(
        Pawl({"run", folder / "job.toml", "--workers", "0", "--ledger", folder / "ledger"}), 2,
        refusal("job.toml"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, AMisspeltKeyNamesTheNearest) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5) + "generatons = 3\n");
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
  ExpectOneLine(
      Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
      AllOf(HasSubstr("job.toml:4: "), HasSubstr("m 1000 is not a multiple of the block's 64"),
            HasSubstr("k 1000 is not a multiple of k_step 64")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, AMissingPackageNamesTheOnesThereAre) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5));
  std::string job = GemmJob(5);
  job.replace(job.find("gemm"), 4, "gemv");
  WriteFile(folder / "job.toml", job);
  ExpectOneLine(
      Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
      AllOf(HasSubstr("job.toml:1: "), HasSubstr("gemv"), HasSubstr("gemm"), HasSubstr("matmul")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

// A folder of packages of one's own hides those that come with pawl.
TEST(BadInput, APackageThatIsInAnotherFolderIsSaidToBeThere) {
  const auto audit = [](const std::string& operation) {
    return RunToEnd({Program("pawl"), "audit", operation}, 60'000,
                    {"PAWL_KERNELS=" + Source("tests/data/packages")});
  };
  ExpectOneLine(audit("matmul"), 2,
                AllOf(HasSubstr("matmul: no such operation"), HasSubstr("there are "),
                      HasSubstr("--kernels names another folder of packages"),
                      HasSubstr("matmul is in " + Source("kernels"))));
  ExpectOneLine(audit("no_such"), 2, AllOf(HasSubstr("--kernels"), Not(HasSubstr("is in"))));
}

TEST(BadInput, APackageWhoseOrdersNoWorkerTakesIsRefusedBeforeAnythingIsMade) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "kernels");
  std::filesystem::copy(Source("tests/data/packages/doubled"), folder / "kernels/doubled",
                        std::filesystem::copy_options::recursive);
  const std::string plain = folder / "kernels/doubled/cuda/plain.cu";
  const std::string source = ReadFile(plain);
  WriteFile(folder / "job.toml",
            "operation = \"doubled\"\nbackend = \"cuda\"\nshape = { n = 4096 }\n"
            "[policy]\nname = \"field_note\"\n[proposer]\nname = \"exhaustive\"\n"
            "[budget]\ngenerations = 1\n");
  const auto run = [&] {
    return Pawl({"run", folder / "job.toml", "--workers", "0", "--kernels", folder / "kernels",
                 "--ledger", folder / "ledger"});
  };
  WriteFile(folder / "kernels/doubled/cuda/my header.cuh", "\n");
  WriteFile(plain, "#include \"my header.cuh\"\n" + source);
  ExpectOneLine(run(), 2,
                AllOf(HasSubstr("job.toml:3: "), HasSubstr("doubled"), HasSubstr("header")));
  WriteFile(folder / "kernels/doubled/cuda/long.cuh", "//" + std::string(2 << 20, 'x') + "\n");
  WriteFile(plain, "#include \"long.cuh\"\n" + source);
  ExpectOneLine(run(), 2,
                AllOf(HasSubstr("job.toml:3: "), HasSubstr("at most 1044480 can be sent")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, UnreadableReplayDataNamesTheFile) {
  TempFolder folder;
  WriteFile(folder / "broken.json", "{\"device\": ");
  ExpectOneLine(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger",
                      folder / "ledger", "--device", "replay:" + (folder / "broken.json")}),
                3, HasSubstr("broken.json"));
  ExpectOneLine(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger",
                      folder / "absent", "--device", "replay:" + (folder / "absent.json")}),
                3, AllOf(HasSubstr("absent.json"), HasSubstr("no such file")));
  WriteFile(folder / "empty.json", "");
  ExpectOneLine(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger",
                      folder / "absent", "--device", "replay:" + (folder / "empty.json")}),
                3, AllOf(HasSubstr("empty.json"), HasSubstr("is empty")));
  EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
}

TEST(BadInput, WhatStandsInThePlaceOfAFileIsNamedAndHoldsNobodyUp) {
  TempFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string job = Source("jobs/replay/matmul_rtx4090.toml");
  const std::string ledger = folder / "ledger";
  for (const auto& [path, what] :
       {std::pair{fifo, "is a FIFO"}, std::pair{folder.path(), "is a folder"}}) {
    ExpectOneLine(Pawl({"run", path, "--ledger", ledger}), 2, HasSubstr(path + ": " + what));
    ExpectOneLine(Pawl({"measure", path}), 2, HasSubstr(path + ": " + what));
    ExpectOneLine(Pawl({"run", job, "--ledger", ledger, "--device", "replay:" + path}), 3,
                  HasSubstr(path + ": " + what));
  }
  ExpectOneLine(Pawl({"run", job, "--ledger", ledger, "--kernels", fifo}), 3,
                AllOf(HasSubstr("--kernels"), HasSubstr("is a FIFO")));
  ExpectOneLine(Pawl({"status", "--ledger", fifo}), 3, HasSubstr(fifo + ": is a FIFO"));
  ExpectOneLine(Pawl({"run", job, "--ledger", fifo}), 3, HasSubstr(fifo + ": is a FIFO"));
  EXPECT_FALSE(std::filesystem::exists(ledger));
}

TEST(BadInput, AnEmptyJobIsSaidToBeEmpty) {
  TempFolder folder;
  WriteFile(folder / "job.toml", "");
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
                HasSubstr("job.toml: is empty"));
}

TEST(BadInput, ANameWithALineBreakInItIsStillOneLine) {
  TempFolder folder;
  WriteFile(folder / "job.toml", "name = \"two\\nlines\"\n" + GemmJob(5));
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 2,
                AllOf(HasSubstr("job.toml:1: "), HasSubstr("two lines")));
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
      AllOf(HasSubstr("abacus"), HasSubstr("have: host")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

TEST(BadInput, ASecondCoordinatorIsRefused) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5));
  Process first({Program("pawl"), "run", folder / "job.toml", "--workers", "0", "--ledger",
                 folder / "ledger"},
                "", {"PAWL_KERNELS=" + Source("kernels")});
  ASSERT_TRUE(first.ReadLine(60'000).has_value()) << "the first opens its ledger before it prints";
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger"}), 3,
                AllOf(HasSubstr("ledger"), HasSubstr(std::to_string(first.pid()))));
}

TEST(BadInput, ResumingWithAnEditedTemplateNamesTheFileAndForkGoesOn) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "kernels");
  std::filesystem::copy(Source("kernels/gemm"), folder / "kernels/gemm",
                        std::filesystem::copy_options::recursive);
  WriteFile(folder / "job.toml", GemmJob(5));
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

TEST(BadInput, AFolderThatIsNoLedgerIsSaid) {
  TempFolder folder;
  WriteFile(folder / "notes.txt", "not a ledger");
  ExpectOneLine(Pawl({"log", "--ledger", folder.path()}), 3, HasSubstr("ledger"));
  ExpectOneLine(Pawl({"status", "--ledger", folder / "absent"}), 3, HasSubstr("absent"));
}

TEST(BadInput, AnAddressThatIsNotThisMachineIsRefusedWithoutKeys) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5));
  ExpectOneLine(Pawl({"run", folder / "job.toml", "--ledger", folder / "ledger", "--listen",
                      "tcp://0.0.0.0:0"}),
                2, AllOf(HasSubstr("0.0.0.0"), HasSubstr("keys")));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
}

}  // namespace
}  // namespace pawl::test
