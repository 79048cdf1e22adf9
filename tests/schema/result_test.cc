#include "schema/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pawl {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{std::to_string(number) + " is odd, an even number wanted"};
  return number / 2;
}

TEST(Result, HoldsAValue) {
  const Result<int> half = Half(42);
  ASSERT_TRUE(half);
  EXPECT_TRUE(half.has_value());
  EXPECT_EQ(*half, 21);
  EXPECT_EQ(half.value(), 21);
}

TEST(Result, HoldsAnError) {
  const Result<int> half = Half(7);
  ASSERT_FALSE(half);
  EXPECT_FALSE(half.has_value());
  EXPECT_EQ(half.error(), (Error{"7 is odd, an even number wanted", Advice::kReject}));
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> number = *std::move(result);
  EXPECT_EQ(*number, 7);
}

TEST(Result, OfAnErrorTypeStillTellsThemApart) {
  const Result<std::string> text = std::string("a value");
  EXPECT_TRUE(text);
  EXPECT_EQ(text->size(), 7u);
}

TEST(ResultDeathTest, TakingTheValueOfAnErrorIsABug) {
  EXPECT_DEATH(static_cast<void>(*Half(7)), "7 is odd, an even number wanted");
}

TEST(Status, IsFineUnlessToldOtherwise) {
  EXPECT_TRUE(Status());
  const Status status = Error{"disk full", Advice::kHalt};
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_EQ(status.error().advice, Advice::kHalt);
}

TEST(StatusDeathTest, TakingTheErrorOfWhatIsFineIsABug) {
  const Status status;
  EXPECT_DEATH(static_cast<void>(status.error()), "check failed");
}

TEST(CheckDeathTest, PrintsTheConditionAndTheParts) {
  const int seen = 3;
  EXPECT_DEATH(CHECK(seen == 4, "seen", seen), "check failed: seen == 4: seen 3");
}

}  // namespace
}  // namespace pawl
