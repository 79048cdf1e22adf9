// A coordinator that stays: jobs come, are moved and go; workers of this host and of others come
// and go; and it is killed and started again in between.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int kPatienceMs = 120'000;

class Serve : public testing::Test {
 protected:
  std::string Ledger() { return folder_ / "ledger"; }

  // Starts the coordinator; returns once it listens. What it prints goes to a file: nobody here
  // reads along.
  void Start(const std::vector<std::string>& more = {}) {
    const std::string out = folder_ / ("serve" + std::to_string(++starts_) + ".out");
    std::vector<std::string> arguments = {
        "/bin/sh",  "-c",    "exec \"$@\" > " + out, "sh", Program("pawl"), "serve",
        "--ledger", Ledger()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    serve_ =
        std::make_unique<Process>(arguments, folder_ / "serve.err",
                                  std::vector<std::string>{"PAWL_KERNELS=" + Source("kernels")});
    const bool keyed = std::find(more.begin(), more.end(), "--keys") != more.end();
    const std::string before = keyed ? "other hosts: pawl-worker --connect " : "this host: ";
    std::string said;
    const bool listens = WaitFor(
        [&] {
          said = std::filesystem::exists(out) ? ReadFile(out) : "";
          const std::size_t at = said.find(before);
          if (at == std::string::npos || said.find('\n', at) == std::string::npos) return false;
          endpoint_ = said.substr(at + before.size());
          endpoint_.resize(endpoint_.find(' '));
          return true;
        },
        kPatienceMs);
    ASSERT_TRUE(listens) << said << ReadFile(folder_ / "serve.err");
  }

  // A worker of this host, on a recorded device.
  std::unique_ptr<Process> Worker(int slot) {
    return std::make_unique<Process>(
        std::vector<std::string>{
            Program("pawl-worker"), "--connect", "ipc://" + Ledger() + "/socket", "--device",
            "replay:" + Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz"), "--slot",
            std::to_string(slot), "--state", folder_ / ("state" + std::to_string(slot))},
        folder_ / "worker.err");
  }

  Finished Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--ledger", Ledger()});
    return Pawl(arguments);
  }
  Finished Submit(const std::string& job, int generations, const std::string& extra = "",
                  std::vector<std::string> more = {}) {
    WriteFile(folder_ / (job + ".toml"), extra + GemmJob(generations));
    more.insert(more.begin(), {"submit", folder_ / (job + ".toml")});
    return Ask(more);
  }

  // The line of `status --json` about a job; null: none.
  json StandingOf(const std::string& job) {
    const Finished status = Ask({"status", "--json"});
    EXPECT_EQ(status.code, 0) << status.err;
    for (const json& line : JsonLines(status.out)) {
      if (line.contains("job") && !line.contains("operation") && line["job"] == job) return line;
    }
    return nullptr;
  }
  bool Becomes(const std::string& job, const std::string& standing) {
    return WaitFor([&] { return StandingOf(job).value("status", "") == standing; }, kPatienceMs);
  }
  std::size_t Decided(const std::string& job) {
    const json standing = StandingOf(job);
    if (standing.is_null() || standing["tracks"].empty()) return 0;
    return LogOf(Ledger(), std::to_string(standing["tracks"][0].get<int>())).size();
  }

  TempFolder folder_;
  std::unique_ptr<Process> serve_;
  std::string endpoint_;
  int starts_ = 0;
};

TEST_F(Serve, TakesJobsMovesThemAndEndsThem) {
  Start();
  const Finished waits = Submit("first", 40);
  ASSERT_EQ(waits.code, 0) << waits.err;
  EXPECT_THAT(waits.out, HasSubstr("job first submitted: it waits for a device that can use it"));
  EXPECT_EQ(StandingOf("first")["status"], "waiting");

  const auto worker = Worker(0);
  ASSERT_TRUE(Becomes("first", "done"));
  EXPECT_EQ(Decided("first"), 40U);
  // The same worker, which had nothing more to do, has the next job.
  const Finished second = Submit("second", 100'000);
  EXPECT_THAT(second.out, HasSubstr("job second submitted: 1 track"));
  ASSERT_TRUE(WaitFor([&] { return Decided("second") > 5; }, kPatienceMs));

  EXPECT_EQ(Ask({"pause", "second"}).out, "job second is paused\n");
  std::size_t before = 0;
  ASSERT_TRUE(WaitFor(
      [&] {
        const Finished status = Ask({"status", "--json"});
        for (const json& line : JsonLines(status.out)) {
          if (line.contains("worker")) return line["measures"].empty();
        }
        return false;
      },
      kPatienceMs));
  before = Decided("second");
  EXPECT_EQ(StandingOf("second")["status"], "paused");
  // Others have the worker meanwhile.
  ASSERT_EQ(Submit("third", 10).code, 0);
  ASSERT_TRUE(Becomes("third", "done"));
  EXPECT_EQ(Decided("second"), before);
  EXPECT_EQ(Ask({"resume", "second"}).code, 0);
  ASSERT_TRUE(WaitFor([&] { return Decided("second") > before; }, kPatienceMs));
  EXPECT_EQ(Ask({"cancel", "second"}).out, "job second is cancelled\n");
  EXPECT_EQ(StandingOf("second")["status"], "cancelled");

  serve_->Signal(SIGTERM);
  EXPECT_EQ(serve_->Wait(kPatienceMs), 0) << ReadFile(folder_ / "serve.err");
  const Finished verified = Ask({"verify"});
  EXPECT_EQ(verified.code, 0) << verified.err << verified.out;
  // What is known without a coordinator is the ledger's.
  EXPECT_EQ(StandingOf("first")["status"], "done");
  ExpectOneLine(Ask({"pause", "second"}), 3, HasSubstr("no coordinator listens at"));
}

TEST_F(Serve, GoesOnWithItsJobsAfterAKill) {
  Start();
  const auto worker = Worker(0);
  ASSERT_EQ(Submit("a", 2'000).code, 0);
  ASSERT_EQ(Submit("b", 100'000, "", {"--priority", "-5"}).code, 0);
  ASSERT_EQ(Ask({"pause", "b"}).code, 0);
  ASSERT_TRUE(WaitFor([&] { return Decided("a") > 20; }, kPatienceMs));
  serve_->Signal(SIGKILL);
  serve_->Wait(kPatienceMs);
  ASSERT_LT(Decided("a"), 2'000U) << "killed too late to say anything";
  Start();
  ASSERT_TRUE(Becomes("a", "done"));
  EXPECT_EQ(Decided("a"), 2'000U);
  EXPECT_EQ(StandingOf("b")["status"], "paused");
  EXPECT_EQ(StandingOf("b")["priority"], -5);
  serve_->Signal(SIGTERM);
  EXPECT_EQ(serve_->Wait(kPatienceMs), 0);
  EXPECT_EQ(Ask({"verify"}).code, 0);
}

TEST_F(Serve, AJobSubmittedAgainGetsItsNewBudgetAndNothingElse) {
  Start();
  const auto worker = Worker(0);
  ASSERT_EQ(Submit("a", 20).code, 0);
  ASSERT_TRUE(Becomes("a", "done"));
  EXPECT_THAT(Submit("a", 30).out, HasSubstr("job a submitted again: 1 track"));
  ASSERT_TRUE(WaitFor([&] { return Decided("a") == 30; }, kPatienceMs));
  ExpectOneLine(Submit("a", 30, "seed = 7\n"), 2,
                AllOf(HasSubstr("job a cannot go on with track 1"), HasSubstr("seed"),
                      HasSubstr("give the job another name")));
  EXPECT_EQ(Decided("a"), 30U);
}

TEST_F(Serve, RefusesWhatIsWrongInALineAndServesOn) {
  Start();
  ExpectOneLine(Submit("bad", 10, "spead = 7\n"), 2, HasSubstr("bad.toml:1"));
  ExpectOneLine(Submit("bad", 10, "priority = 5000\n"), 2, HasSubstr("bad.toml:1"));
  ExpectOneLine(Submit("bad", 10, "hosts = []\n"), 2, HasSubstr("hosts is empty"));
  WriteFile(folder_ / "none.toml", "operation = \"no_such\"\nshape = { m = 4 }\n");
  ExpectOneLine(Ask({"submit", folder_ / "none.toml"}), 2, HasSubstr("no_such"));
  ExpectOneLine(Ask({"pause", "nobody"}), 2, HasSubstr("no job 'nobody' was submitted"));
  ExpectOneLine(Ask({"watch", "nobody"}), 2, HasSubstr("no job 'nobody' was submitted"));
  ExpectOneLine(Pawl({"serve", "--ledger", Ledger(), "--listen", "tcp://127.0.0.1:*"}), 2,
                HasSubstr("--keys"));
  ExpectOneLine(Pawl({"serve", "--ledger", Ledger()}), 3, HasSubstr("another"));
  EXPECT_THAT(Submit("good", 10).out, HasSubstr("job good submitted"));
}

// A job of another host's workers opens no track on this one's device, where nobody may measure it.
TEST_F(Serve, AJobOfOneHostWaitsForIt) {
  Start();
  const auto worker = Worker(0);
  ASSERT_EQ(Submit("here", 10).code, 0);
  ASSERT_TRUE(Becomes("here", "done"));
  ASSERT_EQ(Submit("elsewhere", 10, "hosts = [\"no-such-host\"]\n").code, 0);
  EXPECT_EQ(StandingOf("elsewhere")["status"], "waiting");
  EXPECT_THAT(StandingOf("elsewhere")["tracks"], testing::IsEmpty());
}

// The ledger says what it knows where who listens at it does not.
TEST_F(Serve, StatusIsOfTheLedgerWhereARunHasIt) {
  Start();
  ASSERT_EQ(Submit("a", 10).code, 0);
  serve_->Signal(SIGTERM);
  ASSERT_EQ(serve_->Wait(kPatienceMs), 0);
  WriteFile(folder_ / "own.toml", GemmJob(100'000));
  Process run(
      {Program("pawl"), "run", folder_ / "own.toml", "--ledger", Ledger(), "--workers", "0"},
      folder_ / "run.err", {"PAWL_KERNELS=" + Source("kernels")});
  while (const auto line = run.ReadLine(kPatienceMs)) {
    if (line->starts_with("waiting for workers")) break;
  }
  const Finished status = Ask({"status", "--json"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("\"job\":\"a\""));
  EXPECT_THAT(status.err, HasSubstr("of the ledger alone"));
}

// An edited package is what the next job searches.
TEST_F(Serve, AJobThatComesLaterHasThePackageAsItIsThen) {
  const std::string kernels = folder_ / "kernels";
  std::filesystem::create_directories(kernels);
  std::filesystem::copy(Source("kernels/gemm"), kernels + "/gemm",
                        std::filesystem::copy_options::recursive);
  Start({"--kernels", kernels});
  const auto worker = Worker(0);
  ASSERT_EQ(Submit("before", 5).code, 0);
  ASSERT_TRUE(Becomes("before", "done"));
  std::ofstream(kernels + "/gemm/cuda/clblast.toml", std::ios::app) << "# another remark\n";
  ASSERT_EQ(Submit("after", 5).code, 0);
  ASSERT_TRUE(Becomes("after", "done"));
  ExpectOneLine(Submit("before", 6), 2, HasSubstr("job before cannot go on with track 1"));
}

TEST_F(Serve, ARunTakesNoOtherJobs) {
  WriteFile(folder_ / "own.toml", GemmJob(100'000));
  Process run(
      {Program("pawl"), "run", folder_ / "own.toml", "--ledger", Ledger(), "--workers", "0"},
      folder_ / "run.err", {"PAWL_KERNELS=" + Source("kernels")});
  while (const auto line = run.ReadLine(kPatienceMs)) {
    if (line->starts_with("waiting for workers")) break;
  }
  ExpectOneLine(Submit("other", 10), 3, HasSubstr("pawl serve does"));
}

TEST_F(Serve, SaysWhatItDecidesToWhoWatches) {
  Start();
  ASSERT_EQ(Submit("a", 100'000).code, 0);
  ASSERT_EQ(Submit("b", 100'000).code, 0);
  Process watch({Program("pawl"), "watch", "b", "--json", "--ledger", Ledger()},
                folder_ / "watch.err");
  const auto worker = Worker(0);
  for (int seen = 1; seen <= 5; ++seen) {
    const auto line = watch.ReadLine(kPatienceMs);
    ASSERT_TRUE(line) << ReadFile(folder_ / "watch.err");
    const json generation = json::parse(*line);
    EXPECT_EQ(generation["track"], StandingOf("b")["tracks"][0]);
    EXPECT_TRUE(generation.contains("verdict"));
  }
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.Wait(kPatienceMs), 0);
}

TEST_F(Serve, AnOperatorOfAnotherHostGivesJobsAndAWorkersHostDoesNot) {
  const auto new_host = [&](const std::string& name) -> std::string {
    const Finished made = Pawl({"keys", "new", "--folder", folder_ / name, "--json"});
    CHECK(made.code == 0, made.err);
    return JsonLines(made.out).at(0)["public_key"];
  };
  const std::string own = new_host("keys");
  ASSERT_EQ(Pawl({"keys", "allow", "gpu1", new_host("gpu1"), "--folder", folder_ / "keys"}).code,
            0);
  ASSERT_EQ(
      Pawl({"keys", "allow", "desk", new_host("desk"), "--folder", folder_ / "keys", "--operator"})
          .code,
      0);
  Start({"--listen", "tcp://127.0.0.1:*", "--keys", folder_ / "keys"});
  const auto remote = [&](const std::string& host, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--connect", endpoint_, "--server-key", own, "--keys", folder_ / host});
    return Pawl(arguments);
  };
  WriteFile(folder_ / "job.toml", GemmJob(50));
  const Finished given = remote("desk", {"submit", folder_ / "job.toml"});
  EXPECT_EQ(given.code, 0) << given.err;
  ExpectOneLine(
      remote("gpu1", {"submit", folder_ / "job.toml"}), 2,
      AllOf(HasSubstr("host gpu1 may measure here, and not give jobs"), HasSubstr("--operator")));
  ExpectOneLine(remote("gpu1", {"status"}), 2, HasSubstr("may measure here"));
  // What the line says to do, for a key that is allowed already.
  ASSERT_EQ(Pawl({"keys", "allow", "gpu1", folder_ / "gpu1/public.key", "--folder",
                  folder_ / "keys", "--operator"})
                .code,
            0);
  EXPECT_EQ(remote("gpu1", {"status"}).code, 0);
  EXPECT_THAT(remote("desk", {"status", "--json"}).out, HasSubstr("\"job\":\"job\""));
  // It measures all the same.
  Process worker({Program("pawl-worker"), "--connect", endpoint_, "--server-key", own, "--keys",
                  folder_ / "gpu1", "--host", "gpu1", "--device",
                  "replay:" + Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz"), "--state",
                  folder_ / "state"},
                 folder_ / "worker.err");
  ASSERT_TRUE(Becomes("job", "done")) << ReadFile(folder_ / "worker.err");
}

}  // namespace
}  // namespace pawl::test
