// Whether the host jobs' policy can be trusted on a machine that is busy with something else.

#include <gtest/gtest.h>
#include <sched.h>

#include <optional>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// This thread, and the processes it starts from now on.
void PinTo(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

// The machine these tests are about: two cores, one of them kept busy by another process, both open
// to pawl and what it starts. While it lives.
class HalfBusyMachine {
 public:
  HalfBusyMachine() : before_(AllowedCores()) {
    CHECK(before_.size() >= 2, "these tests want two cores");
    PinTo({before_[0]});
    load_.emplace(std::vector<std::string>{"/bin/sh", "-c", "while :; do :; done"});
    PinTo({before_[0], before_[1]});
    std::printf("cores %d (busy) and %d of %zu\n", before_[0], before_[1], before_.size());
  }
  ~HalfBusyMachine() { PinTo(before_); }

 private:
  const std::vector<int> before_;
  std::optional<Process> load_;
};

// The [policy] of the host jobs as shipped.
std::string ShippedHostPolicy() {
  const std::string job = ReadFile(Source("jobs/layer_norm.toml"));
  const std::size_t begin = job.find("[host.policy]");
  CHECK(begin != std::string::npos, "jobs/layer_norm.toml has no [host.policy]");
  const std::size_t end = job.find("\n[", begin + 1);
  return "[policy]" + job.substr(begin + 13, end == std::string::npos ? end : end - begin - 13) +
         "\n";
}

std::string Job(const std::string& rest) {
  return "operation = \"passes\"\nbackend = \"host\"\nshape = { n = 8192 }\nconfirm = false\n"
         "devices = [\"host\"]\nwarmup = 2\niterations = 10\n" +
         rest + ShippedHostPolicy();
}

TEST(HostNoise, TwoHundredIdenticalCandidatesOnABusyMachineGiveAtMostOneKeep) {
  TempFolder folder;
  WriteFile(folder / "aa.toml", Job("[proposer]\nname = \"same\"\n[budget]\ngenerations = 200\n"));
  const HalfBusyMachine machine;
  const Finished run = RunToEnd({Program("pawl"), "run", folder / "aa.toml", "--ledger",
                                 folder / "ledger", "--kernels", Source("tests/data/packages")},
                                230'000);
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  std::map<std::string, int> verdicts;
  for (const json& generation : LogOf(folder / "ledger", "1")) ++verdicts[generation["verdict"]];
  std::printf("A/A: keep %d, reject %d, void %d\n", verdicts["keep"], verdicts["reject"],
              verdicts["void"]);
  EXPECT_EQ(verdicts["keep"] + verdicts["reject"] + verdicts["void"], 200);
  EXPECT_LE(verdicts["keep"], 1);
  EXPECT_LE(verdicts["void"], 20)
      << "a gate that voids everything keeps nothing false, and nothing else";
}

TEST(HostNoise, AGainOfFivePercentIsKeptInNineOfTenTries) {
  TempFolder folder;
  std::string tracks = "[proposer]\nname = \"coordinate\"\n[budget]\ngenerations = 1\n";
  std::string job = Job(tracks);
  for (int track = 1; track <= 20; ++track) {
    job += "[[track]]\nlabel = \"try " + std::to_string(track) +
           "\"\nseed = " + std::to_string(track) + "\n";
  }
  WriteFile(folder / "gain.toml", job);
  const HalfBusyMachine machine;
  const Finished run = RunToEnd({Program("pawl"), "run", folder / "gain.toml", "--ledger",
                                 folder / "ledger", "--kernels", Source("tests/data/packages")},
                                230'000);
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  int kept = 0;
  for (int track = 1; track <= 20; ++track) {
    const std::vector<json> log = LogOf(folder / "ledger", std::to_string(track));
    ASSERT_EQ(log.size(), 1U);
    kept += log[0]["verdict"] == "keep" ? 1 : 0;
  }
  std::printf("planted 5 %%: kept %d of 20\n", kept);
  EXPECT_GE(kept, 18);
}

}  // namespace
}  // namespace pawl::test
