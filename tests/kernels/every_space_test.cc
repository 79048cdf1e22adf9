// What holds for every shipped space, whatever its operation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/kernels/bound_space.h"

namespace pawl {
namespace {

TEST(EveryShippedKnobValue, ValidatesOrHasAReason) {
  const std::vector<Bound> bounds = [] {
    std::vector<Bound> all;
    all.push_back(Tiled(1024, 1024, 1024));
    all.push_back(Split(4096, 768));
    all.push_back(Elements(4096, 768));
    all.push_back(Shipped("matmul", "structured", {{"m", 1024}, {"n", 1024}, {"k", 1024}}));
    all.push_back(Shipped("layer_norm", "rows", {{"rows", 4096}, {"width", 768}}));
    all.push_back(Contraction(128, 32));
    all.push_back(Teams(4096, 64, 65536));
    all.push_back(Shipped("gemm", "clblast", {{"m", 4096}, {"n", 4096}, {"k", 4096}}));
    return all;
  }();
  for (const Bound& bound : bounds) {
    for (const Knob& knob : bound.structure->knobs) {
      for (const KnobValue& value : knob.values) {
        Configuration configuration = bound.structure->start;
        configuration.Set(knob.name, value);
        for (const Violation& violation : bound.space->Validate(configuration)) {
          EXPECT_GT(violation.text.size(), 10u) << configuration.Text();
          EXPECT_EQ(violation.text.find_first_of("{}?"), std::string::npos) << violation.text;
        }
      }
    }
  }
}

TEST(EveryShippedSpace, EnumeratesExactlyWhatValidates) {
  for (const Bound& bound : {Tiled(1024, 512, 96), Split(24, 768), Elements(24, 6),
                             Shipped("layer_norm", "rows", {{"rows", 1030}, {"width", 768}})}) {
    std::vector<std::uint64_t> enumerated;
    bound.space->Enumerate([&](const Configuration& configuration) {
      enumerated.push_back(*bound.space->OrdinalOf(configuration));
      return true;
    });
    std::vector<std::uint64_t> validated;
    for (std::uint64_t ordinal = 0; ordinal < bound.space->Cartesian(); ++ordinal) {
      if (bound.space->Validate(bound.space->At(ordinal)).empty()) validated.push_back(ordinal);
    }
    EXPECT_FALSE(validated.empty());
    EXPECT_EQ(enumerated, validated);
    // NextValid agrees, from every ordinal.
    std::size_t next = 0;
    for (std::uint64_t ordinal = 0; ordinal < bound.space->Cartesian(); ++ordinal) {
      while (next < validated.size() && validated[next] < ordinal) ++next;
      const std::optional<Space::Entry> entry = bound.space->NextValid(ordinal);
      ASSERT_EQ(entry.has_value(), next < validated.size()) << ordinal;
      if (!entry) continue;
      EXPECT_EQ(entry->ordinal, validated[next]);
      EXPECT_EQ(entry->configuration, bound.space->At(validated[next]));
    }
    EXPECT_EQ(bound.space->NextValid(bound.space->Cartesian()), std::nullopt);
    EXPECT_EQ(bound.space->NextValid(bound.space->Cartesian() + 17), std::nullopt);
  }
}

TEST(EveryShippedSpace, ChangesOneKnobToADistinctConfiguration) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  std::set<std::string> texts;
  std::set<Digest> digests;
  for (std::uint64_t ordinal = 0; ordinal < tiled.space->Cartesian(); ++ordinal) {
    const Configuration configuration = tiled.space->At(ordinal);
    texts.insert(configuration.Text());
    digests.insert(configuration.Hash());
    EXPECT_EQ(tiled.space->OrdinalOf(configuration), ordinal);
  }
  EXPECT_EQ(texts.size(), tiled.space->Cartesian());
  EXPECT_EQ(digests.size(), tiled.space->Cartesian());
}

// What spaces do, on a small package.

}  // namespace
}  // namespace pawl
