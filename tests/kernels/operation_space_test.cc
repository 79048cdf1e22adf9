// The spaces of the other shipped operations: what they take, refuse and share out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "tests/kernels/bound_space.h"

namespace pawl {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace pawl
