#include "schema/configuration.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/samples.h"

namespace pawl {
namespace {

TEST(KnobValue, HasOneText) {
  EXPECT_EQ(ToText(true), "true");
  EXPECT_EQ(ToText(false), "false");
  EXPECT_EQ(ToText(std::int64_t{-64}), "-64");
  EXPECT_EQ(ToText(std::string("guarded")), "guarded");
  EXPECT_EQ(ToText(Tuple{64, 32, 1}), "64x32x1");
}

TEST(Configuration, IsWrittenInKnobOrder) {
  EXPECT_EQ(test::SampleConfiguration().Text(), "pack=true k_step=32 staging=guarded block=64x128");
  EXPECT_EQ(Configuration{}.Text(), "");
}

TEST(Configuration, FindsKnobsByName) {
  const Configuration configuration = test::SampleConfiguration();
  ASSERT_NE(configuration.Find("k_step"), nullptr);
  EXPECT_EQ(*configuration.Find("k_step"), KnobValue(std::int64_t{32}));
  EXPECT_EQ(configuration.Find("k_ste"), nullptr);
  EXPECT_FALSE(configuration.empty());
  EXPECT_TRUE(Configuration{}.empty());
}

TEST(Configuration, SetsOneKnobAndKeepsTheOrder) {
  Configuration configuration = test::SampleConfiguration();
  configuration.Set("staging", std::string("exact"));
  EXPECT_EQ(configuration.Text(), "pack=true k_step=32 staging=exact block=64x128");
}

TEST(ConfigurationDeathTest, SettingAnUnknownKnobIsABug) {
  Configuration configuration = test::SampleConfiguration();
  EXPECT_DEATH(configuration.Set("k_ste", true), "no knob k_ste in pack=true");
}

TEST(Configuration, HashesToldApartByNameTypeValueAndOrder) {
  const auto hash = [](std::vector<Setting> settings) {
    return Configuration{std::move(settings)}.Hash();
  };
  const std::set<Digest> hashes = {
      hash({}),
      hash({{"a", true}}),
      hash({{"b", true}}),
      hash({{"a", false}}),
      hash({{"a", std::string("true")}}),
      hash({{"a", std::int64_t{1}}}),
      hash({{"a", std::string("1")}}),
      hash({{"a", Tuple{1}}}),
      hash({{"a", Tuple{1, 1}}}),
      hash({{"a", true}, {"b", true}}),
      hash({{"b", true}, {"a", true}}),
  };
  EXPECT_EQ(hashes.size(), 11u);
  EXPECT_EQ(hash({{"a", true}}), hash({{"a", true}}));
}

// Ledgers name configurations by these digests, so they never change.
TEST(Configuration, HashIsTheSameInEveryRelease) {
  EXPECT_EQ(test::SampleConfiguration().Hash().Hex(), Hasher()
                                                          .Field("pack")
                                                          .Field("0")
                                                          .Field("true")
                                                          .Field("k_step")
                                                          .Field("1")
                                                          .Field("32")
                                                          .Field("staging")
                                                          .Field("2")
                                                          .Field("guarded")
                                                          .Field("block")
                                                          .Field("3")
                                                          .Field("64x128")
                                                          .Finish()
                                                          .Hex());
}

}  // namespace
}  // namespace pawl
