// The recorded searches of an RTX 4090, replayed through coordinator, sockets, worker and runner.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json Recorded(const std::string& file) {
  return json::parse(ReadFile(Source("jobs/replay/data/" + file)));
}

TEST(ReplayMatmul4090, GivesTheRecordedGenerationsAndThenEnds) {
  TempFolder folder;
  const Finished run =
      Pawl({"run", Source("jobs/replay/matmul_rtx4090.toml"), "--ledger", folder / "ledger"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> log = LogOf(folder / "ledger", "1");
  const json recorded = Recorded("matmul-ledger.json");
  ASSERT_EQ(log.size(), 12U) << run.out;

  std::map<std::string, double> payoffs;
  for (std::size_t i = 0; i < 11; ++i) {
    const json& was = recorded["generations"][i];
    const json& is = log[i];
    SCOPED_TRACE("generation " + std::to_string(i + 1) + ": " + is.dump());
    const std::string verdict = was["decision"];
    EXPECT_EQ(is["generation"], i + 1);
    EXPECT_EQ(is["verdict"], verdict);
    EXPECT_EQ(is["configuration"], was["candidate"]);
    EXPECT_EQ(is["incumbent"], was["incumbent"]);
    EXPECT_EQ(is["changes"][0]["knob"], was["knob"]);
    EXPECT_EQ(is["changes"][0]["from"], was["from"]);
    EXPECT_EQ(is["changes"][0]["to"], was["to"]);
    if (was["repair"].is_null()) {
      EXPECT_EQ(is["changes"].size(), 1U);
    } else {
      ASSERT_EQ(is["changes"].size(), 2U);
      EXPECT_EQ(is["changes"][1]["repair"], true);
      EXPECT_EQ(is["changes"][1]["knob"], was["repair"]["knob"]);
      EXPECT_EQ(is["changes"][1]["to"], was["repair"]["to"]);
    }
    if (was["ratio"].is_null()) {
      EXPECT_TRUE(is["ratio"].is_null());
    } else {
      EXPECT_NEAR(is["ratio"].get<double>(), was["ratio"].get<double>(), 1e-5);
      EXPECT_NEAR(is["control_drift"].get<double>(), was["control_drift"].get<double>(), 1e-5);
    }
    if (verdict == "keep") payoffs[was["knob"]] += 1 - is["ratio"].get<double>();
  }
  EXPECT_EQ(log[7]["reason_code"], "geometry");
  EXPECT_THAT(log[7]["violations"].dump(), testing::HasSubstr("67584 B"));
  EXPECT_TRUE(log[7]["medians_us"].empty()) << "refused before any build, so never measured";
  EXPECT_NEAR(payoffs["transpose_a"], 0.2222, 5e-5);
  EXPECT_NEAR(payoffs["quad_stage"], 0.0879, 5e-5);
  EXPECT_NEAR(payoffs["k_step"], 0.0757, 1e-4);

  // The note measured generation 11's repaired kernel again; here that counts as tried.
  EXPECT_NE(log[11]["configuration"], recorded["generations"][11]["candidate"]);
  EXPECT_EQ(log[11]["verdict"], "void");
  EXPECT_EQ(log[11]["reason_code"], "no_data");
  const json status =
      JsonLines(Pawl({"status", "--json", "--ledger", folder / "ledger"}).out).at(0);
  EXPECT_EQ(status["status"], "closed");
  EXPECT_EQ(status["kept"], 3);

  const Finished verify = Pawl({"verify", "--ledger", folder / "ledger"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
}

// A weakness of the paired-median rule that the note knew: identical control times of 12.288 us
// hide that an event span of a few microseconds is quantised, and generation 3's gain is one slow
// phase of the incumbent.
TEST(ReplayLayerNorm4090, ThePairedMedianRuleKeepsWhatTheFastestRoundDidNot) {
  TempFolder folder;
  const Finished run =
      Pawl({"run", Source("jobs/replay/layer_norm_rtx4090.toml"), "--ledger", folder / "ledger"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> log = LogOf(folder / "ledger", "1");
  ASSERT_EQ(log.size(), 4U) << run.out;
  EXPECT_EQ(log[0]["verdict"], "reject");
  EXPECT_EQ(log[1]["verdict"], "reject");
  EXPECT_EQ(log[2]["verdict"], "keep");
  EXPECT_NEAR(log[2]["ratio"].get<double>(), 0.9697, 1e-4);
  EXPECT_EQ(log[3]["reason_code"], "no_data");
}

// Replays a table under noise: every process starts 6 % fast and cools down over ten visits.
TEST(ReplayGemm, AConfirmationUnderAColdStartFindsTheTrueGain) {
  TempFolder folder;
  WriteFile(folder / "job.toml",
            "name = \"cold\"\noperation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
            "shape = { m = 4096, n = 4096, k = 4096 }\nseed = 7\n"
            "devices = [\"replay:" +
                Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
                "?seed=5&jitter=0.002&cold=0.06\"]\n"
                "[policy]\nname = \"field_note\"\ncontrol_tolerance = 0.2\n"
                "[proposer]\nname = \"coordinate\"\n[budget]\ngenerations = 30\n");
  const Finished run = Pawl({"run", folder / "job.toml", "--json", "--ledger", folder / "ledger"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> lines = JsonLines(run.out);
  const json& confirmed = lines.back();
  ASSERT_TRUE(confirmed.contains("confirmation")) << run.out;
  ASSERT_TRUE(confirmed["valid"]) << confirmed;

  // The true gain, without noise: a second ledger at the same incumbent.
  WriteFile(
      folder / "truth.toml",
      "name = \"truth\"\noperation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
      "shape = { m = 4096, n = 4096, k = 4096 }\n"
      "devices = [\"replay:" +
          Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
          "\"]\n"
          "[proposer]\nname = \"same\"\n[budget]\ngenerations = 1\n[start]\n" +
          [&] {
            std::string start;
            for (const auto& [knob, value] : confirmed["incumbent"].items()) {
              start += knob + " = " + value.dump() + "\n";
            }
            return start;
          }());
  const Finished truth =
      Pawl({"run", folder / "truth.toml", "--json", "--ledger", folder / "truth"});
  ASSERT_EQ(truth.code, 0) << truth.out << truth.err;
  const json exact = JsonLines(truth.out).back();
  EXPECT_GT(exact["gain"].get<double>(), 0.05) << "the search found nothing worth confirming";
  EXPECT_NEAR(confirmed["gain"].get<double>(), exact["gain"].get<double>(), 0.005);
}

TEST(Run, GoesOnWhereItStoppedAndWithALargerBudget) {
  TempFolder folder;
  const auto job = [&](int generations) {
    WriteFile(folder / "gemm.toml",
              "operation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
              "shape = { m = 4096, n = 4096, k = 4096 }\nseed = 3\nconfirm = false\n"
              "devices = [\"replay:" +
                  Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
                  "\"]\n"
                  "[proposer]\nname = \"random\"\n[budget]\ngenerations = " +
                  std::to_string(generations) + "\n");
  };
  job(40);
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "whole"}).code, 0);
  job(15);
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "parts"}).code, 0);
  EXPECT_EQ(LogOf(folder / "parts", "1").size(), 15U);
  job(40);
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "parts"}).code, 0);
  EXPECT_EQ(LogOf(folder / "parts", "1"), LogOf(folder / "whole", "1"));
}

TEST(Run, OfAClosedTrackSaysWhereItStandsAndWhatCouldBeDoneInstead) {
  TempFolder folder;
  std::string job = GemmJob(5);
  job.replace(job.find("confirm = false\n"), 16, "");
  WriteFile(folder / "gemm.toml", job);
  const std::vector<std::string> again = {"run", folder / "gemm.toml", "--ledger",
                                          folder / "ledger"};
  const Finished first = Pawl(again);  // which confirms
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("a larger [budget] in the job goes on"),
                               Not(HasSubstr("run again to go on"))));
  const Finished text = Pawl(again);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("closed: generation limit 5 reached"),
                              HasSubstr("confirmed  incumbent "),
                              HasSubstr("a larger [budget] in the job goes on"),
                              Not(HasSubstr("run again to go on"))));
  std::vector<std::string> as_json = again;
  as_json.push_back("--json");
  const std::vector<json> lines = JsonLines(Pawl(as_json).out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["status"], "closed");
  EXPECT_EQ(lines[0]["generations"], 5);
  EXPECT_EQ(lines[0]["confirmation"]["valid"], true) << lines[0];
  const Finished status = Pawl({"status", "--ledger", folder / "ledger"});
  EXPECT_THAT(status.out, HasSubstr("track 1 confirmed: incumbent "));
  const Finished status_json = Pawl({"status", "--json", "--ledger", folder / "ledger"});
  EXPECT_EQ(JsonLines(status_json.out), lines);
}

TEST(Run, OfTwoTracksHasOneTableHead) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml", GemmJob(20,
                                          "[[track]]\nlabel = \"one\"\n[[track]]\n"
                                          "label = \"two\"\nseed = 9\n"));
  const Finished run =
      Pawl({"run", folder / "gemm.toml", "--workers", "2", "--ledger", folder / "ledger"});
  ASSERT_EQ(run.code, 0) << run.err;
  std::size_t heads = 0;
  for (std::size_t at = 0; (at = run.out.find("  verdict  reason", at)) != std::string::npos;
       ++at) {
    ++heads;
  }
  EXPECT_EQ(heads, 1U) << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("track 1: "), HasSubstr("track 2: ")));
}

TEST(Run, CtrlCStopsItCleanlyAndARerunEndsTheSame) {
  TempFolder folder;
  WriteFile(folder / "gemm.toml",
            "operation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
            "shape = { m = 4096, n = 4096, k = 4096 }\nseed = 4\nconfirm = false\n"
            "devices = [\"replay:" +
                Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
                "\"]\n"
                "[proposer]\nname = \"random\"\n[budget]\ngenerations = 300\n");
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "whole"}).code, 0);
  {
    Process run(
        {Program("pawl"), "run", folder / "gemm.toml", "--json", "--ledger", folder / "parts"}, "",
        {"PAWL_KERNELS=" + Source("kernels")});
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(run.ReadLine(60'000).has_value());
    run.Signal(SIGINT);
    // It may be held up by what nobody has read.
    while (run.ReadLine(60'000)) {
    }
    EXPECT_EQ(run.Wait(60'000), 130);
  }
  const std::size_t before = LogOf(folder / "parts", "1").size();
  EXPECT_GE(before, 50U);
  EXPECT_LT(before, 300U) << "it was to be stopped in the middle";
  ASSERT_EQ(Pawl({"run", folder / "gemm.toml", "--ledger", folder / "parts"}).code, 0);
  EXPECT_EQ(LogOf(folder / "parts", "1"), LogOf(folder / "whole", "1"));
}

}  // namespace
}  // namespace pawl::test
