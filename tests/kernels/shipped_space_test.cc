// The shipped cuda spaces beyond the field note's: what they take, refuse and launch.

#include <gmock/gmock.h>

#include <set>
#include <tuple>

#include "kernels/render.h"
#include "tests/kernels/bound_space.h"

namespace pawl {
namespace {

using testing::ElementsAre;

TEST(StructuredMatmul, FitsAnyShape) {
  for (const auto& [m, n, k] : {std::tuple{1024, 1024, 1024}, {17, 19, 23}, {1, 1, 1}}) {
    const Bound structured = Structured(m, n, k);
    EXPECT_THAT(Texts(structured.space->Validate(structured.structure->start)), ElementsAre());
    for (const char* settings : {"split=8", "split=4 reduction=kernel", "split=2 reduction=cluster",
                                 "slices=2", "a_path=natural k_step=32", "fixed_shape=true"}) {
      EXPECT_THAT(Texts(structured.space->Validate(With(structured, settings))), ElementsAre())
          << settings;
    }
  }
  const Bound odd = Structured(17, 19, 23);
  EXPECT_EQ(*odd.space->Value(odd.structure->start, "unit_a"), 1);
  EXPECT_EQ(*odd.space->Value(odd.structure->start, "unit_b"), 1);
  EXPECT_THAT(Texts(Structured(8'000'000, 64, 64).space->Validate(odd.structure->start)),
              ElementsAre("shape: 8000000x64x64; sides up to 4194304 are allowed"));
}

TEST(StructuredMatmul, SaysWhatDoesNotFit) {
  const Bound structured = Structured(1024, 1024, 1024);
  const auto why = [&](const std::string& settings) {
    const std::vector<Violation> violations =
        structured.space->Validate(With(structured, settings));
    return violations.empty() ? "valid" : violations.front().text;
  };
  EXPECT_EQ(why("warp_tile=64x64 lanes_m=4"), "valid");
  EXPECT_EQ(why("block=96x64"), "tiles: block 96x64 is no whole number of warp tiles 64x32");
  EXPECT_EQ(why("warp_tile=16x32"),
            "tiles: a lane would have 2x8 of 16x32; whole quads are wanted, 16 to 128 elements");
  EXPECT_EQ(why("block=256x128 slices=4"), "threads: 2048 needed, 32 to 1024 allowed");
  EXPECT_EQ(why("k_step=8 a_path=natural slices=4"),
            "k_step: 4 slices of 8 are no whole number of groups of 4");
  EXPECT_EQ(why("k_step=8 a_path=natural slices=2"),
            "double_buffer: a slice has 1 groups a step; an even number is wanted");
  EXPECT_EQ(why("block=256x128 slices=2 minimum_blocks=2"),
            "minimum_blocks: 2048 threads of a multiprocessor needed, 1536 allowed");
  EXPECT_EQ(why("minimum_blocks=3 slices=4"), "registers: 124 a thread or more needed, 42 allowed");
  EXPECT_EQ(why("block=128x128 k_step=32 stages=4"),
            "shared memory: 133120 B needed, 100352 B allowed");
}

// Every pair of what differs in kind, and few enough that an audit compiles them in a minute.
TEST(StructuredMatmul, HasAnAuditListOfEachPathAndReduction) {
  const Bound structured = Structured(100, 36, 70);
  const std::vector<Configuration> list = structured.space->AuditList();
  EXPECT_EQ(list.size(),
            36u);  // 3 paths, 2 slicings, 2 of fragments; no split, or 2 reductions of one
  std::set<std::string> kinds;
  for (const Configuration& configuration : list) {
    EXPECT_THAT(Texts(structured.space->Validate(configuration)), ElementsAre());
    kinds.insert(ToText(*configuration.Find("a_path")) + " " +
                 ToText(*configuration.Find("split")) + " " +
                 ToText(*configuration.Find("reduction")));
  }
  EXPECT_EQ(kinds.size(), 9u);
}

TEST(StructuredMatmul, LaunchesWhatItsReductionNeeds) {
  const Bound structured = Structured(1000, 516, 764);
  const auto launches = [&](const std::string& settings) {
    const Configuration configuration = With(structured, settings);
    const Result<Launches> all =
        LaunchesOf(structured.operation, *structured.structure, *structured.space, configuration);
    EXPECT_TRUE(all) << all.error().message;
    std::string text;
    for (const Launch& launch : all->launches) {
      text += launch.kernel + (launch.kind == LaunchKind::kMemset ? "memset" : "") + " " +
              std::to_string(launch.grid[0]) + "x" + std::to_string(launch.grid[2]) + " cluster " +
              std::to_string(launch.cluster[2]) + "; ";
    }
    for (const Scratch& scratch : all->scratch) {
      text += scratch.name + " " + std::to_string(scratch.elements) + "; ";
    }
    return text;
  };
  // 8 x 9 tiles of 128x64.
  EXPECT_EQ(launches(""), "matmul_structured 72x1 cluster 1; parts 1; arrivals 1; ");
  EXPECT_EQ(launches("split=2 reduction=last"),
            "memset 1x1 cluster 1; matmul_structured 72x2 cluster 1; parts 1179648; arrivals 72; ");
  EXPECT_EQ(launches("split=4 reduction=kernel"),
            "matmul_structured 72x4 cluster 1; matmul_structured_join 504x1 cluster 1; parts "
            "2064000; arrivals 1; ");
  EXPECT_EQ(launches("split=4 reduction=cluster"),
            "matmul_structured 72x4 cluster 4; parts 1; arrivals 1; ");
}

TEST(StructuredMatmul, IsOneKernelWithoutASplitWhoeverWouldAddItUp) {
  const Bound structured = Structured(1024, 1024, 1024);
  EXPECT_EQ(structured.space->Canonical(With(structured, "reduction=cluster")),
            structured.structure->start);
  EXPECT_NE(structured.space->Canonical(With(structured, "reduction=cluster split=2")),
            structured.space->Canonical(With(structured, "split=2")));
}

TEST(RowsOfLayerNorm, FitAnyWidthThatRegistersHold) {
  for (const auto& [rows, width, settings] :
       {std::tuple{4096, 768, ""},
        {5, 264, "threads_per_row=64"},
        {1, 1, "threads_per_row=32 vector=1"},
        {9, 257, "vector=1"},
        {4096, 16384, "threads_per_row=512 rows_per_block=1"}}) {
    const Bound bound = Rows(rows, width);
    EXPECT_THAT(Texts(bound.space->Validate(With(bound, settings))), ElementsAre()) << width;
  }
  EXPECT_EQ(Rows(64, 768).space->AuditList().size(), 24u);
  const Bound bound = Rows(4096, 768);
  const auto why = [&](const std::string& settings) {
    return Texts(bound.space->Validate(With(bound, settings)));
  };
  EXPECT_THAT(why("threads_per_row=256"),
              ElementsAre("threads_per_row: 256 threads for 192 vectors; some warp would have "
                          "nothing"));
  EXPECT_THAT(why("threads_per_row=32 vector=1 rows_per_block=1 persistent_blocks=132"),
              ElementsAre());
  EXPECT_THAT(Texts(Rows(64, 768).space->Validate(With(bound, "persistent_blocks=132"))),
              ElementsAre("persistent_blocks: 132 blocks for 32 groups of rows; none would go on"));
  EXPECT_THAT(Texts(Rows(64, 32768).space->Validate(With(bound, "threads_per_row=128"))),
              ElementsAre("registers: 256 floats a thread needed, 128 allowed"));
}

}  // namespace
}  // namespace pawl
