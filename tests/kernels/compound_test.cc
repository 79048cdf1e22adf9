#include "kernels/compound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "kernels/render.h"
#include "kernels/space.h"
#include "tests/kernels/arbitrary_structure.h"
#include "tests/kernels/bound_space.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Scalar> kShape = {{"m", 1024}, {"n", 1024}, {"k", 1024}};

// The shipped cuda structures of matmul, each alone and both as one.
class MatmulAsOne : public testing::Test {
 protected:
  MatmulAsOne() {
    Result<Structure> made = StructureNamed(*tiled_.operation.FindBackend("cuda"), kName);
    EXPECT_TRUE(made) << made.error().message;
    both_ = *std::move(made);
    Result<Space> space = Space::Make(both_, kShape);
    EXPECT_TRUE(space) << space.error().message;
    space_ = std::make_unique<Space>(*std::move(space));
  }

  Configuration With(const std::string& text) const {
    Result<Configuration> configuration = ParseConfiguration(text, both_, both_.start);
    EXPECT_TRUE(configuration) << configuration.error().message;
    return *configuration;
  }

  static constexpr const char* kName = "tiled+structured";
  const Bound tiled_ = Tiled(1024, 1024, 1024);
  const Bound structured_ = Structured(1024, 1024, 1024);
  Structure both_;
  std::unique_ptr<Space> space_;
};

TEST_F(MatmulAsOne, HasTheKnobStructureAndTheMembersKnobsByTheirStructuresName) {
  EXPECT_EQ(both_.name, kName);
  ASSERT_EQ(both_.knobs.size(),
            1 + tiled_.structure->knobs.size() + structured_.structure->knobs.size());
  EXPECT_EQ(both_.knobs[0].name, "structure");
  EXPECT_THAT(both_.knobs[0].values,
              ElementsAre(KnobValue(std::string("tiled")), KnobValue(std::string("structured"))));
  EXPECT_EQ(both_.knobs[1].name, "tiled.transpose_a");
  EXPECT_EQ(both_.knobs.back().name, "structured.fixed_shape");
}

TEST_F(MatmulAsOne, TakesItsStructureFirstWhateverTheOrderOfTheWords) {
  EXPECT_EQ(With("tiled.k_step=32 structure=tiled"), With("structure=tiled tiled.k_step=32"));
  EXPECT_EQ(With("structured.split=2 structure=structured"),
            With("structure=structured structured.split=2"));
  // Naming the structure that it has already brings no start over what is set.
  const Configuration base = With("tiled.k_step=32");
  const auto over = ParseConfiguration("structure=tiled tiled.staging=exact", both_, base);
  ASSERT_TRUE(over) << over.error().message;
  EXPECT_EQ(*over->Find("tiled.k_step"), KnobValue(std::int64_t{32}));
}

TEST_F(MatmulAsOne, StartsAsTheFirstAndNamesActiveKnobsOnly) {
  EXPECT_EQ(both_.start.Text(),
            "structure=tiled tiled.transpose_a=true tiled.quad_stage=true tiled.k_step=64 "
            "tiled.block=64x64 tiled.staging=shared tiled.thread_tile=4x4");
  EXPECT_THAT(space_->Validate(both_.start), IsEmpty());
}

TEST_F(MatmulAsOne, MovesToAStructuresStart) {
  const Configuration moved =
      WithValue(both_, With("tiled.k_step=32"), "structure", std::string("structured"));
  EXPECT_EQ(moved, Qualified(*structured_.structure, structured_.structure->start));
  EXPECT_THAT(space_->Validate(moved), IsEmpty());
  EXPECT_EQ(WithValue(both_, moved, "structure", std::string("tiled")), both_.start);
}

TEST_F(MatmulAsOne, CountsTheMembersTogetherAndNeverTheirProduct) {
  EXPECT_EQ(space_->Cartesian(), tiled_.space->Cartesian() + structured_.space->Cartesian());
  const std::vector<Space::Span> spans = space_->Spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].end, tiled_.space->Cartesian());
  EXPECT_EQ(spans[1].begin, spans[0].end);
  EXPECT_EQ(spans[1].end, space_->Cartesian());
}

TEST_F(MatmulAsOne, RendersAndLaunchesWhatTheMemberAloneDoes) {
  for (const Bound* alone : {&tiled_, &structured_}) {
    const Configuration& own = alone->structure->start;
    const Configuration configuration = Qualified(*alone->structure, own);
    const auto wanted = Render(alone->operation, *alone->structure, *alone->space, own);
    const auto rendered = Render(tiled_.operation, both_, *space_, configuration);
    ASSERT_TRUE(wanted && rendered) << rendered.error().message;
    EXPECT_EQ(*rendered, *wanted);
    const auto launches = LaunchesOf(tiled_.operation, both_, *space_, configuration);
    const auto launched = LaunchesOf(alone->operation, *alone->structure, *alone->space, own);
    ASSERT_TRUE(launches && launched) << launches.error().message;
    EXPECT_EQ(launches->launches, launched->launches);
    EXPECT_EQ(launches->scratch, launched->scratch);
    EXPECT_EQ(space_->GeometriesOf(configuration), alone->space->GeometriesOf(own));
    EXPECT_EQ(space_->ScratchOf(configuration), alone->space->ScratchOf(own));
    EXPECT_EQ(space_->Derived(configuration), alone->space->Derived(own));
  }
}

TEST_F(MatmulAsOne, RefusesWithTheMembersFiguresAndRepairsAsItDoes) {
  const Configuration asked = With("tiled.k_step=128 tiled.staging=guarded");
  const Configuration own = ChoiceOf(both_, asked).configuration;
  EXPECT_THAT(Texts(space_->Validate(asked)), Texts(tiled_.space->Validate(own)));
  const Configuration unequal = With("tiled.k_step=32");
  const auto repaired = space_->Repair(unequal);
  ASSERT_TRUE(repaired);
  EXPECT_THAT(repaired->changes, ElementsAre(Change{"tiled.staging", std::string("shared"),
                                                    std::string("exact"), true}));
  EXPECT_EQ(repaired->configuration, With("tiled.k_step=32 tiled.staging=exact"));
  const auto rendered = Render(tiled_.operation, both_, *space_, unequal);
  ASSERT_FALSE(rendered);
  EXPECT_THAT(rendered.error().message, HasSubstr("shared staging"));
}

TEST_F(MatmulAsOne, IsCanonicalAsTheMemberIs) {
  const Configuration spelt =
      With("tiled.k_step=32 tiled.quad_stage=true tiled.staging=pipeline tiled.block=32x32");
  EXPECT_EQ(space_->Canonical(spelt).Text(),
            With("tiled.k_step=32 tiled.quad_stage=false tiled.staging=pipeline tiled.block=32x32")
                .Text());
}

TEST_F(MatmulAsOne, SaysWhatDoesNotFit) {
  const auto why = [&](const Configuration& configuration) {
    return Texts(space_->Validate(configuration));
  };
  Configuration inactive = both_.start;
  inactive.settings.push_back({"structured.split", std::int64_t{2}});
  EXPECT_THAT(why(inactive),
              ElementsAre("knob structured.split is inactive where structure is tiled"));
  Configuration unknown = both_.start;
  unknown.settings.push_back({"tiled.k_stepp", std::int64_t{2}});
  EXPECT_THAT(why(unknown), ElementsAre("tiled+structured has no knob 'tiled.k_stepp'; nearest is "
                                        "'tiled.k_step'"));
  Configuration other = both_.start;
  other.Set("structure", std::string("tilde"));
  EXPECT_THAT(why(other), ElementsAre("structure is never 'tilde'; nearest is 'tiled'; its words "
                                      "are tiled, structured"));
  EXPECT_THAT(why(tiled_.structure->start), ElementsAre("knob structure has no value"));
  Configuration turned = both_.start;
  std::swap(turned.settings[0], turned.settings[1]);
  EXPECT_THAT(why(turned), ElementsAre("knob tiled.transpose_a stands where structure is wanted: "
                                       "it goes first"));
  Configuration partial = both_.start;
  partial.settings.pop_back();
  EXPECT_THAT(why(partial), ElementsAre("knob thread_tile has no value"));
  EXPECT_EQ(space_->OrdinalOf(inactive), std::nullopt);
  EXPECT_EQ(space_->Canonical(inactive), inactive);
  EXPECT_EQ(space_->Repair(inactive), std::nullopt);
}

TEST_F(MatmulAsOne, ReadsAStructureAndItsKnobsOfText) {
  EXPECT_EQ(With("structure=structured structured.split=2").Text().substr(0, 42),
            "structure=structured structured.block=128x");
  const auto inactive = ParseConfiguration("structured.split=2", both_, both_.start);
  ASSERT_FALSE(inactive);
  EXPECT_EQ(inactive.error().message, "knob structured.split is inactive where structure is tiled");
}

std::string WhyNot(const Bound& bound, const std::string& name) {
  const auto made = StructureNamed(*bound.operation.FindBackend("cuda"), name);
  return made ? "" : made.error().message;
}

TEST(StructureNamed, IsTheOneItselfOrSeveralAsOneOrSaysWhatIsThere) {
  const Bound bound = Tiled(64, 64, 64);
  const auto alone = StructureNamed(*bound.operation.FindBackend("cuda"), "tiled");
  ASSERT_TRUE(alone);
  EXPECT_THAT(alone->members, IsEmpty());
  EXPECT_EQ(alone->knobs.size(), bound.structure->knobs.size());
  EXPECT_EQ(WhyNot(bound, "tilled"),
            "no structure 'tilled'; nearest is 'tiled' (have: structured, tiled)");
  EXPECT_EQ(WhyNot(bound, "tiled+"), "no structure '' (have: structured, tiled)");
  EXPECT_EQ(WhyNot(bound, "tiled+tiled"), "structure 'tiled' is named twice");
}

TEST(Compound, IsOfStructuresThatAllHaveASourceOrNone) {
  const Bound bound = Tiled(64, 64, 64);
  Structure paper = *bound.structure;
  paper.name = "paper";
  paper.source.clear();
  const auto mixed = MakeCompound({*bound.structure, paper});
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().message,
            "structure 'paper' has no source and 'tiled' has: all or none is wanted");
  EXPECT_EQ(MakeCompound({paper}).error().message,
            "one structure makes no choice; two or more are wanted");
}

RC_GTEST_PROP(EveryCompound, EnumeratesItsMembersOneAfterAnother, ()) {
  const Structure compound = ArbitraryCompound();
  const Space space = std::move(Space::Make(compound, {})).value();
  std::vector<Configuration> valid, distinct;
  std::uint64_t cartesian = 0;
  for (const Structure& member : compound.members) {
    const Space own = std::move(Space::Make(member, {})).value();
    cartesian += own.Cartesian();
    own.Enumerate([&](const Configuration& configuration) {
      valid.push_back(Qualified(member, configuration));
      return true;
    });
    own.EnumerateDistinct([&](const Configuration& configuration) {
      distinct.push_back(Qualified(member, configuration));
      return true;
    });
  }
  RC_ASSERT(space.Cartesian() == cartesian);
  RC_ASSERT(space.CountValid() == valid.size());
  RC_ASSERT(space.CountDistinct() == distinct.size());
  std::vector<Configuration> seen;
  space.EnumerateDistinct([&](const Configuration& configuration) {
    seen.push_back(configuration);
    return true;
  });
  RC_ASSERT(seen == distinct);
  // The same from ordinal to ordinal, and stopped where `visit` has had enough.
  seen.clear();
  for (auto entry = space.NextValid(0); entry; entry = space.NextValid(entry->ordinal + 1)) {
    seen.push_back(entry->configuration);
    RC_ASSERT(space.OrdinalOf(entry->configuration) == entry->ordinal);
  }
  RC_ASSERT(seen == valid);
  const std::size_t enough = *rc::gen::inRange<std::size_t>(0, valid.size() + 1);
  std::size_t visited = 0;
  space.Enumerate([&](const Configuration&) { return ++visited < enough; });
  RC_ASSERT(visited == (valid.empty() ? 0 : std::max<std::size_t>(enough, 1)));
}

RC_GTEST_PROP(EveryCompound, AnswersAsTheMemberThatAConfigurationNames, ()) {
  const Structure compound = ArbitraryCompound();
  const Space space = std::move(Space::Make(compound, {})).value();
  const std::uint64_t ordinal = *rc::gen::inRange<std::uint64_t>(0, space.Cartesian());
  const Configuration configuration = space.At(ordinal);
  RC_ASSERT(space.OrdinalOf(configuration) == ordinal);
  const Choice choice = ChoiceOf(compound, configuration);
  const Structure& member = compound.members[*MemberOf(compound, configuration)];
  RC_ASSERT(member.name == choice.structure);
  RC_ASSERT(Qualified(member, choice.configuration) == configuration);
  const Space own = std::move(Space::Make(member, {})).value();
  RC_ASSERT(space.Validate(configuration) == own.Validate(choice.configuration));
  RC_ASSERT(space.Canonical(configuration) ==
            Qualified(member, own.Canonical(choice.configuration)));
  const auto repaired = space.Repair(configuration);
  const auto alone = own.Repair(choice.configuration);
  RC_ASSERT(repaired.has_value() == alone.has_value());
  if (repaired) RC_ASSERT(repaired->configuration == Qualified(member, alone->configuration));
}

}  // namespace
}  // namespace pawl
