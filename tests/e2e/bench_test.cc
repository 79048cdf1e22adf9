// pawl bench as a person would run it: coordinator, worker, host device, and rivals that are real
// processes, right ones and those that do every wrong thing. Other programs may run beside them, so
// no time is judged here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class BenchCommand : public testing::Test {
 protected:
  // A rival that does what its name says (tests/data/rivals/faulty.py).
  std::string Faulty(const std::string& name) {
    const std::string path = folder_ / (name + ".py");
    if (!fs::exists(path)) fs::copy_file(Source("tests/data/rivals/faulty.py"), path);
    return path;
  }

  Finished Bench(std::vector<std::string> arguments) {
    const std::vector<std::string> start = {Program("pawl"), "bench", "--state", folder_ / "state"};
    arguments.insert(arguments.begin(), start.begin(), start.end());
    return RunToEnd(arguments, 200'000,
                    {"PAWL_KERNELS=" + Source("tests/data/packages"),
                     "PYTHONPATH=" + Source("kernels"), "PAWL_TEST_PIDS=" + Pids()});
  }

  // The package `passes` at a small shape, beside these rivals.
  Finished Passes(const std::vector<std::string>& rivals, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"passes", "--shape",  "n=1000", "--device",
                                          "host",   "--warmup", "1",      "--iterations",
                                          "3",      "--rounds", "3"};
    for (const std::string& rival : rivals) {
      arguments.push_back("--rival");
      arguments.push_back(rival);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Bench(arguments);
  }

  std::string Pids() { return folder_ / "pids"; }

  TempFolder folder_;
};

std::map<std::string, json> ByArm(const Finished& run) {
  std::map<std::string, json> arms;
  for (const json& line : JsonLines(run.out)) arms[line["arm"].get<std::string>()] = line;
  return arms;
}

TEST_F(BenchCommand, MeasuresARivalBesideTheCommittedKernelAndChecksItsOutputs) {
  const Finished run = Passes({Source("tests/data/rivals/right.py")}, {"--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  auto arms = ByArm(run);
  ASSERT_EQ(arms.size(), 2U) << run.out;
  for (const char* name : {"committed", "right"}) {
    const json& arm = arms[name];
    EXPECT_EQ(arm["state"], "measured") << arm;
    EXPECT_EQ(arm["instrument"], "wall_time");
    ASSERT_EQ(arm["rounds"].size(), 3U) << arm;
    EXPECT_EQ(arm["rounds"][2]["round"], 3);
    EXPECT_GT(arm["least_us"].get<double>(), 0);
    EXPECT_LE(arm["least_us"].get<double>(), arm["median_us"].get<double>());
    EXPECT_GT(arm["ratio_to_committed"].get<double>(), 0);
    EXPECT_EQ(arm["check"]["passed"], true);
  }
  EXPECT_EQ(arms["right"]["check"]["elements"], 3'000) << "hidden, timed, and after the rounds";
  EXPECT_EQ(arms["right"]["kind"], "program");
  EXPECT_THAT(arms["right"]["versions"]["python"].get<std::string>(), StartsWith("3."));
  EXPECT_EQ(arms["committed"]["ratio_to_committed"], 1);
  EXPECT_EQ(arms["right"]["inputs"], arms["committed"]["inputs"]);
}

TEST_F(BenchCommand, PrintsATableAndNamesWhatIsAbsent) {
  const Finished run = Passes({Source("tests/data/rivals/right.py"), Faulty("absent")},
                              {"--instrument", "cpu_time"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("passes n=1000 on "), HasSubstr("committed"),
                             HasSubstr("absent      absent: no module named torch"),
                             HasSubstr("right       python 3."),
                             HasSubstr("cpu_time, 1 warm-up and 3 timed calls")));
}

// What each does wrong, in the words that the person reads.
TEST_F(BenchCommand, WhatARivalDoesWrongIsOneLineAndTheOthersGoOn) {
  struct Case {
    const char* name;
    const char* state;
    testing::Matcher<std::string> why;
  };
  const Case cases[] = {
      {"absent", "absent", "no module named torch"},
      {"protocol", "failed", "speaks protocol 9; wanted 1"},
      {"garbage", "failed",
       AllOf(HasSubstr("answered prepare with 'Segmentation fault (not really)'"),
             HasSubstr("wanted {\"ok\": true, \"protocol\": 1}"))},
      {"dies", "failed",
       "ended with exit code 7 in place of an answer; it last said: the last thing it said"},
      {"killed", "failed", HasSubstr("was killed by signal 9 (Killed) in place of an answer")},
      {"endless", "failed", HasSubstr("answered with a line of more than 1048576 bytes, 'xxx")},
      {"nan", "failed", AllOf(HasSubstr("answered run with '{\"us\": [NaN"), HasSubstr("above 0"))},
      {"chatty", "failed", HasSubstr("wanted {\"us\": [1 times in microseconds")},
      {"wrong", "wrong_output",
       AllOf(HasSubstr("Y[500] is "), HasSubstr("1 of 1000 wrong (on the hidden input set)"))},
      {"wrong_at_last", "wrong_output", HasSubstr("Y[0] is nan")},
      {"remembers", "wrong_output", AllOf(HasSubstr("Y["), Not(HasSubstr("hidden")))},
      {"short", "wrong_output", HasSubstr("wrote 3996 bytes for output Y, 4000 are wanted")},
      {"unwritten", "wrong_output", HasSubstr("wrote no file for output Y")},
  };
  std::vector<std::string> rivals = {Source("tests/data/rivals/right.py")};
  for (const Case& one : cases) rivals.push_back(Faulty(one.name));
  const Finished run = Passes(rivals, {"--json"});
  EXPECT_EQ(run.code, 1) << run.err;
  auto arms = ByArm(run);
  for (const Case& one : cases) {
    const json& arm = arms[one.name];
    ASSERT_TRUE(arm.is_object()) << one.name << run.out;
    EXPECT_EQ(arm["state"], one.state) << arm;
    EXPECT_THAT(arm["why"].get<std::string>(), one.why) << one.name;
    EXPECT_THAT(arm["why"].get<std::string>(), Not(HasSubstr("\n"))) << one.name;
    EXPECT_TRUE(arm["median_us"].is_null()) << "its time is never judged: " << arm;
  }
  for (const char* name : {"committed", "right"}) {
    EXPECT_EQ(arms[name]["state"], "measured") << arms[name];
    EXPECT_EQ(arms[name]["rounds"].size(), 3U);
  }
}

bool IsGone(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  // Killed, and not yet reaped by whoever adopted it.
  const std::string status = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return status.empty() || status.find(") Z ") != std::string::npos;
}

// What a rival that hangs says of itself and its child, once it does.
std::vector<pid_t> PidsIn(const std::string& file) {
  std::ifstream lines(file);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; lines >> pid;) pids.push_back(pid);
  return pids;
}

TEST_F(BenchCommand, ARivalThatHangsIsKilledAtItsDeadlineWithAllThatItStarted) {
  // Long enough for Python to start on a busy machine.
  const Finished run = Passes({Faulty("hangs")}, {"--json", "--deadline", "15"});
  EXPECT_EQ(run.code, 1) << run.err;
  auto arms = ByArm(run);
  EXPECT_EQ(arms["hangs"]["why"], "gave no answer within 15 s and was killed");
  EXPECT_EQ(arms["committed"]["state"], "measured");
  const std::vector<pid_t> pids = PidsIn(Pids());
  EXPECT_EQ(pids.size(), 2U);
  for (const pid_t pid : pids) {
    EXPECT_TRUE(WaitFor([pid] { return IsGone(pid); }, 10'000)) << pid;
  }
}

TEST_F(BenchCommand, NothingOfARivalOutlivesABenchThatIsKilled) {
  Process bench({Program("pawl"), "bench", "passes", "--shape", "n=1000", "--device", "host",
                 "--state", folder_ / "state", "--rival", Faulty("hangs")},
                "",
                {"PAWL_KERNELS=" + Source("tests/data/packages"), "PYTHONPATH=" + Source("kernels"),
                 "PAWL_TEST_PIDS=" + Pids()});
  std::vector<pid_t> pids;
  ASSERT_TRUE(WaitFor([&] { return (pids = PidsIn(Pids())).size() == 2; }, 100'000));
  bench.Signal(SIGKILL);
  EXPECT_EQ(bench.Wait(10'000), 128 + SIGKILL);
  for (const pid_t pid : pids) {
    EXPECT_TRUE(WaitFor([pid] { return IsGone(pid); }, 10'000)) << pid;
  }
}

TEST_F(BenchCommand, WhatCannotBeExecutedIsAbsent) {
  WriteFile(folder_ / "no_program", "#!/no/such/interpreter\n");
  fs::permissions(folder_ / "no_program", fs::perms::owner_all);
  WriteFile(folder_ / "not_executable", "x");
  const Finished run = Passes({folder_ / "no_program", folder_ / "not_executable"}, {"--json"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  auto arms = ByArm(run);
  EXPECT_EQ(arms["no_program"]["state"], "absent");
  EXPECT_THAT(arms["no_program"]["why"].get<std::string>(),
              AllOf(HasSubstr("cannot run "), HasSubstr("No such file or directory")));
  EXPECT_THAT(arms["not_executable"]["why"].get<std::string>(), HasSubstr("Permission denied"));
  EXPECT_EQ(arms["committed"]["state"], "measured");
}

TEST_F(BenchCommand, MeasuresAManifestsConfigurationToo) {
  WriteFile(folder_ / "m.toml",
            "operation = \"passes\"\nshape = { n = 500 }\nbackend = \"host\"\nwarmup = 1\n"
            "iterations = 3\nrounds = 2\n[configuration]\npasses = 95\n");
  const Finished run = Bench({"passes", "--manifest", folder_ / "m.toml", "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  auto arms = ByArm(run);
  EXPECT_EQ(arms["repeat"]["configuration"]["passes"], 95);
  EXPECT_EQ(arms["repeat"]["rounds"].size(), 2U);
  EXPECT_EQ(arms["repeat"]["check"]["passed"], true);
}

// A kernel of ours that is wrong costs the others nothing, and is told by the exit code.
TEST_F(BenchCommand, AKernelThatIsWrongOrDiesIsNamedAndExits1) {
  for (const auto& [fault, state] :
       {std::pair<const char*, const char*>{"wrong_value", "wrong_output"},
        {"segfault", "failed"}}) {
    WriteFile(folder_ / "m.toml",
              "operation = \"planted\"\nshape = { n = 1000 }\nbackend = \"host\"\nwarmup = 0\n"
              "iterations = 2\nrounds = 2\n[configuration]\nfault = \"" +
                  std::string(fault) + "\"\n");
    const Finished run = Bench({"planted", "--manifest", folder_ / "m.toml", "--json"});
    EXPECT_EQ(run.code, 1) << run.out << run.err;
    auto arms = ByArm(run);
    EXPECT_EQ(arms["faults"]["state"], state) << run.out;
    EXPECT_EQ(arms["committed"]["state"], "measured");
    EXPECT_EQ(arms["committed"]["rounds"].size(), 2U);
  }
}

TEST_F(BenchCommand, MeasuresATracksIncumbent) {
  WriteFile(folder_ / "job.toml",
            "operation = \"passes\"\nshape = { n = 1000 }\nbackend = \"host\"\nwarmup = 1\n"
            "iterations = 3\ndevices = [\"host\"]\nconfirm = false\n[policy]\nname = "
            "\"field_note\"\ncontrol_tolerance = 100\n[proposer]\nname = \"exhaustive\"\n[budget]\n"
            "generations = 1\n");
  const std::string ledger = folder_ / "ledger";
  const Finished search =
      RunToEnd({Program("pawl"), "run", folder_ / "job.toml", "--ledger", ledger}, 100'000,
               {"PAWL_KERNELS=" + Source("tests/data/packages")});
  ASSERT_EQ(search.code, 0) << search.out << search.err;
  const Finished run = Bench({"passes", "--track", "1", "--ledger", ledger, "--rounds", "2",
                              "--rival", Source("tests/data/rivals/right.py"), "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  auto arms = ByArm(run);
  EXPECT_EQ(arms["incumbent"]["rounds"].size(), 2U) << run.out;
  EXPECT_EQ(arms["incumbent"]["iterations"], 3) << "the track's";
  EXPECT_EQ(arms["right"]["state"], "measured");
  ExpectOneLine(Bench({"planted", "--track", "1", "--ledger", ledger}), 2,
                HasSubstr("track 1 is of operation passes, not planted"));
}

TEST_F(BenchCommand, WhatIsWrongWithTheCommandIsOneLine) {
  ExpectOneLine(Bench({"passes"}), 2, HasSubstr("no shape; give --shape n=..."));
  ExpectOneLine(Bench({"passes", "--shape", "n"}), 2, HasSubstr("--shape: 'n' is no shape"));
  ExpectOneLine(Bench({"passes", "--shape", "n=99999999999999999999"}), 2,
                HasSubstr("--shape: n=99999999999999999999 is out of range; 1 to "));
  ExpectOneLine(Bench({"passes", "--shape", "m=3"}), 2, HasSubstr("'m'"));
  ExpectOneLine(Bench({"pases", "--shape", "n=3"}), 2, HasSubstr("nearest is 'passes'"));
  ExpectOneLine(Passes({folder_ / "none.py"}), 2, HasSubstr("none.py: no such file"));
  ExpectOneLine(Passes({Faulty("dies"), Faulty("dies")}), 2,
                HasSubstr("two rivals are called dies"));
  ExpectOneLine(Passes({Faulty("dies")}, {"--only", "lives"}), 2,
                HasSubstr("no rival 'lives' (have: dies)"));
  ExpectOneLine(Passes({}, {"--instrument", "sundial"}), 2,
                HasSubstr("'sundial' is no instrument"));
  ExpectOneLine(Passes({}, {"--instrument", "event_span"}), 3,
                HasSubstr("has no instrument event_span"));
}

// Each rival that is shipped speaks the protocol here, if only to say that it cannot take part.
TEST_F(BenchCommand, EveryShippedRivalIsMeasuredOrSaysWhyItIsAbsent) {
  const std::pair<const char*, const char*> operations[] = {
      {"matmul", "m=32,n=32,k=32"},
      {"layer_norm", "rows=8,width=64"},
      {"bias_gelu", "rows=8,width=64"},
      {"triangle_contraction", "n=8,c=4"},
      {"neighbour_aggregation", "nodes=16,features=8,edges=64"}};
  for (const auto& [operation, shape] : operations) {
    const Finished run = Pawl({"bench", operation, "--shape", shape, "--device", "host", "--rounds",
                               "1", "--iterations", "2", "--json", "--state", folder_ / "state"},
                              200'000);
    EXPECT_EQ(run.code, 0) << operation << run.out << run.err;
    auto arms = ByArm(run);
    EXPECT_EQ(arms["committed"]["state"], "measured") << operation << run.out;
    std::size_t programs = 0;
    for (const auto& file :
         fs::directory_iterator(Source("kernels/" + std::string(operation) + "/rivals"))) {
      const std::string name = file.path().stem();
      if (!file.is_regular_file() || name.front() == '_') continue;
      ++programs;
      ASSERT_TRUE(arms.contains(name)) << operation << run.out;
      const json& arm = arms[name];
      EXPECT_TRUE(arm["state"] == "measured" || arm["state"] == "absent") << arm;
      // Absent is what it has answered: one that could not be started has said nothing.
      EXPECT_THAT(arm["why"].get<std::string>(), Not(StartsWith("cannot run"))) << arm;
      EXPECT_EQ(arm["state"] == "absent", arm["why"] != "") << arm;
    }
    EXPECT_GE(programs, 2U) << operation;
  }
}

}  // namespace
}  // namespace pawl::test
