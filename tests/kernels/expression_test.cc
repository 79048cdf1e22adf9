#include "kernels/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Place kPlace{"split.toml", 12};

class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest() {
    scope_.Add("m");
    scope_.Add("k");
    scope_.Add("block.m");
    scope_.AddWord("staging", {"shared", "exact", "guarded"});
    values_ = {1024, 0, 64, scope_.Word("exact")};
  }

  std::string Value(const std::string& text) {
    const Result<Expression> expression = Expression::Parse(text, scope_, kPlace);
    if (!expression) return expression.error().message;
    const Result<std::int64_t> value = expression->Evaluate(values_);
    return value ? std::to_string(*value) : value.error().message;
  }

  Scope scope_;
  std::vector<std::int64_t> values_;
};

TEST_F(ExpressionTest, FollowsThePrecedenceOfC) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 3 - 2", "5"},
      {"100 / 5 / 2", "10"},
      {"7 % 4 * 2", "6"},
      {"-7 + 2", "-5"},
      {"- - 7", "7"},
      {"2 - -3", "5"},
      {"!0 + 1", "2"},
      {"!!5", "1"},
      {"-block.m / 5", "-12"},
      {"1 < 2 == 3 < 4", "1"},
      {"1 || 0 && 0", "1"},
      {"(1 || 0) && 0", "0"},
      {"0 ? 1 : 0 ? 2 : 3", "3"},
      {"1 ? 2 ? 3 : 4 : 5", "3"},
      {"1 + 1 == 2 && 3 >= 3 && 3 <= 3 && 2 != 3 && 4 > 3", "1"},
      {"2 || 0", "1"},
      {"2 && 4", "1"},
      {"true + true - false", "2"},
      {"min(3, 1, 2) + max(4, 9, 5)", "10"},
      {"ceil_div(7, 2)", "4"},
      {"ceil_div(8, 2)", "4"},
      {"ceil_div(-7, 2)", "-3"},
      {"ceil_div(0 - 7, 0 - 2)", "4"},
      {"ceil_div(k ? 1 : 9, m ? 4 : 1)", "3"},
      {"m%block.m==0", "1"},
      {"m\n  % 10", "4"},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(Value(text), value) << text;
}

TEST_F(ExpressionTest, DividesAsIntegersTowardsZero) {
  EXPECT_EQ(Value("7 / 2"), "3");
  EXPECT_EQ(Value("-7 / 2"), "-3");
  EXPECT_EQ(Value("-7 % 2"), "-1");
  EXPECT_EQ(Value("7 / 2 * 2"), "6");
}

TEST_F(ExpressionTest, HoldsEveryIntegerUpTo2To53Exactly) {
  EXPECT_EQ(Value("9007199254740992 - 1"), "9007199254740991");
  EXPECT_EQ(Value("94906265 * 94906265"), "9007199136250225");
  EXPECT_EQ(Value("9007199254740991 % 10"), "1");
  EXPECT_EQ(Value("-9007199254740992"), "-9007199254740992");
}

TEST_F(ExpressionTest, RefusesWhatWouldBeRoundedPast2To53) {
  EXPECT_EQ(Value("9007199254740992 + 1"),
            "split.toml:12: a sum goes past 2^53 in '9007199254740992 + 1'");
  // Rounds to exactly 2^53 as a double: must still be seen.
  EXPECT_THAT(Value("321 * 28059810762433"), HasSubstr("a product goes past 2^53"));
  EXPECT_THAT(Value("9007199254740992 * 9007199254740992"), HasSubstr("past 2^53"));
  EXPECT_THAT(Value("-9007199254740992 - 1"), HasSubstr("a difference goes past 2^53"));
  EXPECT_THAT(Value("9007199254740993"), HasSubstr("number 9007199254740993 is past 2^53"));
  EXPECT_THAT(Value("99999999999999999999999"), HasSubstr("past 2^53"));
  values_[0] = kLargestValue + 1;
  EXPECT_EQ(Value("m / 2"),
            "split.toml:12: m goes past 2^53 in 'm / 2', where m = 9007199254740993");
}

TEST_F(ExpressionTest, NamesTheFiguresOfADivisionByZero) {
  EXPECT_EQ(Value("m / k"), "split.toml:12: division by zero in 'm / k', where m = 1024, k = 0");
  EXPECT_THAT(Value("m % k"), HasSubstr("division by zero"));
  EXPECT_THAT(Value("ceil_div(m, k)"), HasSubstr("division by zero"));
}

TEST_F(ExpressionTest, EvaluatesOnlyWhatDecides) {
  EXPECT_EQ(Value("k != 0 && m / k > 3"), "0");
  EXPECT_EQ(Value("k == 0 || m / k > 3"), "1");
  EXPECT_EQ(Value("k ? m / k : 7"), "7");
  EXPECT_EQ(Value("1 ? 7 : 1 / 0"), "7");
  EXPECT_EQ(Value("0 && 1 / 0 || 1"), "1");
  EXPECT_THAT(Value("k == 0 && m / k > 3"), HasSubstr("division by zero"));
}

TEST_F(ExpressionTest, ComparesWordsWithTheirName) {
  EXPECT_EQ(Value("staging == 'exact'"), "1");
  EXPECT_EQ(Value("staging == \"exact\""), "1");
  EXPECT_EQ(Value("'shared' == staging"), "0");
  EXPECT_EQ(Value("staging != 'shared' && m == 1024"), "1");
}

TEST_F(ExpressionTest, RefusesAWordThatTheNameNeverIs) {
  EXPECT_EQ(Value("staging == 'garded'"),
            "split.toml:12: in 'staging == 'garded'': staging is never 'garded'; nearest is "
            "'guarded'; its words are shared, exact, guarded");
}

TEST_F(ExpressionTest, RefusesWordsInArithmetic) {
  const std::string only = "is a word: it can only be compared with == or !=";
  for (const std::string text :
       {"staging", "staging + 1", "1 - staging", "-staging", "staging < 'exact'", "staging == 1",
        "m == 'exact'", "staging && 1", "1 || staging", "staging ? 1 : 2", "m ? staging : 1",
        "min(staging, 1)", "!staging == 'exact'", "'exact' * 2"}) {
    EXPECT_THAT(Value(text), HasSubstr(only)) << text;
  }
}

TEST_F(ExpressionTest, NamesPlaceAndKnownNamesOfAnUnknownOne) {
  EXPECT_EQ(Value("m % blok.m == 0"),
            "split.toml:12: in 'm % blok.m == 0': unknown name 'blok.m'; nearest is 'block.m'; "
            "known are m, k, block.m, staging");
  EXPECT_THAT(Value("m == 1 and k == 0"), HasSubstr("unexpected 'and' at column 8"));
  EXPECT_THAT(Value("not m"), HasSubstr("'not' is not an operator; '!' is"));
  EXPECT_THAT(Value("pow(2, 3)"),
              HasSubstr("unknown function 'pow'; known are min, max, ceil_div"));
}

TEST_F(ExpressionTest, RefusesWhatIsNotAnExpression) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "it ends too early at column 1"},
      {"m +", "it ends too early at column 4"},
      {"(m", "')' is wanted there"},
      {"m)", "unexpected ')' at column 2"},
      {"m 3", "unexpected '3' at column 3"},
      {"m = 3", "'=' assigns"},
      {"m & 3", "'&' is not an operator; '&&' is"},
      {"m | 3", "'|' is not an operator; '||' is"},
      {"m ^ 2", "unexpected character '^'"},
      {"m, k", "unexpected ','"},
      {"0x10", "'0x10' is not a whole decimal number"},
      {"1.5 * m", "'1.5' is not a whole decimal number"},
      {"1e3", "'1e3' is not a whole decimal number"},
      {"m ? 1", "':' is wanted there"},
      {"1 < m < 3", "comparisons do not chain"},
      {"1 == m == 3", "comparisons do not chain"},
      {"max(1)", "max takes two or more arguments, not 1"},
      {"ceil_div(1, 2, 3)", "ceil_div takes two arguments, not 3"},
      {"min()", "unexpected ')'"},
      {"'open", "no closing quote"},
      {"m \x01 k", "unexpected character of code 1"},
      {"m + \xc3\xa4", "unexpected character of code 195"},
      {"* 3", "unexpected '*'"},
      {"+3", "unexpected '+'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Value(text), AllOf(HasSubstr("split.toml:12: "), HasSubstr(message))) << text;
  }
}

TEST_F(ExpressionTest, RefusesExpressionsThatAreTooLongOrTooDeep) {
  EXPECT_THAT(Value(std::string(90, '(') + "m" + std::string(90, ')')), "1024");
  EXPECT_THAT(Value(std::string(900, '(') + "m" + std::string(900, ')')), HasSubstr("too deeply"));
  EXPECT_THAT(Value(std::string(900, '-') + "m"), HasSubstr("too deeply"));
  EXPECT_THAT(Value(std::string(3000, ' ') + "m"), HasSubstr("3001 characters"));
  std::string sum = "m";
  std::string all = "m";
  for (int i = 0; i < 200; ++i) sum += " + m", all += " && m";
  EXPECT_EQ(Value(sum), std::to_string(201 * 1024));
  EXPECT_EQ(Value(all), "1");
}

TEST_F(ExpressionTest, KeepsPlaceTextAndTheSlotsItReads) {
  Result<Expression> expression = Expression::Parse("k + m * k", scope_, kPlace);
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->text(), "k + m * k");
  EXPECT_EQ(expression->place(), kPlace);
  EXPECT_EQ(expression->slots(), (std::vector<std::size_t>{1, 0}));
  const Expression moved = std::move(*expression);
  EXPECT_EQ(*moved.Evaluate({2, 3}), 9);
  EXPECT_EQ(*moved.Evaluate({5, 3}), 18);
}

TEST(Scope, GivesEachNameASlotAndEachWordANumber) {
  Scope scope;
  EXPECT_EQ(scope.Add("m"), 0u);
  EXPECT_EQ(scope.Add("n"), 1u);
  EXPECT_EQ(scope.Add("m"), 0u);
  EXPECT_EQ(scope.AddWord("order", {"ijk", "ikj"}), 2u);
  EXPECT_EQ(scope.names(), (std::vector<std::string>{"m", "n", "order"}));
  EXPECT_EQ(scope.Word("ijk"), scope.FindWord("ijk"));
  EXPECT_NE(scope.Word("ijk"), scope.Word("ikj"));
  EXPECT_EQ(scope.FindWord("jki"), std::nullopt);
  EXPECT_EQ(scope.Text(2, scope.Word("ikj")), "ikj");
  EXPECT_EQ(scope.Text(0, 17), "17");
}

TEST(Names, AreIdentifiersThatCppAndExpressionsLeaveFree) {
  for (const char* name : {"m", "k_step", "_x", "MWG", "block2"}) EXPECT_TRUE(IsName(name)) << name;
  for (const char* name :
       {"", "2m", "block.m", "a-b", "for", "int", "min", "ceil_div", "ä", "true"}) {
    EXPECT_FALSE(IsName(name)) << name;
  }
}

}  // namespace
}  // namespace pawl
