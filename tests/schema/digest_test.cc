#include "schema/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace pawl {
namespace {

// FIPS 180-4 examples.
TEST(Digest, IsSha256) {
  EXPECT_EQ(Sha256("").Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc").Hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256(std::string(1'000'000, 'a')).Hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, ComesBackFromItsHex) {
  const Digest digest = Sha256("abc");
  const Result<Digest> again = Digest::FromHex(digest.Hex());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, digest);
  EXPECT_EQ(digest.Short(), "ba7816bf8f01");
  EXPECT_EQ(digest.Prefix64(), 0xba7816bf8f01cfeau);
}

TEST(Digest, RefusesWhatIsNoHex) {
  EXPECT_EQ(Digest::FromHex("ba78").error().message, "digest has 4 characters, 64 wanted");
  for (const char bad : {'g', 'A', ' ', '\0', '/', ':'}) {
    std::string hex = Sha256("abc").Hex();
    hex[63] = bad;
    const Result<Digest> digest = Digest::FromHex(hex);
    ASSERT_FALSE(digest) << static_cast<int>(bad);
    EXPECT_NE(digest.error().message.find("not a lower-case hex digit"), std::string::npos);
  }
}

TEST(Digest, KnowsZero) {
  EXPECT_TRUE(Digest{}.IsZero());
  EXPECT_FALSE(Sha256("").IsZero());
  Digest last;
  last.bytes[31] = 1;
  EXPECT_FALSE(last.IsZero());
  EXPECT_LT(Digest{}, last);
}

TEST(Digest, IsAKeyOfHashTables) {
  const std::unordered_set<Digest> digests = {Sha256("a"), Sha256("b"), Sha256("a")};
  EXPECT_EQ(digests.size(), 2u);
  EXPECT_TRUE(digests.contains(Sha256("b")));
}

TEST(Hasher, OfRawPiecesIsTheDigestOfTheWhole) {
  EXPECT_EQ(Hasher().Raw("a").Raw("").Raw("bc").Finish(), Sha256("abc"));
}

TEST(Hasher, KeepsFieldsApart) {
  const auto digest = [](std::string_view first, std::string_view second) {
    return Hasher().Field(first).Field(second).Finish();
  };
  EXPECT_NE(digest("ab", "c"), digest("a", "bc"));
  EXPECT_NE(digest("abc", ""), digest("", "abc"));
  EXPECT_EQ(digest("ab", "c"), Sha256(std::string("\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\1c", 19)));
}

}  // namespace
}  // namespace pawl
