#include "kernels/document.h"
#include "kernels/knob_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Table> Parsed(const std::string& text) {
  Result<std::shared_ptr<Table>> table = ParseToml(text, "job.toml");
  EXPECT_TRUE(table) << table.error().message;
  return *table;
}

template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

TEST(Document, KeepsKeysInTheOrderOfTheFile) {
  const auto table = Parsed("zeta = 1\nalpha = 2\n[knobs]\nstaging = 1\nblock = 2\n[a.b]\nc = 1\n");
  EXPECT_THAT(table->Keys(), ElementsAre("zeta", "alpha", "knobs", "a"));
  EXPECT_THAT((*table->Sub("knobs"))->Keys(), ElementsAre("staging", "block"));
  const auto inline_table = Parsed("fill = { kind = 'normal', b = 1, a = 2 }");
  EXPECT_THAT((*inline_table->Sub("fill"))->Keys(), ElementsAre("kind", "b", "a"));
}

TEST(Document, ReadsEachTypeAndMarksItKnown) {
  const auto table = Parsed(
      "s = 'x'\ni = 3\nn = 1.5\nw = 2\nb = true\nl = ['a', 'b']\narr = [1, "
      "true]\n[t]\n[[ts]]\n[[ts]]\n");
  EXPECT_EQ(*table->String("s"), "x");
  EXPECT_EQ(*table->Integer("i", 0, 9), 3);
  EXPECT_EQ(*table->Number("n", 0, 9), 1.5);
  EXPECT_EQ(*table->Number("w", 0, 9), 2.0);
  EXPECT_TRUE(*table->Bool("b"));
  EXPECT_THAT(*table->Strings("l"), ElementsAre("a", "b"));
  EXPECT_EQ(table->Array("arr")->size(), 2u);
  EXPECT_EQ((*table->Sub("t"))->place().line, 8);
  EXPECT_EQ(table->Tables("ts")->size(), 2u);
  EXPECT_TRUE(table->Finish());
}

TEST(Document, GivesNothingForAnAbsentOptionalKey) {
  const auto table = Parsed("");
  EXPECT_EQ(*table->OptionalString("a"), std::nullopt);
  EXPECT_EQ(*table->OptionalInteger("b", 0, 1), std::nullopt);
  EXPECT_EQ(*table->OptionalNumber("c", 0, 1), std::nullopt);
  EXPECT_EQ(*table->OptionalBool("d"), std::nullopt);
  EXPECT_FALSE((*table->OptionalNode("e")).has_value());
  EXPECT_EQ(*table->OptionalSub("f"), nullptr);
  EXPECT_TRUE(table->Tables("g")->empty());
  EXPECT_FALSE(table->Has("a"));
}

TEST(Document, SaysWhereAndWhatWasSeenAndWanted) {
  const auto table = Parsed("\ngenerations = 'many'\nseed = -1\ngain = nan\nl = ['a', 3]\nt = 4\n");
  EXPECT_EQ(MessageOf(table->Integer("generations", 1, 100)),
            "job.toml:2: generations is 'many'; an integer from 1 to 100 is wanted");
  EXPECT_EQ(MessageOf(table->Integer("seed", 0, 100)),
            "job.toml:3: seed is -1; an integer from 0 to 100 is wanted");
  EXPECT_EQ(MessageOf(table->Number("gain", 0, 0.5)),
            "job.toml:4: gain is nan; a number from 0 to 0.5 is wanted");
  EXPECT_EQ(MessageOf(table->Strings("l")), "job.toml:5: l holds 3; only strings are wanted");
  EXPECT_EQ(MessageOf(table->Sub("t")), "job.toml:6: t is 4; a table is wanted");
  EXPECT_EQ(MessageOf(table->Tables("t")),
            "job.toml:6: t is 4; an array of tables ([[t]]) is wanted");
  EXPECT_EQ(MessageOf(table->Bool("t")), "job.toml:6: t is 4; true or false is wanted");
  EXPECT_EQ(MessageOf(table->String("t")), "job.toml:6: t is 4; a string is wanted");
  EXPECT_EQ(MessageOf(table->String("operation")), "job.toml: key 'operation' is missing");
}

TEST(Document, AMissingKeyNamesTheOneItWasMisspeltAsAndNoneThatIsKnown) {
  const auto table = Parsed("name = 'x'\nsumary = 'y'\n[check]\natol = 1\n");
  EXPECT_EQ(MessageOf(table->String("summary")),
            "job.toml:2: key 'summary' is missing; nearest here is 'sumary'");
  const auto check = *table->Sub("check");
  check->Know({"rtol", "atol"});
  EXPECT_EQ(MessageOf(check->Number("rtol", 0, 1)), "job.toml:3: key 'rtol' is missing");
}

TEST(Document, RefusesAnUnknownKeyWithTheNearestKnownOne) {
  const auto table = Parsed("[budget]\nstale = 3\ngenrations = 20\n");
  const auto budget = *table->Sub("budget");
  (void)budget->OptionalInteger("generations", 1, 100);
  (void)budget->OptionalInteger("stale", 1, 100);
  EXPECT_EQ(MessageOf(table->Finish()),
            "job.toml:3: unknown key 'genrations'; nearest is 'generations'");
}

TEST(Document, ListsTheKnownKeysWhenNoneIsNear) {
  const auto table = Parsed("colour = 'blue'\n");
  (void)table->OptionalString("name");
  (void)table->OptionalString("shape");
  EXPECT_EQ(MessageOf(table->Finish()), "job.toml:1: unknown key 'colour'; known are name, shape");
}

TEST(Document, FindsTheFirstUnknownKeyOfTheWholeFile) {
  const auto table = Parsed("[a]\nx = 1\ny = 2\n[[b]]\nz = 3\n[c]\nd = 1\n");
  const auto tables = *table->Tables("b");
  (void)(*table->Sub("a"))->OptionalInteger("x", 0, 9);
  for (const auto& b : tables) (void)b->OptionalInteger("w", 0, 9);
  EXPECT_THAT(MessageOf(table->Finish()), HasSubstr("job.toml:3: unknown key 'y'"));
  (void)(*table->Sub("a"))->OptionalInteger("y", 0, 9);
  EXPECT_THAT(MessageOf(table->Finish()), HasSubstr("job.toml:5: unknown key 'z'"));
  for (const auto& b : tables) (void)b->OptionalInteger("z", 0, 9);
  EXPECT_THAT(MessageOf(table->Finish()), HasSubstr("job.toml:6: unknown key 'c'"));
}

TEST(Document, PlacesASyntaxError) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a = 1\nb = = 2\n", "job.toml:2: "},   {"a = 1\na = 2\n", "job.toml:2: "},
      {"a = [1, 2\n", "job.toml:"},           {"[a\n", "job.toml:1: "},
      {"a = 'x\n", "job.toml:1: "},           {"a = 99999999999999999999\n", "job.toml:1: "},
      {"a = \"\xff\xfe\"\n", "job.toml:1: "},
  };
  for (const auto& [text, place] : cases) {
    const std::string message = MessageOf(ParseToml(text, "job.toml"));
    EXPECT_THAT(message, HasSubstr(place)) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_EQ(MessageOf(ParseToml("\nwhen = 1979-05-27\n", "job.toml")),
            "job.toml:2: a date or time stands here; no key takes one");
}

TEST(Document, RefusesWhatTheParserAssumesNeverComes) {
  for (const char* text : {"a = 1\nb = [}", "b = [1, }", "[}\n", "[[ }]]"}) {
    EXPECT_THAT(MessageOf(ParseToml(text, "x.toml")), HasSubstr("x.toml")) << text;
  }
}

TEST(Document, SurvivesDeepNesting) {
  std::string text = "a = ";
  for (int i = 0; i < 200; ++i) text += '[';
  for (int i = 0; i < 200; ++i) text += ']';
  EXPECT_THAT(MessageOf(ParseToml(text, "job.toml")), HasSubstr("nested too deeply"));
  EXPECT_NE(MessageOf(ParseToml("a = " + std::string(100000, '['), "job.toml")), "no error");
}

TEST(Document, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(MessageOf(ReadToml("/nonexistent/job.toml")), "/nonexistent/job.toml: no such file");
  const std::string empty = testing::TempDir() + "empty.toml";
  std::ofstream(empty).close();
  EXPECT_EQ(MessageOf(ReadToml(empty)), empty + ": is empty");
  EXPECT_EQ(MessageOf(ReadToml("/tmp")), "/tmp: is a folder; a file is wanted");
  const std::string path = testing::TempDir() + "/pawl_document_test.toml";
  std::ofstream(path) << "a = 1\n";
  EXPECT_TRUE(ReadToml(path));
  std::remove(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(MessageOf(ReadToml(path)), path + ": is a FIFO; a file is wanted");
  std::remove(path.c_str());
}

TEST(Document, PlacesAByteThatIsNoUtf8) {
  const std::pair<const char*, const char*> cases[] = {
      {"a = 'mat\xffmul'", "f.toml:1: byte 0xff "},
      {"# \xc3(\na = 1", "f.toml:1: byte 0xc3 "},
      {"a = 1\nb = 'm\xc3'", "f.toml:2: byte 0xc3 "},
      {"a = 1\n\n# cut off \xe2\x82", "f.toml:3: byte 0xe2 "},
      {"'\xed\xa0\x80' = 1", "f.toml:1: byte 0xed "},      // a surrogate
      {"a = '\xc0\x80'", "f.toml:1: byte 0xc0 "},          // longer than needed
      {"a = '\xe0\x80\x80'", "f.toml:1: byte 0xe0 "},      // the same
      {"a = '\xf4\x90\x80\x80'", "f.toml:1: byte 0xf4 "},  // past the last
      {"\xff\xfe=", "f.toml:1: byte 0xff "},               // UTF-16
      {"\x80 = 1", "f.toml:1: byte 0x80 "},
  };
  for (const auto& [text, start] : cases) {
    EXPECT_EQ(MessageOf(ParseToml(text, "f.toml")),
              std::string(start) + "is no UTF-8; save the file as UTF-8");
  }
  EXPECT_TRUE(ParseToml("a = '\xf0\x9f\xa6\x80 \xe2\x82\xac \xc3\xa9 \xf4\x8f\xbf\xbf'", "f.toml"));
}

TEST(Document, AFloatIsNeverShownLikeAnInteger) {
  const auto table = Parsed("a = 1000.0\nb = 1e3\nc = -0.1\nd = 1e300\ne = inf\n");
  const auto seen = [&](const char* key) {
    const std::string message = MessageOf(table->Integer(key, 1, 9));
    return message.substr(0, message.find(';'));
  };
  EXPECT_EQ(seen("a"), "job.toml:1: a is 1000.0");
  EXPECT_EQ(seen("b"), "job.toml:2: b is 1000.0");
  EXPECT_EQ(seen("c"), "job.toml:3: c is -0.1");
  EXPECT_EQ(seen("d"), "job.toml:4: d is 1e+300");
  EXPECT_EQ(seen("e"), "job.toml:5: e is inf");
}

TEST(Document, ReadsKnobValues) {
  const auto table = Parsed("v = [true, 64, 'guarded', [64, 32], '64x32', -4, '8x4x2']\n");
  const auto values = *table->Array("v");
  std::vector<std::string> texts;
  std::vector<std::size_t> kinds;
  for (const Node& node : values) {
    const Result<KnobValue> value = ToKnobValue(node);
    ASSERT_TRUE(value) << value.error().message;
    texts.push_back(ToText(*value));
    kinds.push_back(value->index());
  }
  EXPECT_THAT(texts, ElementsAre("true", "64", "guarded", "64x32", "64x32", "-4", "8x4x2"));
  EXPECT_THAT(kinds, ElementsAre(0u, 1u, 2u, 3u, 3u, 1u, 3u));
}

TEST(Document, RefusesWhatIsNoKnobValue) {
  const auto table = Parsed(
      "v = [1.5, 'a b', '', [1], [1, 'x'], [1, 2, 3, 4, 5], {a = 1}, 9007199254740993, '64', "
      "'true', "
      "'64x', '1xx2']\n");
  const auto values = *table->Array("v");
  for (const Node& node : values) {
    EXPECT_THAT(MessageOf(ToKnobValue(node)), HasSubstr("is no knob value")) << node.value.index();
  }
}

TEST(Document, TextOfAKnobValueReadsBack) {
  const std::vector<KnobValue> values = {
      true, false, std::int64_t{64}, std::int64_t{-3}, std::string("guarded"), Tuple{64, 32}};
  for (const KnobValue& value : values) EXPECT_EQ(KnobValueFromText(ToText(value)), value);
  for (const char* text :
       {"", "a b", "6 4", "--3", "64x", "99999999999999999999", "9007199254740993"}) {
    EXPECT_EQ(KnobValueFromText(text), std::nullopt) << text;
  }
}

// toml++ 3.3 has undefined behaviour on these; the sanitizer builds would tell.
TEST(Document, UnicodeIsForQuotesAndComments) {
  for (const char* text :
       {"\xc3\xa9 = 1", "a\xc3\xa9 = 1", "a = \xc3\xa9", "a = 1 \xc2\xa1", "a = 'x' \xc3\xa9",
        "a = '\\' \xc3\xa9", "a = \"\\\"\" \xc3\xa9", "a = '''x'''' \xc3\xa9",
        "# \xc3\xa9\n\xc3\xa9 = 1", "\xef\xbb\xbf\xef\xbb\xbf"}) {
    EXPECT_THAT(MessageOf(ParseToml(text, "f.toml")), HasSubstr("not ASCII outside quotes"))
        << text;
  }
  for (const char* text :
       {"\xef\xbb\xbf",
        "\xef\xbb\xbf"
        "a = 1",
        "# \xc3\xa9", "a = '\xc3\xa9'", "a = \"\\\"\xc3\xa9\"", "a = '''\n'\xc3\xa9''\n'''",
        "a = \"\"\"\n\xc3\xa9\"\"\"\"\nb = 2", "\"\xc3\xa9\" = 1"}) {
    EXPECT_TRUE(ParseToml(text, "f.toml")) << text;
  }
}

TEST(Nearest, FindsMisspellingsAndNothingElse) {
  const std::vector<std::string> known = {"generations", "stale", "minutes", "k_step"};
  EXPECT_EQ(Nearest("genrations", known), "generations");
  EXPECT_EQ(Nearest("satle", known), "stale");
  EXPECT_EQ(Nearest("kstep", known), "k_step");
  EXPECT_EQ(Nearest("policy", known), "");
  EXPECT_EQ(Nearest("x", known), "");
  EXPECT_EQ(Nearest(std::string(100000, 'a'), known), "");
}

}  // namespace
}  // namespace pawl
