// How a run ends when something beside the search goes wrong: its workers, its ledger, its disk.

#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>
#include <signal.h>

#include <filesystem>
#include <set>

#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/ledger.h"
#include "coordinator/ledger/store.h"
#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::vector<pid_t> WorkersOf(pid_t coordinator) {
  std::vector<pid_t> workers;
  for (const pid_t pid : ChildrenOf(coordinator)) {
    const std::string line = CommandLineOf(pid);
    if (line.find("pawl-worker") != std::string::npos &&
        line.find("--runner") == std::string::npos) {
      workers.push_back(pid);
    }
  }
  return workers;
}

TEST(RunEnd, AWorkerThatIsSentAwayByAnySignalIsStartedAgainAndNothingIsLost) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml", GemmJob(300));
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "whole"}, 120'000).code, 0);
  Process run(
      {Program("pawl"), "run", folder / "gemm.toml", "--json", "--ledger", folder / "parts"},
      folder / "stderr", {"PAWL_KERNELS=" + Source("kernels")});
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(run.ReadLine(60'000))
          << "before signal " << signal << ": " << ReadFile(folder / "stderr");
    }
    std::vector<pid_t> workers;
    ASSERT_TRUE(WaitFor([&] { return !(workers = WorkersOf(run.pid())).empty(); }, 60'000));
    ::kill(workers.front(), signal);
  }
  while (run.ReadLine(60'000)) {
  }
  ASSERT_EQ(run.Wait(60'000), 0) << ReadFile(folder / "stderr");
  EXPECT_EQ(ReadFile(folder / "stderr"), "");
  EXPECT_EQ(LogOf(folder / "parts", "1"), LogOf(folder / "whole", "1"));
}

// pawl with another program as its worker beside it.
class WithWorker {
 public:
  explicit WithWorker(const std::function<void(const std::string& path)>& make_worker) {
    fs::copy_file(Program("pawl"), folder_ / "pawl");
    make_worker(folder_ / "pawl-worker");
    WriteFile(folder_ / "gemm.toml", GemmJob(5));
  }
  Finished Run() {
    return RunToEnd(
        {folder_ / "pawl", "run", folder_ / "gemm.toml", "--ledger", folder_ / "ledger"}, 60'000,
        {"PAWL_KERNELS=" + Source("kernels")});
  }
  const TempFolder& folder() const { return folder_; }
  bool HasLedger() const { return fs::exists(folder_ / "ledger"); }

 private:
  TempFolder folder_;
};

void MakeScript(const std::string& path, const std::string& text) {
  WriteFile(path, "#!/bin/sh\n" + text + "\n");
  fs::permissions(path, fs::perms::owner_all);
}

TEST(RunEnd, AWorkerThatAlwaysDiesAtOnceIsGivenUp) {
  const std::pair<const char*, const char*> ends[] = {
      {"exit 7", "exit code 7"}, {"kill -SEGV $$", "signal 11"}, {"exit 0", "exit code 0"}};
  for (const auto& [script, told] : ends) {
    WithWorker dying([text = script](const std::string& path) { MakeScript(path, text); });
    ExpectOneLine(dying.Run(), 3,
                  AllOf(HasSubstr("5 times in a row"), HasSubstr(told), HasSubstr(".log")));
  }
}

// Two devices, of which the second's worker ends with `later` whenever it is started again.
class WithTwoDevices {
 public:
  explicit WithTwoDevices(const std::string& at_first, const std::string& later)
      : with_([&](const std::string& path) {
          MakeScript(path, "case \"$*\" in *second.csv.gz*)\n  [ -e \"$0.once\" ] && " + later +
                               "\n  touch \"$0.once\"\n  " + at_first + ";; esac\nexec " +
                               Program("pawl-worker") + " \"$@\"");
        }) {
    for (const char* name : {"first.csv.gz", "second.csv.gz"}) {
      fs::copy_file(Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz"), folder() / name);
    }
    std::string job = GemmJob(5);
    job.erase(job.find("devices"), job.find("[proposer]") - job.find("devices"));
    WriteFile(folder() / "two.toml",
              job +
                  "[[track]]\nlabel = \"a\"\ndevices = [\"replay:first.csv.gz\"]\n"
                  "[[track]]\nlabel = \"b\"\ndevices = [\"replay:second.csv.gz\"]\n"
                  "[track.budget]\ngenerations = 3000\n");
  }
  const TempFolder& folder() const { return with_.folder(); }
  std::vector<std::string> Run() const {
    return {folder() / "pawl", "run",      folder() / "two.toml",
            "--json",          "--ledger", folder() / "ledger"};
  }

 private:
  WithWorker with_;
};

TEST(RunEnd, WhatOnlyALostDeviceCouldMeasureIsNotWaitedForForEver) {
  WithTwoDevices two("true", "exit 7");
  Process run(two.Run(), two.folder() / "stderr", {"PAWL_KERNELS=" + Source("kernels")});
  std::set<int> tracks;
  while (tracks.size() < 2) {
    const auto line = run.ReadLine(60'000);
    ASSERT_TRUE(line) << ReadFile(two.folder() / "stderr");
    tracks.insert(nlohmann::json::parse(*line)["track"].get<int>());
  }
  for (const pid_t worker : WorkersOf(run.pid())) {
    if (CommandLineOf(worker).find("second") != std::string::npos) ::kill(worker, SIGKILL);
  }
  while (run.ReadLine(60'000)) {
  }
  const int code = run.Wait(60'000);
  ExpectOneLine({code, "", ReadFile(two.folder() / "stderr")}, 3,
                AllOf(HasSubstr("second.csv.gz"), HasSubstr("5 times in a row")));
}

TEST(RunEnd, WhatWentWrongBesideASearchIsSaidAtItsEnd) {
  WithTwoDevices two("echo 'pawl-worker: no such luck' >&2; exit 3", "exit 7");
  const Finished run = RunToEnd(two.Run(), 60'000, {"PAWL_KERNELS=" + Source("kernels")});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("pawl: worker for device"), HasSubstr("no such luck"),
                             HasSubstr("track 'b' was not searched")));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 2) << run.err;
  EXPECT_EQ(LogOf(two.folder() / "ledger", "1").size(), 5U);
}

TEST(RunEnd, WithoutAWorkerProgramNothingIsMade) {
  WithWorker none([](const std::string&) {});
  ExpectOneLine(none.Run(), 3, AllOf(HasSubstr("pawl-worker"), HasSubstr("beside pawl")));
  EXPECT_FALSE(none.HasLedger());
}

TEST(RunEnd, AWorkerOfAnotherProtocolVersionIsNamedWithBothVersions) {
  WithWorker newer([](const std::string& path) {
    fs::create_symlink(Program("pawl_other_version_worker"), path);
  });
  ExpectOneLine(newer.Run(), 3, AllOf(HasSubstr("worker for device"), HasSubstr("version")));
}

// A ledger's folder as it is; the socket that its coordinator left there is no file to copy.
void CopyLedger(const std::string& from, const std::string& to) {
  fs::remove(from + "/socket");
  fs::copy(from, to, fs::copy_options::recursive);
}

TEST(RunEnd, ALedgerBehindWhatAWorkerHasSeenIsRefusedAndNotWrittenOn) {
  TempFolder folder;
  const auto run = [&](int generations) {
    WriteFile(folder / "gemm.toml", GemmJob(generations));
    return Pawl(
        {"run", folder / "gemm.toml", "--ledger", folder / "ledger", "--state", folder / "state"});
  };
  ASSERT_EQ(run(5).code, 0);
  CopyLedger(folder / "ledger", folder / "old");
  ASSERT_EQ(run(10).code, 0);
  fs::remove_all(folder / "ledger");
  fs::rename(folder / "old", folder / "ledger");
  for (int time = 0; time < 2; ++time) {
    ExpectOneLine(run(20), 3, AllOf(HasSubstr("is behind"), HasSubstr("has seen event")));
    EXPECT_EQ(LogOf(folder / "ledger", "1").size(), 5U) << "nothing is proposed either";
  }
}

// A recorded ledger can answer generations, but holds no confirmation.
TEST(RunEnd, AConfirmationWithoutAFigureIsSomethingWrong) {
  TempFolder folder;
  const std::string replay = "replay:" + Source("jobs/replay/data/matmul-ledger.json");
  std::string job = ReadFile(Source("jobs/replay/matmul_rtx4090.toml"));
  const std::string without = "confirm    = false";
  ASSERT_NE(job.find(without), std::string::npos);
  job.replace(job.find(without), without.size(), "confirm = true");
  WriteFile(folder / "matmul.toml", job);
  const Finished run = Pawl(
      {"run", folder / "matmul.toml", "--json", "--device", replay, "--ledger", folder / "ledger"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(JsonLines(run.out).back().value("valid", true), false) << run.out;
  const Finished again = Pawl({"confirm", "1", "--device", replay, "--ledger", folder / "ledger"});
  EXPECT_EQ(again.code, 1) << again.err;
  EXPECT_THAT(again.out, HasSubstr("no figure"));
}

TEST(RunEnd, ATrackThatNoDeviceCouldTakeIsSaid) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml",
            GemmJob(3) +
                "[[track]]\nlabel = \"here\"\n[[track]]\nlabel = \"elsewhere\"\n"
                "devices = [\"a GPU of another machine\"]\n");
  ExpectOneLine(
      Pawl({"run", folder / "gemm.toml", "--ledger", folder / "ledger"}), 1,
      AllOf(HasSubstr("gemm.toml:"), HasSubstr("'elsewhere'"), HasSubstr("not searched")));
  EXPECT_EQ(LogOf(folder / "ledger", "1").size(), 3U);
}

TEST(RunEnd, ALedgerOfANewerPawlIsLeftAlone) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml", GemmJob(5));
  const std::string ledger = folder / "ledger";
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", ledger}).code, 0);
  {
    std::unique_ptr<Store> store;
    ASSERT_TRUE(Store::Open({rocksdb::Env::Default(), ledger, 1 << 20}, Store::Access::kWrite,
                            Store::Recovery::kWhole, &store)
                    .ok());
    rocksdb::WriteBatch batch;
    store->Put(batch, Family::kState, ledger_layout::kFormatKey,
               ledger_layout::NumberValue(kLedgerFormat + 1));
    ASSERT_TRUE(store->db().Write(rocksdb::WriteOptions(), &batch).ok());
  }
  const std::vector<std::vector<std::string>> commands = {{"run", folder / "gemm.toml"},
                                                          {"log"},
                                                          {"show", "1", "1"},
                                                          {"status"},
                                                          {"verify"},
                                                          {"confirm", "1"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--ledger", ledger});
    ExpectOneLine(Pawl(arguments), 3, AllOf(HasSubstr("format 2"), HasSubstr("newer")));
  }
}

TEST(RunEnd, VerifyTellsWhatItCouldNotLookIntoFromWhatIsWrong) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml", GemmJob(5));
  const std::string ledger = folder / "ledger";
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", ledger}).code, 0);
  const auto verify = [](const std::string& at) { return Pawl({"verify", "--ledger", at}); };
  const auto copy = [&](const std::string& name) {
    CopyLedger(ledger, folder / name);
    return folder / name;
  };
  EXPECT_EQ(verify(ledger).code, 0);
  ExpectOneLine(verify(folder / "absent"), 3, HasSubstr("absent"));
  fs::create_directories(folder / "empty");
  ExpectOneLine(verify(folder / "empty"), 3, HasSubstr("not a ledger"));
  fs::create_directories(folder / "other");
  WriteFile(folder / "other/notes.txt", "x");
  ExpectOneLine(verify(folder / "other"), 3, HasSubstr("not a ledger"));

  const std::string headless = copy("headless");
  fs::remove(headless + "/HEAD");
  const Finished without = verify(headless);
  EXPECT_EQ(without.code, 1) << without.err;
  EXPECT_THAT(without.out, HasSubstr("HEAD is missing"));
  const std::string garbled = copy("garbled");
  WriteFile(garbled + "/HEAD", "garbage");
  const Finished damaged = verify(garbled);
  EXPECT_EQ(damaged.code, 1) << damaged.err;
  EXPECT_THAT(damaged.out, HasSubstr("HEAD is damaged"));
  const std::string closed = copy("closed");
  fs::remove(closed + "/CURRENT");
  ExpectOneLine(verify(closed), 1, HasSubstr("damaged"));
}

// A disk without room, as a limit on the size of a file.
TEST(RunEnd, ADiskThatTakesNothingMoreEndsTheRunWithOneLineAndARerunGoesOn) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml", GemmJob(300));
  const std::string ledger = folder / "ledger";
  const std::vector<std::string> run = {Program("pawl"), "run",  folder / "gemm.toml",
                                        "--ledger",      ledger, "--state",
                                        folder / "state"};
  std::vector<std::string> limited = {"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 128; exec \"$@\"",
                                      "bash"};
  limited.insert(limited.end(), run.begin(), run.end());
  const std::vector<std::string> environment = {"PAWL_KERNELS=" + Source("kernels")};
  ExpectOneLine(RunToEnd(limited, 60'000, environment), 3,
                AllOf(HasSubstr(ledger), HasSubstr("File too large")));
  const std::size_t before = LogOf(ledger, "1").size();
  EXPECT_GT(before, 0U);
  EXPECT_LT(before, 300U) << "the limit was to fall into the search";
  EXPECT_EQ(Pawl({"verify", "--ledger", ledger}).code, 0);
  ASSERT_EQ(RunToEnd(run, 60'000, environment).code, 0);
  EXPECT_EQ(LogOf(ledger, "1").size(), 300U);
}

}  // namespace
}  // namespace pawl::test
