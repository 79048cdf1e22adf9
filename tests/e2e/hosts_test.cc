// A coordinator and workers of other hosts, over TCP with keys: two folders of keys stand for two
// hosts. docs/hosts.md says what is tried here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kPatienceMs = 120'000;

class Hosts : public testing::Test {
 protected:
  // Makes a host's keys; its public key.
  std::string NewHost(const std::string& name) {
    const Finished made = Pawl({"keys", "new", "--folder", folder_ / name, "--json"});
    CHECK(made.code == 0, made.err);
    return JsonLines(made.out).at(0)["public_key"];
  }
  Finished Keys(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "keys");
    arguments.insert(arguments.end(), {"--folder", folder_ / "coordinator"});
    return Pawl(arguments);
  }
  void Allow(const std::string& name, const std::string& key) {
    const Finished allowed = Keys({"allow", name, key});
    ASSERT_EQ(allowed.code, 0) << allowed.err;
  }

  // Starts a run that waits for workers; where they are to come.
  void Run(int generations) {
    WriteFile(folder_ / "job.toml", GemmJob(generations));
    run_ = std::make_unique<Process>(
        std::vector<std::string>{Program("pawl"), "run", folder_ / "job.toml", "--workers", "0",
                                 "--bind", "tcp://127.0.0.1:*", "--keys", folder_ / "coordinator",
                                 "--ledger", folder_ / "ledger"},
        folder_ / "pawl.err", std::vector<std::string>{"PAWL_KERNELS=" + Source("kernels")});
    const std::string before = "pawl-worker --connect ";
    while (const auto line = run_->ReadLine(kPatienceMs)) {
      const std::size_t at = line->find(before);
      if (at == std::string::npos) continue;
      endpoint_ = line->substr(at + before.size());
      endpoint_.resize(endpoint_.find(' '));
      EXPECT_THAT(*line, HasSubstr("--server-key " + coordinator_));
      return;
    }
    FAIL() << ReadFile(folder_ / "pawl.err");
  }

  std::vector<std::string> Worker(const std::string& host,
                                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {Program("pawl-worker"),
                                    "--connect",
                                    endpoint_,
                                    "--state",
                                    folder_ / ("state-" + host),
                                    "--device",
                                    "replay:" + Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> KeyedWorker(const std::string& host, const std::string& name) {
    return Worker(host, {"--server-key", coordinator_, "--keys", folder_ / host, "--host", name});
  }
  void ExpectRefused(const std::vector<std::string>& command,
                     const testing::Matcher<std::string>& why) {
    const Finished refused = RunToEnd(command, kPatienceMs);
    EXPECT_EQ(refused.code, 4) << refused.err;
    EXPECT_THAT(refused.err, why);
  }

  const TempFolder folder_;
  const std::string coordinator_ = NewHost("coordinator");
  std::string endpoint_;
  std::unique_ptr<Process> run_;
};

TEST_F(Hosts, AnAllowedHostsWorkerDoesAWholeRun) {
  Allow("gpu1", NewHost("gpu1"));
  Run(30);
  Process worker(KeyedWorker("gpu1", "gpu1"), folder_ / "worker.err");
  EXPECT_EQ(run_->Wait(kPatienceMs), 0) << ReadFile(folder_ / "pawl.err");
  EXPECT_EQ(LogOf(folder_ / "ledger", "1").size(), 30U);
  EXPECT_EQ(Pawl({"verify", "--ledger", folder_ / "ledger"}).code, 0);
  EXPECT_EQ(ReadFile(folder_ / "pawl.err"), "");
}

TEST_F(Hosts, WhoMayNotComeIsToldWhyAndTheRunGoesOn) {
  const std::string gpu1 = NewHost("gpu1"), gpu2 = NewHost("gpu2"), stranger = NewHost("stranger");
  Allow("gpu1", gpu1);
  Allow("gpu2", gpu2);
  Run(20);

  ExpectRefused(KeyedWorker("stranger", "gpu1"), HasSubstr("does not allow this host's key"));
  EXPECT_TRUE(
      WaitFor([&] { return ReadFile(folder_ / "pawl.err").find(stranger) != std::string::npos; },
              kPatienceMs));
  EXPECT_THAT(ReadFile(folder_ / "pawl.err"),
              AllOf(HasSubstr("pawl: key " + stranger), HasSubstr("pawl keys allow NAME")));
  ExpectRefused(Worker("stranger"), HasSubstr("wants a key"));
  ExpectRefused(KeyedWorker("gpu2", "gpu1"),
                AllOf(HasSubstr("refused (not_wanted)"), HasSubstr("the key of host gpu2")));
  {
    Process wrong(Worker("gpu1", {"--server-key", stranger, "--keys", folder_ / "gpu1"}),
                  folder_ / "wrong.err");
    EXPECT_TRUE(WaitFor(
        [&] {
          return ReadFile(folder_ / "wrong.err").find("does not answer with key " + stranger) !=
                 std::string::npos;
        },
        kPatienceMs))
        << ReadFile(folder_ / "wrong.err");
  }
  ASSERT_EQ(Keys({"revoke", "gpu1"}).code, 0);
  ExpectRefused(KeyedWorker("gpu1", "gpu1"), HasSubstr("does not allow this host's key"));

  Process worker(KeyedWorker("gpu2", "gpu2"), folder_ / "worker.err");
  EXPECT_EQ(run_->Wait(kPatienceMs), 0) << ReadFile(folder_ / "pawl.err");
  EXPECT_EQ(LogOf(folder_ / "ledger", "1").size(), 20U);
}

TEST_F(Hosts, ItsOwnWorkersStayWithoutKeys) {
  WriteFile(folder_ / "job.toml", GemmJob(10));
  const Finished run = Pawl({"run", folder_ / "job.toml", "--listen", "tcp://0.0.0.0:0", "--keys",
                             folder_ / "coordinator", "--ledger", folder_ / "ledger"},
                            kPatienceMs);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("--server-key " + coordinator_));
  EXPECT_EQ(LogOf(folder_ / "ledger", "1").size(), 10U);
}

TEST_F(Hosts, WithoutGoodKeysNothingIsBoundAndNoLedgerMade) {
  WriteFile(folder_ / "job.toml", GemmJob(10));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"run", folder_ / "job.toml", "--workers",
                                    "0",   "--ledger",           folder_ / "ledger"};
    all.insert(all.end(), more.begin(), more.end());
    return Pawl(all);
  };
  const std::string keys = folder_ / "coordinator", any = "tcp://0.0.0.0:0";
  ExpectOneLine(run({"--bind", any}), 2,
                AllOf(HasSubstr("not a loopback address"), HasSubstr("--keys FOLDER")));
  ExpectOneLine(run({"--keys", keys}), 2, HasSubstr("--listen"));
  ExpectOneLine(run({"--keys", keys, "--bind", "ipc:///tmp/socket"}), 2, HasSubstr("tcp://"));
  ExpectOneLine(run({"--keys", folder_ / "none", "--bind", any}), 3, HasSubstr("pawl keys new"));
  WriteFile(keys + "/allowed", "gpu1\n");
  ASSERT_EQ(::chmod((keys + "/allowed").c_str(), 0600), 0);
  ExpectOneLine(run({"--keys", keys, "--bind", any}), 3, HasSubstr("allowed:1:"));
  ASSERT_EQ(::chmod((keys + "/secret.key").c_str(), 0644), 0);
  ExpectOneLine(run({"--keys", keys, "--bind", any}), 3, HasSubstr("chmod 600"));
  EXPECT_NE(::access((folder_ / "ledger").c_str(), F_OK), 0);
}

TEST_F(Hosts, KeysAreListedAllowedAndRevoked) {
  const std::string gpu1 = NewHost("gpu1");
  Allow("gpu1", folder_ / "gpu1/public.key");
  const std::vector<json> lines = JsonLines(Keys({"list", "--json"}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["public_key"], coordinator_);
  EXPECT_EQ(lines[1]["host"], "gpu1");
  EXPECT_EQ(lines[1]["public_key"], gpu1);
  EXPECT_THAT(Keys({"list"}).out, AllOf(HasSubstr(coordinator_), HasSubstr(gpu1 + "  gpu1")));
  ExpectOneLine(Keys({"new"}), 3, HasSubstr("there already"));
  ExpectOneLine(Keys({"allow", "gpu2", gpu1}), 3, HasSubstr("as gpu1's"));
  ExpectOneLine(Keys({"allow", "gpu/2", gpu1}), 2, HasSubstr("no name"));
  ExpectOneLine(Keys({"allow", "gpu2", "12"}), 2, HasSubstr("neither a public key"));
  ExpectOneLine(Keys({"revoke", "gpu2"}), 3, HasSubstr("gpu2"));
  EXPECT_EQ(Keys({"revoke", "gpu1"}).code, 0);
  EXPECT_THAT(Keys({"list"}).out, Not(HasSubstr(gpu1)));
  ExpectOneLine(Pawl({"keys"}), 2, AllOf(HasSubstr("no command"), HasSubstr("new, allow")));
  ExpectOneLine(Pawl({"keys", "alow"}), 2, AllOf(HasSubstr("nearest is 'allow'")));
  ExpectOneLine(Pawl({"keys", "allow", "gpu1"}), 2, HasSubstr("pawl keys allow --help"));
}

}  // namespace
}  // namespace pawl::test
