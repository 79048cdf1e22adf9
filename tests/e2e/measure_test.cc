// pawl measure and pawl capture, as a person would run them: coordinator, sockets, worker and the
// host device. Other programs may run beside them, so no time is judged here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kPasses =
    "operation = \"passes\"\nshape = { n = 1000 }\nbackend = \"host\"\nwarmup = 1\n"
    "iterations = 3\n";

// pawl with the packages that tests bring.
Finished WithPackages(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Program("pawl"));
  return RunToEnd(arguments, 100'000, {"PAWL_KERNELS=" + Source("tests/data/packages")});
}

class MeasureCommand : public testing::Test {
 protected:
  Finished Measure(const std::string& manifest, std::vector<std::string> more = {}) {
    WriteFile(folder_ / "m.toml", manifest);
    more.insert(more.begin(), {"measure", folder_ / "m.toml", "--state", folder_ / "state"});
    return WithPackages(more);
  }

  TempFolder folder_;
};

TEST_F(MeasureCommand, RunsTheCommittedKernelWhereNoConfigurationIsGiven) {
  const Finished run = Measure(kPasses, {"--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> lines = JsonLines(run.out);
  ASSERT_EQ(lines.size(), 1U);
  const json& measured = lines[0];
  EXPECT_EQ(measured["kernel"], "committed");
  EXPECT_EQ(measured["measured"], true);
  EXPECT_EQ(measured["instrument"], "wall_time");
  EXPECT_EQ(measured["check"]["passed"], true);
  EXPECT_GE(measured["check"]["elements"].get<int>(), 3'000) << "two timed sets and a hidden one";
  ASSERT_EQ(measured["rounds"].size(), 4U);
  EXPECT_EQ(measured["rounds"][1]["input_set"], 1);
  EXPECT_GT(measured["least_us"].get<double>(), 0);
  EXPECT_LE(measured["least_us"].get<double>(), measured["median_us"].get<double>());
  EXPECT_LE(measured["median_us"].get<double>(), measured["most_us"].get<double>());
  EXPECT_GT(measured["rate"]["flop_per_s"].get<double>(), 0);
  EXPECT_EQ(measured["build"]["source"].get<std::string>().size(), 64U);
  EXPECT_NE(measured["toolchain"], "");
}

TEST_F(MeasureCommand, PrintsATableForPeople) {
  const Finished run = Measure(kPasses +
                               "instrument = \"cpu_time\"\nrounds = 2\n"
                               "[configuration]\npasses = 95\n");
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("passes n=1000 on "), HasSubstr("repeat: passes=95"),
                    HasSubstr("check       passed, "), HasSubstr("round  input set"),
                    HasSubstr("spread"), HasSubstr("cpu_time, 1 warm-up and 3 timed calls"),
                    HasSubstr("FLOP/s"), HasSubstr("toolchain")));
}

TEST_F(MeasureCommand, AKernelThatIsWrongOrDiesHasNoTimeAndExits1) {
  const std::string planted =
      "operation = \"planted\"\nshape = { n = 1000 }\nbackend = \"host\"\nwarmup = 0\n"
      "iterations = 2\n[configuration]\nfault = ";
  const std::pair<const char*, const char*> cases[] = {{"wrong_value", "wrong_output"},
                                                       {"segfault", "crashed"},
                                                       {"no_such_function", "launch_failed"}};
  for (const auto& [fault, outcome] : cases) {
    const Finished run = Measure(planted + "\"" + fault + "\"\n", {"--json"});
    EXPECT_EQ(run.code, 1) << fault << run.out << run.err;
    const std::vector<json> lines = JsonLines(run.out);
    ASSERT_EQ(lines.size(), 1U) << fault;
    EXPECT_EQ(lines[0]["outcome"], outcome);
    EXPECT_EQ(lines[0]["measured"], false);
    EXPECT_THAT(lines[0]["why"].get<std::string>(), HasSubstr(outcome));
    EXPECT_TRUE(lines[0]["median_us"].is_null());
  }
}

TEST_F(MeasureCommand, WhatIsWrongWithAManifestIsOneLineAndMeasuresNothing) {
  ExpectOneLine(Measure(kPasses + "roundz = 3\n"), 2,
                AllOf(HasSubstr("m.toml:6: unknown key 'roundz'"), HasSubstr("'rounds'")));
  ExpectOneLine(Measure(kPasses + "[configuration]\npases = 95\n"), 2,
                AllOf(HasSubstr("m.toml:7: unknown knob 'pases'"), HasSubstr("'passes'")));
  ExpectOneLine(Measure(kPasses + "[configuration]\npasses = 96\n"), 2,
                AllOf(HasSubstr("m.toml:7"), HasSubstr("(100, 95)")));
  ExpectOneLine(Measure("operation = \"pases\"\nshape = { n = 1 }\n"), 2,
                AllOf(HasSubstr("m.toml:1: "), HasSubstr("nearest is 'passes'")));
  ExpectOneLine(Measure("operation = \"passes\"\nshape = { m = 1 }\nbackend = \"host\"\n"), 2,
                AllOf(HasSubstr("m.toml:2: "), HasSubstr("'m'")));
  ExpectOneLine(Measure("operation = \"passes\"\nshape = { n = 1 }\nbackend = \"cuda\"\n"), 2,
                AllOf(HasSubstr("m.toml:3: "), HasSubstr("no backend cuda (have: host)")));
  ExpectOneLine(WithPackages({"measure", folder_ / "absent.toml"}), 2, HasSubstr("absent.toml"));
  ExpectOneLine(WithPackages({"measure"}), 2, HasSubstr("MANIFEST"));
}

TEST_F(MeasureCommand, ADeviceThatCannotMeasureItSaysWhy) {
  ExpectOneLine(Measure(kPasses, {"--device", "abacus"}), 3,
                AllOf(HasSubstr("abacus"), HasSubstr("have: host")));
  ExpectOneLine(Measure(kPasses + "instrument = \"event_span\"\n"), 3,
                HasSubstr("has no instrument event_span (have: cpu_time, wall_time)"));
  WriteFile(folder_ / "m.toml",
            "operation = \"matmul\"\nshape = { m = 64, n = 64, k = 64 }\nbackend = \"cuda\"\n");
  ExpectOneLine(Pawl({"measure", folder_ / "m.toml", "--device", "emulated:sm_89"}), 3,
                AllOf(HasSubstr("never times"), HasSubstr("pawl devices")));
  const std::string recording = "replay:" + Source("jobs/replay/data/matmul-ledger.json");
  ExpectOneLine(Pawl({"measure", folder_ / "m.toml", "--device", recording}), 3,
                AllOf(HasSubstr("matmul-ledger.json"), HasSubstr("recording")));
}

// A recorded space answers by configuration; its outputs are not there to be compared.
TEST_F(MeasureCommand, AReplayAnswersFromItsRecording) {
  WriteFile(folder_ / "m.toml",
            "operation = \"gemm\"\nshape = { m = 4096, n = 4096, k = 4096 }\nbackend = \"cuda\"\n"
            "device = \"replay:" +
                Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") + "\"\n[configuration]\n");
  const Finished run = Pawl({"measure", folder_ / "m.toml", "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const json measured = JsonLines(run.out).at(0);
  EXPECT_EQ(measured["structure"], "clblast");
  EXPECT_TRUE(measured["check"].is_null());
  EXPECT_GT(measured["median_us"].get<double>(), 0);
}

// A ledger of a short search on the host, made once for all of these.
class OfATrack : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    WriteFile(*folder_ / "job.toml",
              kPasses +
                  "devices = [\"host\"]\nconfirm = false\n[policy]\nname = \"field_note\"\n"
                  "control_tolerance = 100\n[proposer]\nname = \"exhaustive\"\n"
                  "[budget]\ngenerations = 1\n");
    const Finished run = WithPackages({"run", *folder_ / "job.toml", "--ledger", Ledger()});
    ASSERT_EQ(run.code, 0) << run.out << run.err;
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Ledger() { return *folder_ / "ledger"; }

  static Finished Capture(std::vector<std::string> more) {
    more.insert(more.begin(), {"capture", "1", "--ledger", Ledger()});
    return WithPackages(more);
  }

  static inline TempFolder* folder_ = nullptr;
};

TEST_F(OfATrack, MeasuresAGenerationOrTheIncumbent) {
  WriteFile(*folder_ / "m.toml", "ledger = \"ledger\"\ntrack = 1\ngeneration = 1\nrounds = 1\n");
  Finished run = WithPackages({"measure", *folder_ / "m.toml", "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  json measured = JsonLines(run.out).at(0);
  EXPECT_EQ(measured["kernel"], "generation 1 of track 1");
  EXPECT_EQ(measured["configuration"]["passes"], 95);
  EXPECT_EQ(measured["iterations"], 3) << "the track's";
  EXPECT_EQ(measured["check"]["passed"], true);
  WriteFile(*folder_ / "m.toml", "ledger = \"ledger\"\ntrack = \"passes\"\nrounds = 1\n");
  run = WithPackages({"measure", *folder_ / "m.toml"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("incumbent of track 1: passes="));
  WriteFile(*folder_ / "m.toml", "ledger = \"ledger\"\ntrack = 1\ngeneration = 9\n");
  ExpectOneLine(WithPackages({"measure", *folder_ / "m.toml"}), 2,
                AllOf(HasSubstr("m.toml:3: "), HasSubstr("track 1 has no generation 9")));
  WriteFile(*folder_ / "m.toml", "ledger = \"ledger\"\ntrack = 2\n");
  ExpectOneLine(WithPackages({"measure", *folder_ / "m.toml"}), 2,
                AllOf(HasSubstr("m.toml:2: "), HasSubstr("no track '2'")));
}

TEST_F(OfATrack, IsCapturedByTheOtherInstrumentIntoAFileThatStays) {
  const std::string folder = *folder_ / "kept";
  const std::vector<std::string> arms = {"--arm", "committed", "--arm", "1",
                                         "--arm", "start",     "--out", folder};
  std::vector<std::string> as_json = arms;
  as_json.push_back("--json");
  const Finished first = Capture(as_json);
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  const json printed = JsonLines(first.out).at(0);
  const std::string file = folder + "/track-1-sitting-0001.json";
  EXPECT_EQ(printed["file"], file);
  const std::string bytes = ReadFile(file);
  const json kept = json::parse(bytes);
  EXPECT_EQ(kept["track_instrument"], "wall_time");
  EXPECT_EQ(kept["instrument"], "cpu_time");
  EXPECT_EQ(kept["iterations"], 100);
  ASSERT_EQ(kept["rounds"].size(), 3U);
  EXPECT_EQ(kept["rounds"][0][0]["arm"], "committed");
  EXPECT_EQ(kept["rounds"][1][0]["arm"], "generation 1") << "rotated";
  ASSERT_EQ(kept["arms"].size(), 3U);
  for (const json& arm : kept["arms"]) {
    EXPECT_EQ(arm["check"]["passed"], true);
    EXPECT_GT(arm["median_us"].get<double>(), 0);
  }
  EXPECT_EQ(kept["inputs"]["seeds"].size(), 1U);
  EXPECT_TRUE(kept["peers"].empty());
  EXPECT_NE(kept["evidence"], "") << "the raw samples stay with the ledger's worker";

  // What was 100 times as fast as anything can be makes the next sitting a slow one.
  json faster = kept;
  for (json& arm : faster["arms"]) {
    for (const char* key : {"median_us", "most_us"}) arm[key] = arm[key].get<double>() / 100;
  }
  WriteFile(folder + "/track-1-sitting-0002.json", faster.dump());
  fs::remove(file);
  const Finished second = Capture(arms);
  EXPECT_EQ(second.code, 0) << "anomalous, and kept: " << second.out << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("SLOW"), HasSubstr("by cpu_time"),
                                HasSubstr("track-1-sitting-0003.json")));
  const json slow = json::parse(ReadFile(folder + "/track-1-sitting-0003.json"));
  EXPECT_EQ(slow["slow"]["arms"].size(), 3U);
  EXPECT_EQ(slow["peers"], json::array({"track-1-sitting-0002.json"}));
}

TEST_F(OfATrack, IsCapturedIntoItsLedgersFolderAndTheLedgerStillVerifies) {
  const Finished run = Capture({});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("committed"), HasSubstr("incumbent")));
  EXPECT_TRUE(fs::exists(Ledger() + "/captures/track-1-sitting-0001.json"));
  EXPECT_EQ(WithPackages({"verify", "--ledger", Ledger()}).code, 0);
}

TEST_F(OfATrack, IsCapturedWithAConfigurationThatNoGenerationHad) {
  const Finished run = Capture({"--arm", "start", "--arm", "passes=95", "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const json arms = JsonLines(run.out).at(0)["arms"];
  ASSERT_EQ(arms.size(), 2U);
  EXPECT_EQ(arms[1]["label"], "passes=95");
  EXPECT_EQ(arms[1]["configuration"]["passes"], 95);
  EXPECT_NE(arms[1]["object"], arms[0]["object"]);
}

TEST_F(OfATrack, ACaptureOfWhatThereIsNotSaysSo) {
  ExpectOneLine(Capture({"--arm", "pases=95"}), 2,
                AllOf(HasSubstr("--arm: "), HasSubstr("'pases'"), HasSubstr("passes")));
  ExpectOneLine(Capture({"--arm", "passes=fast"}), 2,
                AllOf(HasSubstr("--arm: "), HasSubstr("passes"), HasSubstr("fast")));
  ExpectOneLine(Capture({"--arm", "9"}), 2, HasSubstr("track 1 has no generation 9"));
  ExpectOneLine(Capture({"--arm", "frob"}), 2,
                AllOf(HasSubstr("'frob' is no arm"), HasSubstr("committed, incumbent, start")));
  ExpectOneLine(Capture({"--arm", "start", "--arm", "start"}), 2,
                HasSubstr("'start' is named twice"));
  ExpectOneLine(WithPackages({"capture", "7", "--ledger", Ledger()}), 2, HasSubstr("no track '7'"));
  ExpectOneLine(WithPackages({"capture", "1", "--ledger", *folder_ / "absent"}), 3,
                HasSubstr("absent"));
  EXPECT_FALSE(fs::exists(*folder_ / "absent"));
}

// What was measured is worth more than what it would be compared with.
TEST_F(OfATrack, ACaptureIsKeptBesideFilesThatCannotBeRead) {
  const std::string folder = *folder_ / "spoilt";
  fs::create_directory(folder);
  fs::create_symlink("nowhere", folder + "/track-1-sitting-0001.json");
  WriteFile(folder + "/track-1-sitting-0002.json", "{");
  const Finished run = Capture({"--out", folder, "--json"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("cannot read " + folder + "/track-1-sitting-0001.json"),
                             HasSubstr("track-1-sitting-0002.json is no sitting")));
  EXPECT_TRUE(fs::exists(folder + "/track-1-sitting-0003.json"));
}

TEST_F(OfATrack, ACaptureThatCouldNotBeKeptIsNotBegun) {
  WriteFile(*folder_ / "file", "x");
  for (const std::string& out : {*folder_ / "file/captures", std::string("/proc/captures")}) {
    ExpectOneLine(Capture({"--out", out, "--device", "abacus"}), 3,
                  HasSubstr("cannot make " + out));
  }
}

// A recording holds the times of its own instrument only.
TEST(CaptureCommand, AReplayWithoutTheInstrumentSaysSo) {
  TempFolder folder;
  const std::string replay = "replay:" + Source("jobs/replay/data/matmul-ledger.json");
  const std::string ledger = folder / "ledger";
  ASSERT_EQ(Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--device", replay, "--ledger",
                  ledger})
                .code,
            0);
  ExpectOneLine(Pawl({"capture", "1", "--ledger", ledger, "--device", replay}), 3,
                AllOf(HasSubstr("by kernel_time"), HasSubstr("(replayed) has not")));
  EXPECT_TRUE(fs::is_empty(ledger + "/captures"));
}

}  // namespace
}  // namespace pawl::test
