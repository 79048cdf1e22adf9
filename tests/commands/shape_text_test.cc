#include "coordinator/commands/shape_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Why(const std::string& text) {
  const auto shape = ParseShape("--shapes", text);
  return shape ? "a shape" : shape.error().message;
}

TEST(ShapeText, IsLettersAndValues) {
  const auto shape = ParseShape("--shapes", "m=256,k=9007199254740992");
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_THAT(*shape, ElementsAre(Scalar{"m", 256}, Scalar{"k", 9007199254740992}));
}

TEST(ShapeText, ThatIsNoneIsQuoted) {
  for (const char* text : {"", ",", "m", "m=", "=3", "m=3,", "m=x", "m=3x", "m=3 ", "m=0x10",
                           "m=+3", "m=3,n", "m==3", "m=1e3"}) {
    EXPECT_THAT(Why(text), AllOf(HasSubstr("--shapes: '" + std::string(text) + "' is no shape"),
                                 HasSubstr("m=256,n=256,k=128")))
        << text;
  }
}

// As it was typed: no figure that the machine has made of it.
TEST(ShapeText, AValueOutOfRangeIsSaidAsItIs) {
  for (const char* value :
       {"99999999999999999999", "9007199254740993", "0", "-1", "-99999999999999999999"}) {
    EXPECT_EQ(Why("m=3,n=" + std::string(value)), "--shapes: n=" + std::string(value) +
                                                      " is out of range; 1 to 9007199254740992 is "
                                                      "wanted");
  }
}

TEST(WholeNumber, IsDigitsAlone) {
  EXPECT_EQ(*ParseWhole("0"), 0U);
  EXPECT_EQ(*ParseWhole("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"", "-1", "+1", "1.5", "1e3", " 1", "18446744073709551616"}) {
    EXPECT_THAT(ParseWhole(text).error().message, HasSubstr("'" + std::string(text) + "'"));
  }
}

}  // namespace
}  // namespace pawl
