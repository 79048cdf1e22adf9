#include "kernels/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/operation.h"
#include "tests/kernels/bound_space.h"
#include "tests/kernels/sample_package.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Bound Chunk(const PackageFiles& files, std::int64_t rows = 16, std::int64_t width = 64) {
  return Bind(LoadOperation(files, "saxpy"), "host", "chunk", {{"rows", rows}, {"width", width}});
}

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

TEST(Space, IgnoresNoKnobWithoutWhoseValueADerivedOneCannotBeComputed) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/chunk.toml", "unroll  = [1, 2, 4]", "unroll  = [0, 1, 2]");
  Edit(files, "host/chunk.toml", "knob = \"fused\"\nwhen = \"unroll == 1\"",
       "knob = \"unroll\"\nwhen = \"fused\"");
  const Bound chunk = Chunk(files);
  // lanes is block.n / unroll.
  EXPECT_EQ(chunk.space->Canonical(With(chunk, "unroll=2 fused=true")),
            With(chunk, "unroll=2 fused=true"));
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
