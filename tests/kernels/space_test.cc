#include "kernels/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/operation.h"
#include "tests/kernels/bound_space.h"
#include "tests/kernels/sample_package.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Bound Tiled(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Shipped("matmul", "tiled", {{"m", m}, {"n", n}, {"k", k}});
}
Bound Split(std::int64_t rows, std::int64_t width) {
  return Shipped("layer_norm", "split", {{"rows", rows}, {"width", width}});
}
Bound Elements(std::int64_t rows, std::int64_t width) {
  return Shipped("bias_gelu", "elements", {{"rows", rows}, {"width", width}});
}
Bound Contraction(std::int64_t n, std::int64_t c) {
  return Shipped("triangle_contraction", "tiled", {{"n", n}, {"c", c}});
}
Bound Teams(std::int64_t nodes, std::int64_t features, std::int64_t edges) {
  return Shipped("neighbour_aggregation", "teams",
                 {{"nodes", nodes}, {"features", features}, {"edges", edges}});
}
Bound Chunk(const PackageFiles& files, std::int64_t rows = 16, std::int64_t width = 64) {
  return Bind(LoadOperation(files, "saxpy"), "host", "chunk", {{"rows", rows}, {"width", width}});
}

// The field note's spaces.

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

TEST(BiasGelu, CoversEveryShapeFromItsStart) {
  const Bound elements = Elements(4096, 768);
  EXPECT_EQ(elements.space->Cartesian(), 8640u);
  EXPECT_EQ(elements.space->CountDistinct(), 7200u);
  EXPECT_EQ(Elements(32, 128).space->AuditList().size(), 8u);
  for (const auto& [rows, width] : {std::pair{1, 1}, {3, 257}, {4093, 766}}) {
    const Bound other = Elements(rows, width);
    EXPECT_TRUE(other.space->Validate(other.structure->start).empty()) << rows << "x" << width;
  }
  EXPECT_THAT(Texts(Elements(3, 257).space->Validate(With(elements, "vector=2 elements=4"))),
              ElementsAre("shape: width 257 is not a multiple of the vector's 2"));
}

TEST(BiasGelu, SharesTheMatrixOutByEitherWalk) {
  const Bound elements = Elements(4096, 768);
  const auto grid = [&](const std::string& text) {
    return elements.space->GeometriesOf(With(elements, "vector=4 elements=8 " + text))
        .front()
        ->grid;
  };
  // 786432 quads, 512 a block; 192 quads a row, two of a thread.
  EXPECT_THAT(grid("walk=flat"), ElementsAre(1536, 1, 1));
  EXPECT_THAT(grid("walk=rows threads=192"), ElementsAre(2048, 1, 1));
  EXPECT_THAT(grid("walk=rows threads=384"), ElementsAre(1024, 1, 1));
  EXPECT_THAT(grid("walk=rows threads=128"), ElementsAre(2048, 2, 1));
  EXPECT_THAT(grid("walk=rows threads=128 most_blocks=132"), ElementsAre(132, 2, 1));
}

TEST(BiasGelu, RepairsWhatAWiderVectorNeeds) {
  const Bound elements = Elements(4096, 768);
  const std::optional<Repaired> repaired = elements.space->Repair(With(elements, "vector=4"));
  ASSERT_TRUE(repaired);
  EXPECT_THAT(repaired->changes,
              ElementsAre(Change{"elements", std::int64_t{1}, std::int64_t{4}, true}));
}

TEST(TriangleContraction, CoversEveryShapeFromItsStart) {
  const Bound tiled = Contraction(128, 32);
  EXPECT_EQ(tiled.space->Cartesian(), 414720u);
  EXPECT_EQ(Contraction(16, 8).space->AuditList().size(), 10u);
  EXPECT_EQ(Contraction(7, 5).space->AuditList().size(), 6u);
  for (const auto& [n, c] : {std::pair{1, 1}, {7, 5}, {19, 12}, {513, 3}}) {
    const Bound other = Contraction(n, c);
    EXPECT_TRUE(other.space->Validate(other.structure->start).empty()) << n << "x" << c;
  }
  EXPECT_THAT(Texts(Contraction(7, 6).space->Validate(With(tiled, "copy=4"))),
              ElementsAre("copies: 4 floats at a time do not divide c 6 or the tile's 8 channels"));
}

TEST(TriangleContraction, NamesEveryReasonOfAnImpossibleGeometry) {
  const Bound tiled = Contraction(128, 32);
  const auto violations = [&](const std::string& text) {
    return Texts(tiled.space->Validate(With(tiled, text)));
  };
  EXPECT_THAT(violations("slices=8"), ElementsAre("threads: 4096 needed, 1024 allowed",
                                                  "registers: about 32 of each of 4096 threads "
                                                  "needed, 232 and 65536 in all allowed"));
  EXPECT_THAT(violations("thread_tile=8x8 channels=4"),
              testing::Contains("warps: 2x2x2 threads are no whole warps of 8x2 places"));
  EXPECT_THAT(violations("tile=64x64x8 thread_tile=8x8 channels=2 k_step=32 staging=pipeline "
                         "stages=2"),
              ElementsAre("shared memory: 262144 B needed, 232448 B allowed"));
  EXPECT_THAT(violations("thread_tile=8x8 channels=4 tile=64x64x4"),
              testing::Contains("registers: about 344 of each of 64 threads needed, 232 and 65536 "
                                "in all allowed"));
  EXPECT_THAT(violations("thread_tile=4x4 slices=8 k_step=4 channels=4"),
              ElementsAre("slices: k_step 4 is not a multiple of 8"));
}

TEST(TriangleContraction, SharesATileOutAmongABlocksSlicesAndACluster) {
  const Bound tiled = Contraction(128, 32);
  const Configuration shared =
      With(tiled, "tile=32x32x8 thread_tile=4x4 channels=4 slices=2 cluster=2 copy=4");
  const Geometry geometry = *tiled.space->GeometriesOf(shared).front();
  EXPECT_THAT(geometry.grid, ElementsAre(8, 4, 4));
  EXPECT_THAT(geometry.cluster, ElementsAre(2, 1, 1));
  EXPECT_THAT(geometry.block, ElementsAre(256, 1, 1));
  EXPECT_EQ(geometry.dynamic_shared_bytes, 2u * 32 * 32 * 8 * 4);
  EXPECT_EQ(*tiled.space->Value(shared, "k_part"), 64);
  // Where nothing is staged its knobs say nothing.
  EXPECT_EQ(tiled.space->Canonical(With(tiled, "staging=direct k_step=32 copy=1 stages=6")),
            tiled.space->Canonical(With(tiled, "staging=direct k_step=4 copy=4 stages=2")));
}

TEST(NeighbourAggregation, CoversEveryShapeFromItsStart) {
  const Bound teams = Teams(4096, 64, 65536);
  EXPECT_EQ(teams.space->Cartesian(), 1440u);
  EXPECT_EQ(teams.space->CountDistinct(), 920u);
  EXPECT_EQ(Teams(40, 16, 600).space->AuditList().size(), 12u);
  for (const auto& [nodes, features, edges] :
       {std::tuple{1, 1, 1}, {7, 9, 23}, {5, 70, 190}, {4096, 64, 1}}) {
    const Bound other = Teams(nodes, features, edges);
    EXPECT_TRUE(other.space->Validate(other.structure->start).empty()) << nodes << "x" << features;
  }
}

TEST(NeighbourAggregation, MakesATeamOfLanesAndSplits) {
  const Bound teams = Teams(4096, 64, 65536);
  const auto value = [&](const std::string& text, std::string_view name) {
    return *teams.space->Value(With(teams, text), name);
  };
  EXPECT_EQ(value("features_per_thread=4 splits=2", "lanes"), 16);
  EXPECT_EQ(value("features_per_thread=4 splits=2", "team"), 32);
  EXPECT_EQ(value("features_per_thread=4 splits=2", "load_width"), 4);
  EXPECT_EQ(value("features_per_thread=1", "lanes"), 32);
  EXPECT_EQ(value("features_per_thread=8 splits=16 rows_per_block=1", "warps"), 4);
  // A warp's sums of 64 features for each of eight warps.
  EXPECT_EQ(value("features_per_thread=4 splits=4 rows_per_block=4", "shared_bytes"), 8 * 64 * 4);
  EXPECT_EQ(
      *Teams(7, 9, 23).space->Value(With(teams, "features_per_thread=4 splits=8"), "load_width"),
      1);
  EXPECT_THAT(Texts(teams.space->Validate(With(teams, "splits=32 rows_per_block=2"))),
              ElementsAre("threads: 2048 needed, 1024 allowed"));
}

TEST(Gemm, IsThePublicTablesSpace) {
  const Bound clblast = Shipped("gemm", "clblast", {{"m", 4096}, {"n", 4096}, {"k", 4096}});
  EXPECT_EQ(clblast.space->Cartesian(), 82944u);
  EXPECT_EQ(clblast.space->CountValid(), 17956u);
  EXPECT_EQ(clblast.space->CountDistinct(), 17956u);
  EXPECT_TRUE(clblast.space->Validate(clblast.structure->start).empty());
  const Committed& committed = clblast.operation.FindBackend("cuda")->committed.front();
  EXPECT_TRUE(clblast.space->Validate(committed.configuration).empty());
  EXPECT_NE(committed.configuration, clblast.structure->start);
}

// Every shipped structure, whatever it is.

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

TEST(Space, CountsInOrderWithTheLastKnobFastest) {
  const Bound chunk = Chunk(SamplePackage());
  EXPECT_EQ(chunk.space->Cartesian(), 3u * 2 * 2 * 3 * 2);
  EXPECT_EQ(chunk.space->At(0).Text(), "unroll=1 fused=false order=rows block=8x8 threads=1");
  EXPECT_EQ(chunk.space->At(1).Text(), "unroll=1 fused=false order=rows block=8x8 threads=2");
  EXPECT_EQ(chunk.space->At(2).Text(), "unroll=1 fused=false order=rows block=8x16 threads=1");
  EXPECT_EQ(chunk.space->At(71).Text(), "unroll=4 fused=true order=columns block=4x32 threads=2");
  Configuration unlisted = chunk.space->At(0);
  unlisted.Set("unroll", std::int64_t{3});
  EXPECT_EQ(chunk.space->OrdinalOf(unlisted), std::nullopt);
  EXPECT_EQ(chunk.space->OrdinalOf(Configuration{}), std::nullopt);
}

TEST(Space, StopsEnumeratingWhenToldTo) {
  const Bound chunk = Chunk(SamplePackage());
  int visits = 0;
  chunk.space->Enumerate([&](const Configuration&) { return ++visits < 3; });
  EXPECT_EQ(visits, 3);
}

TEST(Space, CountsConfigurationsThatAreTheSameKernelOnce) {
  const Bound chunk = Chunk(SamplePackage());
  std::set<std::string> kinds;
  std::vector<std::string> distinct;
  chunk.space->Enumerate(
      [&](const Configuration& c) { return kinds.insert(chunk.space->Canonical(c).Text()), true; });
  chunk.space->EnumerateDistinct(
      [&](const Configuration& c) { return distinct.push_back(c.Text()), true; });
  EXPECT_EQ(chunk.space->CountDistinct(), kinds.size());
  EXPECT_EQ(distinct.size(), kinds.size());
  EXPECT_LT(kinds.size(), chunk.space->CountValid());
  EXPECT_EQ(chunk.space->Canonical(With(chunk, "unroll=1 fused=true")), chunk.structure->start);
  EXPECT_EQ(chunk.space->Canonical(With(chunk, "unroll=2 fused=true")),
            With(chunk, "unroll=2 fused=true"));
}

TEST(Space, AppliesIgnoredRulesInTurn) {
  PackageFiles files = SamplePackage();
  // Where threads is 1, unroll has no effect: it is 1 there, and so fused has none either.
  Edit(files, "host/chunk.toml", "[[ignored]]\n",
       "[[ignored]]\nknob = 'unroll'\nwhen = 'threads == 1'\n\n[[ignored]]\n");
  const Bound chunk = Chunk(files);
  EXPECT_EQ(chunk.space->Canonical(With(chunk, "unroll=2 fused=true threads=1")),
            chunk.structure->start);
  EXPECT_EQ(chunk.space->Canonical(With(chunk, "unroll=2 fused=true threads=2")),
            With(chunk, "unroll=2 fused=true threads=2"));
}

TEST(Space, ListsEveryViolationInFileOrderWithItsFigures) {
  const Bound chunk = Chunk(SamplePackage(), 15);
  EXPECT_THAT(
      Texts(chunk.space->Validate(With(chunk, "unroll=4 order=columns block=4x32 threads=2"))),
      ElementsAre("shape: 15 rows are not a multiple of 4",
                  "unroll by 4 goes along rows only (order = columns, unroll = 4)",
                  "block: 256 elements, 128 allowed"));
}

TEST(Space, RefusesWhatIsNoConfiguration) {
  const Bound chunk = Chunk(SamplePackage());
  const auto violations = [&](const std::vector<Setting>& settings) {
    return Texts(chunk.space->Validate(Configuration{settings}));
  };
  std::vector<Setting> settings = chunk.structure->start.settings;
  settings[0].knob = "unrol";
  EXPECT_THAT(violations(settings), ElementsAre("chunk has no knob 'unrol'; nearest is 'unroll'",
                                                "knob unroll has no value"));
  settings = chunk.structure->start.settings;
  settings.pop_back();
  EXPECT_THAT(violations(settings), ElementsAre("knob threads has no value"));
  settings = chunk.structure->start.settings;
  settings.push_back(settings[0]);
  EXPECT_THAT(violations(settings), ElementsAre("knob unroll is given 2 times"));
  settings = chunk.structure->start.settings;
  std::swap(settings[0], settings[1]);
  EXPECT_THAT(violations(settings),
              ElementsAre("knob fused stands where unroll is wanted: knobs are in "
                          "the structure's order"));
  settings = chunk.structure->start.settings;
  settings[0].value = true;
  settings[2].value = std::string("diagonal");
  settings[3].value = Tuple{8, 8, 8};
  EXPECT_THAT(violations(settings),
              ElementsAre("unroll is true; an integer is wanted",
                          "order is never 'diagonal'; its words are rows, columns",
                          "block is 8x8x8; 2 parts are wanted, such as 8x8"));
  EXPECT_EQ(violations({}).size(), 5u);
}

TEST(Space, TakesValuesOutsideTheLists) {
  const Bound chunk = Chunk(SamplePackage());
  EXPECT_THAT(Texts(chunk.space->Validate(With(chunk, "block=2x64"))), ElementsAre());
  EXPECT_THAT(Texts(chunk.space->Validate(With(chunk, "block=16x16"))),
              ElementsAre("block: 256 elements, 128 allowed"));
}

TEST(Space, NamesADivisionByZeroOnlyWhenNoConstraintExplainsIt) {
  PackageFiles files = SamplePackage();
  const Bound chunk = Chunk(files);
  Configuration zero = With(chunk, "unroll=0");
  EXPECT_THAT(Texts(chunk.space->Validate(zero)),
              ElementsAre("saxpy/host/chunk.toml:12: division by zero in 'block.n / unroll', where "
                          "block.n = 8, unroll = 0"));
  Edit(files, "host/chunk.toml", "[[constraint]]",
       "[[constraint]]\nneed = 'unroll > 0'\nwhy = 'unroll {unroll}, at least 1 "
       "needed'\n[[constraint]]");
  EXPECT_THAT(Texts(Chunk(files).space->Validate(zero)),
              ElementsAre("unroll 0, at least 1 needed"));
}

TEST(Space, TriesRepairsKnobByKnob) {
  const Bound chunk = Chunk(SamplePackage());
  const std::optional<Repaired> first = chunk.space->Repair(With(chunk, "unroll=4 order=columns"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->configuration, With(chunk, "unroll=4"));
  EXPECT_THAT(first->changes,
              ElementsAre(Change{"order", std::string("columns"), std::string("rows"), true}));
  const std::optional<Repaired> second = chunk.space->Repair(With(chunk, "block=4x32 threads=2"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->changes[0].knob, "threads");
  // Two knobs would have to change.
  EXPECT_EQ(chunk.space->Repair(With(chunk, "unroll=4 order=columns block=4x32 threads=2")),
            std::nullopt);
}

TEST(Space, GivesTheLaunchGeometryAndRefusesWhatCannotBeLaunched) {
  const Bound tiled = Tiled(1024, 512, 1024);
  EXPECT_THAT(tiled.space->GeometriesOf(With(tiled, "block=128x64 staging=guarded k_step=32")),
              ElementsAre(Geometry{{8, 8, 1}, {512, 1, 1}, 0}));

  PackageFiles files = SamplePackage();
  Edit(
      files, "host/chunk.toml", "[knobs]",
      "grid = ['rows / block.m', 1, 'threads - 1']\ndynamic_shared_bytes = '4 * block.n'\n[knobs]");
  const Bound chunk = Chunk(files);
  EXPECT_THAT(Texts(chunk.space->Validate(chunk.structure->start)),
              ElementsAre("launch: grid.z is 0; 1 to 2147483647 can be launched"));
  EXPECT_THAT(chunk.space->GeometriesOf(With(chunk, "threads=2")),
              ElementsAre(Geometry{{2, 1, 1}, {1, 1, 1}, 32}));
  EXPECT_DEATH((void)chunk.space->GeometriesOf(chunk.structure->start), "grid.z is 0");

  std::set<std::string> counted;
  chunk.space->Enumerate([&](const Configuration& c) { return counted.insert(c.Text()), true; });
  for (const std::string& text : counted) EXPECT_THAT(text, HasSubstr("threads=2"));
}

TEST(Space, NeedsEveryLetterOfTheShape) {
  const Operation operation = *LoadOperation(SamplePackage(), "saxpy");
  const Structure& chunk = *operation.FindStructure("host", "chunk");
  const auto message = [&](const std::vector<Scalar>& shape) {
    const Result<Space> space = Space::Make(chunk, shape);
    return space ? "no error" : space.error().message;
  };
  EXPECT_EQ(message({{"width", 64}, {"rows", 8}}), "no error");
  EXPECT_EQ(message({{"rows", 8}}), "host/chunk.toml: the shape has no value for 'width'");
  EXPECT_EQ(message({{"rows", 8}, {"width", 0}}),
            "host/chunk.toml: the shape's width is 0; 1 to 2^53 is wanted");
  EXPECT_EQ(message({{"rows", 8}, {"width", 8}, {"k", 8}}),
            "host/chunk.toml: the shape has 3 values; 2 are wanted");
}

TEST(Space, GivesDerivedValuesInFileOrder) {
  const Bound chunk = Chunk(SamplePackage());
  EXPECT_THAT(chunk.space->Derived(With(chunk, "unroll=2 block=8x16")),
              ElementsAre(std::pair(std::string("lanes"), std::int64_t{8}),
                          std::pair(std::string("chunks"), std::int64_t{2})));
  const Result<std::int64_t> unknown = chunk.space->Value(chunk.structure->start, "lane");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "chunk has no value 'lane'; nearest is 'lanes'");
}

}  // namespace
}  // namespace pawl
