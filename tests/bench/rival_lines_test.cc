// What a rival says is anything at all.

#include "coordinator/bench/rival_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace pawl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Order Product() {
  Order order;
  order.operation = "product";
  order.backend = "host";
  order.scalars = {{"n", 3}};
  Buffer input{"A", DType::kI32, BufferRole::kInput, {3, 4}, {}};
  Buffer output{"C", DType::kF32, BufferRole::kOutput, {3}, {}};
  order.buffers = {input, output};
  order.timing.instrument = Instrument::kCpuTime;
  return order;
}

TEST(RivalLines, SayWhatIsComputedOnWhat) {
  const std::string line = PrepareLine(Product(), "/d/timed");
  EXPECT_EQ(line.back(), '\n');
  const json request = json::parse(line);
  EXPECT_EQ(request["do"], "prepare");
  EXPECT_EQ(request["protocol"], 1);
  EXPECT_EQ(request["instrument"], "cpu_time");
  EXPECT_EQ(request["shape"], json({{"n", 3}}));
  ASSERT_EQ(request["tensors"].size(), 2U);
  EXPECT_EQ(request["tensors"][0], json({{"name", "A"},
                                         {"role", "input"},
                                         {"dtype", "i32"},
                                         {"extents", {3, 4}},
                                         {"file", "/d/timed/A.in"}}));
  EXPECT_FALSE(request["tensors"][1].contains("file"));
  EXPECT_EQ(json::parse(WriteLine(Product(), "/d/timed"))["outputs"],
            json::array({{{"name", "C"}, {"file", "/d/timed/C.out"}}}));
  EXPECT_EQ(json::parse(RunLine(2, 9)), json({{"do", "run"}, {"warmup", 2}, {"iterations", 9}}));
}

TEST(RivalLines, AnAnswerToPrepareIsVersionsOrAReason) {
  const auto ok =
      ParsePrepared(R"({"ok": true, "protocol": 1, "versions": {"torch": "2.5", "odd": 3}})");
  ASSERT_TRUE(ok) << ok.error().message;
  const auto* prepared = std::get_if<RivalPrepared>(&*ok);
  ASSERT_NE(prepared, nullptr);
  EXPECT_THAT(prepared->versions, ElementsAre(std::pair<std::string, std::string>("torch", "2.5")));
  const auto absent = ParsePrepared(R"({"absent": "no module\nnamed torch"})");
  ASSERT_TRUE(absent);
  EXPECT_EQ(std::get<RivalAbsent>(*absent).why, "no module named torch");
}

TEST(RivalLines, AnotherProtocolIsNamed) {
  EXPECT_EQ(ParsePrepared(R"({"ok": true, "protocol": 2})").error().message,
            "speaks protocol 2; wanted 1");
  EXPECT_EQ(ParsePrepared(R"({"ok": true})").error().message, "speaks protocol none; wanted 1");
}

TEST(RivalLines, WhatIsNoAnswerIsQuotedBesideWhatIsWanted) {
  for (const char* line : {"", "hello", "[]", "1", "null", "{", "{}", R"({"ok": 1})",
                           R"({"ok": "true", "protocol": 1})", R"({"absent": 3})", "\xff\xfe"}) {
    const auto answer = ParsePrepared(line);
    ASSERT_FALSE(answer) << line;
    EXPECT_THAT(answer.error().message,
                AllOf(HasSubstr("answered prepare with '"), HasSubstr("wanted {\"ok\": true")))
        << line;
    EXPECT_FALSE(ParseWritten(line)) << line;
  }
  EXPECT_EQ(ParseWritten(R"({"error": "out of memory"})").error().message,
            "failed in write: out of memory");
  EXPECT_TRUE(ParseWritten(R"({"ok": true})"));
}

TEST(RivalLines, TimesAreAllOfThemFiniteAndAboveZero) {
  const auto times = ParseTimes(R"({"us": [1.5, 2, 1e-3]})", 3);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_THAT(*times, ElementsAre(1.5, 2, 1e-3));
  for (const char* line :
       {R"({"us": [1.5, 2]})", R"({"us": [1, 2, 3, 4]})", R"({"us": [1, NaN, 2]})",
        R"({"us": [1, 1e999, 2]})", R"({"us": [1, null, 2]})", R"({"us": [1, -2, 2]})",
        R"({"us": [1, 0, 2]})", R"({"us": [1, "2", 2]})", R"({"us": [1, [2], 2]})",
        R"({"us": {"0": 1}})", R"({"us": 3})", "{}"}) {
    const auto refused = ParseTimes(line, 3);
    ASSERT_FALSE(refused) << line;
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("answered run with"),
                      HasSubstr("wanted {\"us\": [3 times in microseconds, above 0]}")))
        << line;
  }
}

TEST(RivalLines, AMessageIsOneShortLineWhateverItQuotes) {
  const std::string longest(1 << 20, '\n');
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  for (const std::string& line : {longest, deep, deep + std::string(100'000, ']')}) {
    const std::string message = ParseTimes(line, 3).error().message;
    EXPECT_LT(message.size(), 4 * kMostQuoted);
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(Quotable("a\tb\x01"
                     "c"),
            "a b c");
  EXPECT_EQ(Quotable("abcdef", 3), "abc...");
}

// Answers with bytes changed: refused or taken, never anything else.
TEST(RivalLines, ChangedAnswersNeverCrash) {
  const std::string answers[] = {R"({"ok": true, "protocol": 1, "versions": {"torch": "2.5"}})",
                                 R"({"us": [1.5, 2.25, 3e2]})", R"({"absent": "no torch"})",
                                 R"({"error": "\u00e9\ud800"})"};
  std::mt19937 draw(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string line = answers[draw() % std::size(answers)];
    for (unsigned changes = 1 + draw() % 4; changes > 0 && !line.empty(); --changes) {
      const std::size_t at = draw() % line.size();
      switch (draw() % 3) {
        case 0:
          line[at] = static_cast<char>(draw());
          break;
        case 1:
          line.erase(at, 1 + draw() % 5);
          break;
        default:
          line.insert(at, line.substr(draw() % line.size(), draw() % 9));
      }
    }
    if (const auto times = ParseTimes(line, 3)) {
      EXPECT_EQ(times->size(), 3U);
      for (const double us : *times) EXPECT_GT(us, 0);
    } else {
      EXPECT_NE(times.error().message, "");
    }
    if (const auto prepared = ParsePrepared(line); !prepared) {
      EXPECT_NE(prepared.error().message, "");
    }
    static_cast<void>(ParseWritten(line).has_value());
  }
}

}  // namespace
}  // namespace pawl
