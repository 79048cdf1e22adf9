// The field note's spaces: its counts, knobs, refusals and repairs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/kernels/bound_space.h"

namespace pawl {
namespace {

using testing::ElementsAre;

TEST(Matmul, HasTheFieldNotesCounts) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  std::uint64_t without_pipeline = 0;
  tiled.space->Enumerate([&](const Configuration& configuration) {
    if (ToText(*configuration.Find("staging")) != "pipeline") ++without_pipeline;
    return true;
  });
  EXPECT_EQ(tiled.space->Cartesian(), 1792u);
  EXPECT_EQ(without_pipeline, 440u);
  EXPECT_EQ(tiled.space->CountValid(), 488u);
  EXPECT_EQ(tiled.space->CountDistinct(), 464u);
}

TEST(Matmul, HasTheFieldNotesAuditList) {
  const Bound tiled = Tiled(256, 256, 128);
  const std::vector<Configuration> list = tiled.space->AuditList();
  const auto pipeline = std::count_if(list.begin(), list.end(), [](const Configuration& c) {
    return ToText(*c.Find("staging")) == "pipeline";
  });
  EXPECT_EQ(list.size(), 46u);
  EXPECT_EQ(pipeline, 6);
  // 64x32 is in the audit list only.
  EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const Configuration& c) {
    return ToText(*c.Find("block")) == "64x32";
  }));
  for (const Configuration& configuration : list) {
    EXPECT_TRUE(tiled.space->Validate(configuration).empty()) << configuration.Text();
  }
}

TEST(Matmul, KeepsTheFieldNotesKnobOrderValuesAndDefault) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  std::vector<std::string> knobs;
  for (const Knob& knob : tiled.structure->knobs) {
    std::string line = knob.name + ":";
    for (const KnobValue& value : knob.values) line += " " + ToText(value);
    knobs.push_back(line);
  }
  EXPECT_THAT(
      knobs,
      ElementsAre("transpose_a: false true", "quad_stage: false true", "k_step: 32 64 16 128",
                  "block: 64x64 128x64 64x128 32x64 32x32 128x32 128x128",
                  "staging: shared exact guarded pipeline", "thread_tile: 4x4 8x4 4x8 8x8"));
  EXPECT_EQ(
      tiled.structure->start.Text(),
      "transpose_a=true quad_stage=true k_step=64 block=64x64 staging=shared thread_tile=4x4");
  EXPECT_TRUE(tiled.space->Validate(tiled.structure->start).empty());
}

TEST(Matmul, RefusesKStep128AtTheDefaultTileWithItsBytes) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  EXPECT_THAT(Texts(tiled.space->Validate(With(tiled, "k_step=128 staging=guarded"))),
              ElementsAre("shared memory: 67584 B needed, 46080 B allowed"));
  // Where staging is shared that is a reason of its own, and comes first.
  EXPECT_THAT(Texts(tiled.space->Validate(With(tiled, "k_step=128"))),
              ElementsAre("shared staging: block 64x64 and k_step 128 must be equal on every side",
                          "shared memory: 67584 B needed, 46080 B allowed"));
  EXPECT_EQ(tiled.space->Repair(With(tiled, "k_step=128")), std::nullopt);
}

TEST(Matmul, SizesBothLayoutsOfA) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  const auto value = [&](const std::string& text, std::string_view name) {
    return *tiled.space->Value(With(tiled, text), name);
  };
  EXPECT_EQ(value("transpose_a=true", "floats_a"), 68 * 64);
  EXPECT_EQ(value("transpose_a=false", "floats_a"), 64 * 64);
  EXPECT_EQ(value("transpose_a=true", "floats_b"), 64 * 64);
  EXPECT_EQ(value("transpose_a=true k_step=32 staging=pipeline", "shared_bytes"), 33792);
  EXPECT_EQ(value("transpose_a=true k_step=64 staging=pipeline", "shared_bytes"), 67584);
  EXPECT_EQ(value("block=128x64 thread_tile=8x4", "threads"), 256);
  EXPECT_EQ(value("", "m"), 1024);
}

TEST(Matmul, NamesEveryReasonOfAnImpossibleGeometry) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  const auto violations = [&](const std::string& text) {
    return Texts(tiled.space->Validate(With(tiled, text)));
  };
  EXPECT_THAT(
      violations("staging=guarded block=66x64"),
      testing::Contains("sides: block 66x64, thread tile 4x4, k_step 64; each must be a multiple "
                        "of 4"));
  EXPECT_THAT(violations("staging=guarded k_step=16 block=256x128 thread_tile=4x4"),
              ElementsAre("threads: 2048 needed, 1024 allowed"));
  EXPECT_THAT(violations("staging=guarded k_step=16 block=32x32 thread_tile=16x8"),
              ElementsAre("threads: 8 is not a whole number of warps of 32"));
  EXPECT_THAT(
      violations("staging=exact k_step=32 block=128x64"),
      ElementsAre("exact staging: 512 threads must share 1024 quads of A and 512 of B in equal "
                  "whole numbers"));
  EXPECT_THAT(violations("staging=pipeline k_step=32 thread_tile=8x8"),
              ElementsAre("pipeline staging: thread tile 8x8, 4x4 needed"));
  EXPECT_THAT(violations("block=128x128 k_step=128 thread_tile=8x4"),
              ElementsAre("shared memory: 133120 B needed, 46080 B allowed"));
}

TEST(Matmul, NamesEverySideOfAShapeThatIsNotCovered) {
  const Bound tiled = Tiled(1000, 1024, 1010);
  EXPECT_THAT(Texts(tiled.space->Validate(tiled.structure->start)),
              ElementsAre("shape: m 1000 is not a multiple of the block's 64",
                          "shape: k 1010 is not a multiple of k_step 64"));
  EXPECT_EQ(tiled.space->CountValid(), 0u);
  EXPECT_EQ(tiled.space->NextValid(0), std::nullopt);
}

TEST(Matmul, RepairsStagingExactThenGuarded) {
  const Bound tiled = Tiled(1024, 1024, 1024);
  const std::optional<Repaired> exact = tiled.space->Repair(With(tiled, "k_step=32"));
  ASSERT_TRUE(exact);
  EXPECT_THAT(exact->changes,
              ElementsAre(Change{"staging", std::string("shared"), std::string("exact"), true}));
  EXPECT_EQ(exact->configuration, With(tiled, "k_step=32 staging=exact"));
  const std::optional<Repaired> guarded =
      tiled.space->Repair(With(tiled, "k_step=32 block=128x64"));
  ASSERT_TRUE(guarded);
  EXPECT_EQ(ToText(guarded->changes[0].to), "guarded");
  // The current value is skipped.
  const std::optional<Repaired> other =
      tiled.space->Repair(With(tiled, "k_step=32 block=128x64 staging=exact"));
  ASSERT_TRUE(other);
  EXPECT_EQ(ToText(other->changes[0].to), "guarded");
  EXPECT_EQ(tiled.space->Repair(tiled.structure->start), std::nullopt);
}

TEST(LayerNorm, HasElevenOfTwelvePairs) {
  const Bound split = Split(4096, 768);
  EXPECT_EQ(split.space->Cartesian(), 12u);
  EXPECT_EQ(split.space->CountValid(), 11u);
  EXPECT_THAT(Texts(split.space->Validate(With(split, "warps_per_row=8 threads=128"))),
              ElementsAre("a row takes a whole number of the block's warps: 4 warps, 8 a row"));
  EXPECT_EQ(Split(64, 768).space->AuditList().size(), 11u);
  EXPECT_EQ(split.structure->start.Text(), "warps_per_row=2 threads=256");
}

TEST(LayerNorm, ChecksRowsAndWidth) {
  EXPECT_THAT(Texts(Split(4095, 767).space->Validate(Split(4096, 768).structure->start)),
              ElementsAre("shape: 4095 rows are not a multiple of the block's 4",
                          "shape: width 767 is not a multiple of 4"));
  const Bound split = Split(4096, 768);
  EXPECT_THAT(Texts(split.space->Validate(With(split, "threads=2048"))),
              ElementsAre("threads: 2048 needed, 1024 allowed"));
  EXPECT_THAT(Texts(split.space->Validate(With(split, "threads=272"))),
              ElementsAre("threads: 272 is not a whole number of warps of 32"));
}

}  // namespace
}  // namespace pawl
