// What a replay device reads and what it answers.

#include "worker/device/replay/replay.h"
#include "tests/support/least_time.h"
#include "tests/support/places.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/worker/replay_orders.h"

namespace pawl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kData = test::SourceFolder() + "/jobs/replay/data/";
const std::string kMatmul = kData + "matmul-ledger.json";
const std::string kLayerNorm = kData + "layer_norm-ledger.json";
const std::string kGemm = kData + "gemm.RTX_2080_Ti.csv.gz";
const std::string kConvolution = kData + "convolution.RTX_2080_Ti.csv.gz";

Configuration Matmul(bool transpose_a, bool quad_stage, std::int64_t k_step, Tuple block = {64, 64},
                     const std::string& staging = "guarded") {
  return Configuration{{{"transpose_a", transpose_a},
                        {"quad_stage", quad_stage},
                        {"k_step", k_step},
                        {"block", block},
                        {"staging", staging},
                        {"thread_tile", Tuple{4, 4}}}};
}

Configuration LayerNorm(std::int64_t warps_per_row, std::int64_t threads) {
  return Configuration{{{"warps_per_row", warps_per_row}, {"threads", threads}}};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double MedianRatio(const Report& report, std::uint32_t over = 1, std::uint32_t under = 2) {
  std::vector<double> ratios;
  for (const RoundMedians& round : report.rounds) {
    double a = 0, b = 0;
    for (const VisitMedian& visit : round.visits) {
      if (visit.arm == over) a = visit.median_us;
      if (visit.arm == under) b = visit.median_us;
    }
    ratios.push_back(a / b);
  }
  return Median(ratios);
}

TEST(ReplayLedger, SaysWhatWasMeasured) {
  const DeviceFacts facts = MustOpen(kMatmul)->Facts();
  EXPECT_EQ(facts.kind, "replay");
  EXPECT_EQ(facts.model, "NVIDIA GeForce RTX 4090");
  EXPECT_THAT(facts.toolchain, ::testing::MatchesRegex("replay matmul-ledger.json [0-9a-f]{12}"));
  EXPECT_EQ(facts.backend, "");
  EXPECT_THAT(facts.instruments, ElementsAre(Instrument::kEventSpan));
  EXPECT_FALSE(facts.needs_source);
}

TEST(ReplayLedger, GivesTheRoundsAsRecorded) {
  const auto device = MustOpen(kMatmul);
  const Execution execution =
      AskDevice(*device, MeasureOrder(Matmul(true, false, 64), Matmul(false, false, 64)));
  Report expected;
  expected.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  expected.checks = {CheckFacts{ArmRole::kCandidate, true, 1024 * 1024, 0, 0.0, ""}};
  expected.rounds = {{{{0, 0, 82.736, 0}, {1, 0, 93.872, 0}, {2, 0, 119.808, 0}}},
                     {{{1, 0, 93.184, 0}, {2, 0, 119.808, 0}, {0, 0, 82.688, 0}}},
                     {{{2, 0, 119.808, 0}, {0, 0, 81.92, 0}, {1, 0, 93.184, 0}}}};
  expected.toolchain = device->Facts().toolchain;
  // Ten warm-up and sixty timed calls a visit.
  double us = 0;
  for (const RoundMedians& round : expected.rounds) {
    for (const VisitMedian& visit : round.visits) us += visit.median_us;
  }
  EXPECT_NEAR(execution.report.run_seconds, us * 70e-6, 1e-12);
  expected.run_seconds = execution.report.run_seconds;
  EXPECT_EQ(execution.report, expected);
  EXPECT_THAT(execution.samples, IsEmpty());
}

TEST(ReplayLedger, GivesTheNotesRatios) {
  const auto device = MustOpen(kMatmul);
  const struct {
    Configuration candidate, incumbent;
    double ratio;
  } generations[] = {
      {Matmul(true, false, 64), Matmul(false, false, 64), 0.77778},
      {Matmul(true, true, 64), Matmul(true, false, 64), 0.91209},
      {Matmul(false, true, 64), Matmul(true, true, 64), 1.2741},
      {Matmul(true, true, 32), Matmul(true, true, 64), 0.92432},
      {Matmul(false, true, 32), Matmul(true, true, 32), 1.04086},
      {Matmul(true, false, 32), Matmul(true, true, 32), 1.10772},
      {Matmul(true, true, 16), Matmul(true, true, 32), 1.05537},
      {Matmul(true, true, 32, {128, 64}), Matmul(true, true, 32), 1.06734},
      {Matmul(true, true, 32, {64, 128}), Matmul(true, true, 32), 1.07695},
      // Recorded twice, as generations 11 and 12; the first answers.
      {Matmul(true, true, 32, {64, 64}, "exact"), Matmul(true, true, 32), 1.06855},
  };
  for (const auto& generation : generations) {
    const Execution execution =
        AskDevice(*device, MeasureOrder(generation.candidate, generation.incumbent));
    EXPECT_NEAR(MedianRatio(execution.report), generation.ratio, 1e-5)
        << generation.candidate.Text();
  }
}

TEST(ReplayLedger, GivesTheLayerNormWinThatTheOldRuleMissed) {
  const auto device = MustOpen(kLayerNorm);
  Order order = MeasureOrder(LayerNorm(2, 128), LayerNorm(2, 256));
  order.scalars = {{"rows", 4096}, {"width", 768}};
  EXPECT_NEAR(MedianRatio(AskDevice(*device, order).report), 0.9697, 1e-5);
}

TEST(ReplayLedger, DoesNotMindTheOrderOfKnobs) {
  Configuration reversed = LayerNorm(2, 128);
  std::reverse(reversed.settings.begin(), reversed.settings.end());
  Order order = MeasureOrder(reversed, LayerNorm(2, 256));
  order.scalars = {{"rows", 4096}, {"width", 768}};
  EXPECT_EQ(AskDevice(*MustOpen(kLayerNorm), order).report.outcome.kind, OutcomeKind::kMeasured);
}

void ExpectNoData(const Report& report, const std::string& why, bool exhausted) {
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kNoData);
  EXPECT_EQ(report.outcome.arm, std::nullopt);
  EXPECT_THAT(report.outcome.detail, HasSubstr(why));
  EXPECT_EQ(report.data_exhausted, exhausted);
  EXPECT_THAT(report.rounds, IsEmpty());
  EXPECT_EQ(report.run_seconds, 0);
}

TEST(ReplayLedger, EndsWhereNothingIsRecorded) {
  const auto device = MustOpen(kMatmul);
  ExpectNoData(AskDevice(*device, MeasureOrder(Matmul(false, true, 16), Matmul(true, true, 32))).report,
               "no recorded generation measures \"transpose_a=false", true);
  // Both were recorded, but not against each other.
  ExpectNoData(AskDevice(*device, MeasureOrder(Matmul(true, true, 32), Matmul(false, false, 64))).report,
               "no recorded generation", true);
  // Refused before it ran.
  ExpectNoData(AskDevice(*device, MeasureOrder(Matmul(true, true, 128), Matmul(true, true, 32))).report,
               "no recorded generation", true);
}

TEST(ReplayLedger, HasNoMoreRoundsThanWereRecorded) {
  const auto device = MustOpen(kMatmul);
  Order order = MeasureOrder(Matmul(true, false, 64), Matmul(false, false, 64), NoteRounds(4));
  ExpectNoData(AskDevice(*device, order).report, "generation 1 has 3 rounds, the order asks for 4", true);
  order.rounds = NoteRounds(3);
  order.batch = 1;
  ExpectNoData(AskDevice(*device, order).report, "generation 1 has 3 rounds, the order asks for 4", true);
  // Rounds of later batches go on where the earlier ones ended.
  order.rounds = NoteRounds(1);
  order.batch = 2;
  EXPECT_EQ(
      AskDevice(*device, order).report.rounds,
      (std::vector<RoundMedians>{{{{0, 0, 81.92, 0}, {1, 0, 93.184, 0}, {2, 0, 119.808, 0}}}}));
  // C-I-I-C asks for two visits where one was recorded.
  order.batch = 0;
  order.rounds = {RoundPlan{true, {{1, 0}, {2, 0}, {2, 0}, {1, 0}}}};
  ExpectNoData(AskDevice(*device, order).report, "one visit an arm and round", true);
}

TEST(ReplayLedger, LeavesBurnInOutOfTheReport) {
  Order order = MeasureOrder(Matmul(true, false, 64), Matmul(false, false, 64), NoteRounds(3));
  order.rounds.insert(order.rounds.begin(), RoundPlan{false, {{1, 0}, {2, 0}}});
  const Report report = AskDevice(*MustOpen(kMatmul), order).report;
  ASSERT_THAT(report.rounds, SizeIs(3));
  EXPECT_EQ(report.rounds[0].visits[0].median_us, 82.736);
}

TEST(ReplayLedger, AnswersNoOtherShape) {
  Order order = MeasureOrder(Matmul(true, false, 64), Matmul(false, false, 64));
  order.scalars[1].value = 512;
  ExpectNoData(AskDevice(*MustOpen(kMatmul), order).report, "for n=512, the recording has n=1024", true);
}

TEST(ReplayLedger, HasNoConfirmationAndIsNotAtItsEndForThat) {
  Order order = MeasureOrder(Matmul(true, false, 64), Matmul(false, false, 64));
  order.kind = OrderKind::kConfirm;
  ExpectNoData(AskDevice(*MustOpen(kMatmul), order).report, "no confirmation", false);
}

Configuration Gemm(std::vector<std::int64_t> values) {
  static const char* const kKnobs[] = {"MWG",   "NWG", "MDIMC", "NDIMC", "MDIMA",
                                       "NDIMB", "VWM", "VWN",   "SA",    "SB"};
  Configuration configuration;
  for (std::size_t i = 0; i < values.size(); ++i)
    configuration.settings.push_back({kKnobs[i], values[i]});
  return configuration;
}

const Configuration kGemmFirst = Gemm({16, 16, 8, 8, 8, 8, 1, 1, 0, 0});
const Configuration kGemmSecond = Gemm({16, 16, 8, 8, 8, 8, 1, 1, 1, 0});
const Configuration kGemmBest = Gemm({128, 128, 16, 8, 16, 32, 8, 4, 0, 1});

TEST(ReplayTable, LooksEveryArmUp) {
  const auto device = MustOpen(kGemm);
  const DeviceFacts facts = device->Facts();
  EXPECT_EQ(facts.model, "RTX 2080 Ti");
  EXPECT_THAT(facts.toolchain, StartsWith("replay gemm.RTX_2080_Ti.csv.gz "));
  EXPECT_THAT(facts.instruments, SizeIs(5));
  const Report report = AskDevice(*device, TableOrder(kGemmFirst, kGemmBest, kGemmSecond)).report;
  EXPECT_EQ(report.outcome, Outcome{});
  ASSERT_THAT(report.rounds, SizeIs(3));
  EXPECT_DOUBLE_EQ(report.rounds[0].visits[0].median_us, 60880.553);
  EXPECT_DOUBLE_EQ(report.rounds[0].visits[1].median_us, 11482.779);
  EXPECT_DOUBLE_EQ(report.rounds[0].visits[2].median_us, 57657.588);
}

TEST(ReplayTable, TakesTruthValuesForZeroAndOne) {
  Configuration words = kGemmSecond;
  words.Set("SA", true);
  words.Set("SB", false);
  const Report report = AskDevice(*MustOpen(kGemm), TableOrder(kGemmFirst, words, kGemmFirst)).report;
  ASSERT_EQ(report.outcome, Outcome{});
  EXPECT_DOUBLE_EQ(report.rounds[0].visits[1].median_us, 57657.588);
}

TEST(ReplayTable, IsNotAtItsEndWhereAConfigurationIsMissing) {
  const auto device = MustOpen(kGemm);
  const auto none = [&](const Configuration& candidate) {
    return AskDevice(*device, TableOrder(kGemmFirst, candidate, kGemmFirst)).report;
  };
  ExpectNoData(none(Gemm({16, 16, 8, 8, 8, 8, 8, 8, 0, 0})), "not listed: MWG=16", false);
  ExpectNoData(none(Gemm({16, 16})), "no knob MDIMC, the table has", false);
  Configuration more = kGemmFirst;
  more.settings.push_back({"KWG", std::int64_t{32}});
  ExpectNoData(none(more), "the table has no knob KWG", false);
  ExpectNoData(AskDevice(*device, TableOrder({}, kGemmBest, kGemmFirst)).report,
               "the committed kernel has no knobs to look it up by", false);
}

TEST(ReplayTable, ReadsTheFailuresOfAPublishedTable) {
  const auto convolution = [](std::int64_t tile_size_y) {
    return Configuration{{{"block_size_x", std::int64_t{8}},
                          {"block_size_y", std::int64_t{32}},
                          {"read_only", false},
                          {"tile_size_x", std::int64_t{4}},
                          {"tile_size_y", tile_size_y},
                          {"use_padding", true}}};
  };
  const auto device = MustOpen(kConvolution);
  const Report report =
      AskDevice(*device, TableOrder(convolution(1), convolution(5), convolution(1))).report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kBuildFailed);
  EXPECT_EQ(report.outcome.arm, ArmRole::kCandidate);
}

TEST_F(ReplayFile, TableFailuresAreTheArmsOutcome) {
  const auto device = MustOpen(
      Write("t.Card.csv", "x,status,time_ms\n1,ok,2.5\n2,compile,\n3,runtime,\n4,ok,1\r\n"));
  EXPECT_EQ(device->Facts().model, "Card");
  EXPECT_EQ(AskDevice(*device, TableOrder(X(1), X(2), X(4))).report.outcome,
            (Outcome{OutcomeKind::kBuildFailed, ArmRole::kCandidate,
                     "recorded as a compile failure: x=2"}));
  EXPECT_EQ(AskDevice(*device, TableOrder(X(1), X(3), X(4))).report.outcome,
            (Outcome{OutcomeKind::kLaunchFailed, ArmRole::kCandidate,
                     "recorded as a runtime failure: x=3"}));
  // All arms are built before any is run.
  EXPECT_EQ(AskDevice(*device, TableOrder(X(1), X(3), X(2))).report.outcome.arm, ArmRole::kIncumbent);
  EXPECT_EQ(AskDevice(*device, TableOrder(X(1), X(4), X(1))).report.outcome, Outcome{});
}

TEST_F(ReplayFile, TheModelCanBeGiven) {
  const std::string path = Write("plain.csv", "x,status,time_ms\n1,ok,2.5\n");
  EXPECT_EQ(MustOpen(path)->Facts().model, "plain");
  EXPECT_EQ(MustOpen(path + "?model=NVIDIA A100")->Facts().model, "NVIDIA A100");
}

TEST_F(ReplayFile, SaysWhichLineCannotBeRead) {
  const auto table = [&](const std::string& rows) {
    return ErrorOf(Write("t.csv", "x,status,time_ms\n" + rows));
  };
  const std::string at = folder_ / "t.csv:";
  EXPECT_EQ(ErrorOf(Write("t.csv", "x,y\n1,2\n")),
            at + "1: wanted knob names, then status and time_ms, as the first line");
  EXPECT_EQ(ErrorOf(Write("t.csv", "")), at + "1: no configuration in it");
  EXPECT_EQ(table(""), at + "1: no configuration in it");
  EXPECT_EQ(table("1,ok,2\n2,ok\n"), at + "3: 2 values, wanted 3 as the first line names");
  EXPECT_EQ(table("1,ok,2\n2,ok,-1\n"), at + "3: time_ms is \"-1\", wanted a positive number");
  EXPECT_EQ(table("1,ok,nan\n"), at + "2: time_ms is \"nan\", wanted a positive number");
  EXPECT_EQ(table("1,fine,2\n"), at + "2: status is \"fine\", wanted ok, compile or runtime");
  EXPECT_EQ(table("1,ok,2\n1,ok,2\n"), at + "3: the configuration of line 2 again");
  EXPECT_EQ(table(",ok,2\n"), at + "2: no value of x");

  const auto ledger = [&](const std::string& text) { return ErrorOf(Write("l.json", text)); };
  const std::string in = folder_ / "l.json:";
  EXPECT_THAT(ledger("{\n \"device\": \"D\",\n \"generations\": [}\n"),
              StartsWith(in + "3: not JSON: "));
  EXPECT_THAT(ledger(""), StartsWith(in + "1: not JSON: "));
  EXPECT_EQ(ledger("[]"), in + "1: wanted an object with \"device\" and \"generations\"");
  EXPECT_EQ(ledger("{\"generations\": []}"), in + "1: no \"device\" name");
  EXPECT_EQ(ledger("{\"device\": \"D\"}"), in + "1: no list of \"generations\"");
  EXPECT_EQ(ledger("{\"device\": \"D\", \"unit\": \"ms\"}"),
            in + "1: unit is \"ms\", wanted \"us\"");
  EXPECT_EQ(ledger("{\"device\": \"D\", \"instrument\": \"sundial\"}"),
            in + "1: unknown instrument \"sundial\"");
  const std::string head = "{\"device\": \"D\",\n\"generations\": [\n";
  const std::string arms = "\"candidate\": {\"x\": 1}, \"incumbent\": {\"x\": 2}";
  const std::string good = "{\"generation\": 1, " + arms + ", \"rounds\": []},\n";
  EXPECT_EQ(ledger(head + good + "{\"generation\": 2, \"candidate\": {\"x\": 1}}]}"),
            in + "4: no \"incumbent\" configuration");
  EXPECT_EQ(ledger(head + good + "{\"generation\": 2, " + arms + "}]}"),
            in + "4: no list of \"rounds\"");
  EXPECT_EQ(ledger(head + "{\"generation\": 1, \"candidate\": {\"x\": 1.5}}]}"),
            in + "3: candidate's x is 1.5, wanted a truth value, a whole number, a word or a list "
                 "of whole "
                 "numbers");
  EXPECT_EQ(ledger(head + "{\"generation\": 1, " + arms +
                   ", \"rounds\": [{\"candidate\": 1}, {\"candidate\": 0}]}]}"),
            in + "3: round 2's candidate is 0, wanted a time in microseconds");
}

TEST_F(ReplayFile, AnswersNoOrderThatAsksForACheckWithWhatWasNeverChecked) {
  const std::string arms = "\"candidate\": {\"x\": 1}, \"incumbent\": {\"x\": 2}";
  const std::string rounds = "\"rounds\": [{\"committed\": 1, \"candidate\": 1, \"incumbent\": 1}]";
  const auto device =
      MustOpen(Write("l.json", "{\"device\": \"D\", \"generations\": [{\"generation\": 1, " + arms +
                                   ", " + rounds + "}]}"));
  Configuration one, two;
  one.settings = {{"x", std::int64_t{1}}};
  two.settings = {{"x", std::int64_t{2}}};
  Order order = MeasureOrder(one, two, NoteRounds(1));
  EXPECT_EQ(AskDevice(*device, order).report.outcome.kind, OutcomeKind::kMeasured);
  order.check.reference = 0;
  const Report report = AskDevice(*device, order).report;
  EXPECT_EQ(report.outcome.kind, OutcomeKind::kNoData);
  EXPECT_EQ(report.outcome.detail,
            "D: recorded without a check (no max_abs_error), and the order asks for one");
  EXPECT_THAT(report.rounds, IsEmpty());
}

// One to four bytes changed, cut or doubled, of both formats: read, or refused in one line.
TEST_F(ReplayFile, SurvivesDamagedFiles) {
  std::ifstream in(kLayerNorm, std::ios::binary);
  std::ostringstream ledger;
  ledger << in.rdbuf();
  const std::pair<std::string, std::string> files[] = {
      {"l.json", ledger.str()},
      {"t.csv", "x,y,status,time_ms\n1,2,ok,2.5\n2,2,compile,\n3,true,runtime,\n4,4,ok,1\n"}};
  std::uint64_t random = 88172645463325252ULL;
  const auto next = [&random](std::uint64_t below) {  // xorshift64
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random % below;
  };
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto& [name, whole] = files[i % 2];
    std::string bytes = whole;
    for (std::uint64_t change = 0; change <= next(4) && !bytes.empty(); ++change) {
      const std::size_t at = next(bytes.size());
      switch (next(4)) {
        case 0:
          bytes[at] = static_cast<char>(next(256));
          break;
        case 1:
          bytes.erase(at, 1 + next(20));
          break;
        case 2:
          bytes.insert(at, bytes.substr(next(bytes.size()), 1 + next(20)));
          break;
        case 3:
          bytes.resize(at + 1);
          break;
      }
    }
    const std::string path = Write(name, bytes);
    const Result<std::unique_ptr<Device>> device = OpenReplay(path, {});
    if (device) continue;
    ++refused;
    ASSERT_EQ(device.error().message.find('\n'), std::string::npos) << device.error().message;
    ASSERT_THAT(device.error().message, StartsWith(path + ":"));
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(ReplayFile, NeedsADeviceNameOfOneLine) {
  EXPECT_EQ(ErrorOf(Write("l.json", "{\"device\": \"a\\nb\", \"generations\": []}")),
            folder_ / "l.json:1: the device is called \"a?b\", wanted one line of text");
  EXPECT_THAT(ErrorOf(Write("l.json", "{\"device\": \"\", \"generations\": []}")),
              HasSubstr("the device is called \"\""));
}

TEST_F(ReplayFile, SaysWhatItCannotOpen) {
  EXPECT_EQ(ErrorOf(folder_ / "none.json"),
            "replay data " + folder_ / "none.json: No such file or directory");
  EXPECT_THAT(ErrorOf(folder_ / "table.parquet"), HasSubstr("neither .json (a ledger) nor .csv"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no file"));
  EXPECT_THAT(ErrorOf(kGemm + "?jiter=0.1"),
              AllOf(HasSubstr("unknown key \"jiter\""), HasSubstr("model, noise, seed, jitter")));
  EXPECT_THAT(ErrorOf(kGemm + "?jitter=2"), HasSubstr("jitter is \"2\", wanted a number from 0"));
  EXPECT_THAT(ErrorOf(kGemm + "?jitter=x"), HasSubstr("jitter is \"x\""));
  EXPECT_THAT(ErrorOf(kGemm + "?seed=-1"), HasSubstr("seed is \"-1\", wanted a whole number"));
  EXPECT_THAT(ErrorOf(kGemm + "?noise=loud"), HasSubstr("wanted none, field or rough"));
  EXPECT_THAT(ErrorOf(kGemm + "?model="), HasSubstr("model is empty"));
  // Cut in the middle of its gzip stream.
  std::ifstream in(kGemm, std::ios::binary);
  std::string half(20'000, '\0');
  in.read(half.data(), static_cast<std::streamsize>(half.size()));
  EXPECT_THAT(ErrorOf(Write("half.csv.gz", half)),
              AllOf(StartsWith(folder_ / "half.csv.gz:"), HasSubstr("ends too early")));
  EXPECT_THAT(ErrorOf(Write("plain.csv.gz", "x,status,time_ms\n")), HasSubstr(":1: the gzip data"));
}

TEST(ReplaySpeed, AnswersAnOrderInWellUnderAMillisecond) {
  const auto device = MustOpen(kGemm + "?seed=7&noise=rough");
  Order order = TableOrder(kGemmFirst, kGemmBest, kGemmSecond);
  constexpr int kOrders = 2000;
  constexpr double kLimit = 1e-3 * kOrders;
  const double seconds = test::LeastCpuSeconds(kLimit, [&] {
    for (int i = 1; i <= kOrders; ++i) {
      order.generation = Generation(static_cast<std::uint32_t>(i));
      ASSERT_EQ(AskDevice(*device, order).report.outcome.kind, OutcomeKind::kMeasured);
    }
  });
  std::printf("%.1f us an order\n", 1e6 * seconds / kOrders);
  EXPECT_LT(seconds, kLimit);
}

}  // namespace
}  // namespace pawl
