#include "coordinator/search/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "coordinator/search/settle.h"
#include "kernels/compound.h"
#include "schema/codec.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using fakes::CopyKnobs;
using fakes::CopyOperation;
using fakes::CopySpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A track with generation 1 open, on unroll 1 -> 4.
Track OpenedTrack(const TrackSpec& spec) {
  Track track = OpenTrack(TrackId(3), TrackOpened{spec, TrackId(0)}, Seq(1));
  Proposed proposed;
  proposed.generation = Generation(1);
  proposed.incumbent = spec.start;
  proposed.candidate = CopyKnobs(1, 4, "plain");
  proposed.changes = {{"unroll", std::int64_t{1}, std::int64_t{4}, false}};
  Apply(track, {Seq(2), 0, TrackId(3), proposed});
  return track;
}

Workshop Made(const TrackSpec& spec) {
  return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(), fakes::Everything());
}

TEST(Orders, MeasureOrderSaysEverythingAWorkerNeeds) {
  const TrackSpec spec = CopySpec();
  const Workshop workshop = Made(spec);
  const Track track = OpenedTrack(spec);
  const auto order = MeasureOrder(workshop, track, Generation(1), Attempt(2), true);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->kind, OrderKind::kMeasure);
  EXPECT_EQ(order->track, TrackId(3));
  EXPECT_EQ(order->generation, Generation(1));
  EXPECT_EQ(order->attempt, Attempt(2));
  EXPECT_EQ(order->batch, 0u);
  EXPECT_TRUE(order->fresh_process);
  EXPECT_EQ(order->backend, "host");
  EXPECT_EQ(order->operation, "copy");
  EXPECT_EQ(order->device_model, "bench");
  ASSERT_THAT(order->buffers, SizeIs(2));
  EXPECT_EQ(order->buffers[0].name, "x");
  EXPECT_THAT(order->buffers[0].extents, ElementsAre(64));
  EXPECT_EQ(order->scalars, spec.shape);
  EXPECT_EQ(order->timing, (Timing{Instrument::kWallTime, 3, 7, false}));
  EXPECT_EQ(order->rounds, workshop.policy->Rounds(42, Generation(1), 0, {0, 1, 2}, 2));
  EXPECT_EQ(order->check.rtol, 1e-4);
  EXPECT_EQ(order->check.atol, 1e-5);
  EXPECT_THAT(order->input_seeds, SizeIs(2));
  const std::set<std::uint64_t> seeds = {order->input_seeds[0], order->input_seeds[1],
                                         order->check.hidden_seed};
  EXPECT_THAT(seeds, SizeIs(3)) << "the hidden input set is none of the timed ones";

  ASSERT_THAT(order->arms, SizeIs(3));
  EXPECT_EQ(order->arms[0].role, ArmRole::kCommitted);
  EXPECT_EQ(order->arms[1].role, ArmRole::kCandidate);
  EXPECT_EQ(order->arms[2].role, ArmRole::kIncumbent);
  EXPECT_EQ(order->arms[1].configuration, CopyKnobs(1, 4, "plain"));
  EXPECT_EQ(order->arms[2].configuration, spec.start);
  const auto text = [&](std::uint32_t source) { return order->sources[source].text; };
  EXPECT_THAT(text(*order->check.reference), HasSubstr("reference_y"));
  EXPECT_THAT(text(*order->arms[0].source), HasSubstr("copy_committed"));
  EXPECT_THAT(text(*order->arms[1].source), HasSubstr("unroll = 4"));
  EXPECT_THAT(text(*order->arms[2].source), HasSubstr("unroll = 1"));
  // Each source is compiled with its own options; none is everybody's.
  EXPECT_THAT(order->build_options, IsEmpty());
  const auto options = [&](std::size_t arm) {
    return order->sources[*order->arms[arm].source].build_options;
  };
  EXPECT_THAT(options(0), ElementsAre("-fno-tree-vectorize"));
  EXPECT_THAT(options(1), ElementsAre("-funroll-loops"));
  EXPECT_THAT(options(2), ElementsAre("-funroll-loops"));
  EXPECT_EQ(order->arms[0].launches[0].kernel, "copy_committed");
  EXPECT_EQ(order->arms[1].launches[0].kernel, "copy_strip");
  EXPECT_THAT(order->arms[1].launches[0].arguments, SizeIs(3));
}

TEST(Orders, SameArgumentsGiveTheSameBytesAndTheCodecTakesThem) {
  const TrackSpec spec = CopySpec();
  const Track track = OpenedTrack(spec);
  const std::string first =
      EncodeOrder(*MeasureOrder(Made(spec), track, Generation(1), Attempt(1), false));
  const std::string second =
      EncodeOrder(*MeasureOrder(Made(spec), track, Generation(1), Attempt(1), false));
  EXPECT_EQ(first, second);
  const auto decoded = DecodeOrder(first);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, *MeasureOrder(Made(spec), track, Generation(1), Attempt(1), false));
}

TEST(Orders, InputSetsAreTheSameInEveryGenerationOfATrack) {
  TrackSpec spec = CopySpec();
  const Order first =
      *MeasureOrder(Made(spec), OpenedTrack(spec), Generation(1), Attempt(1), false);
  const Order confirm = *ConfirmOrder(Made(spec), OpenedTrack(spec), Attempt(1));
  EXPECT_EQ(first.input_seeds, confirm.input_seeds);
  EXPECT_EQ(first.check, confirm.check);
  spec.seed = 43;
  EXPECT_NE(
      first.input_seeds,
      MeasureOrder(Made(spec), OpenedTrack(spec), Generation(1), Attempt(1), false)->input_seeds);
}

TEST(Orders, EqualConfigurationsShareOneSource) {
  const TrackSpec spec = CopySpec();
  Track track = OpenedTrack(spec);
  track.generations.begin()->second.proposed.candidate = spec.start;
  track.generations.begin()->second.proposed.changes.clear();
  const Order order = *MeasureOrder(Made(spec), track, Generation(1), Attempt(1), false);
  EXPECT_EQ(order.arms[1].source, order.arms[2].source);
  EXPECT_THAT(order.sources, SizeIs(3));  // reference, committed, both
}

TEST(Orders, NextBatchIsTheOneAfterTheReportsTaken) {
  const TrackSpec spec = CopySpec();
  Track track = OpenedTrack(spec);
  track.generations.begin()->second.reports.resize(2);
  EXPECT_EQ(MeasureOrder(Made(spec), track, Generation(1), Attempt(3), false)->batch, 2u);
}

TEST(Orders, SpaceWithoutSourceGivesArmsThatOnlyAReplayCanAnswer) {
  TrackSpec spec = CopySpec();
  spec.structure = "paper";
  const Workshop workshop = Made(spec);
  const Track track = OpenedTrack(spec);
  const Order order = *MeasureOrder(workshop, track, Generation(1), Attempt(1), false);
  EXPECT_THAT(order.sources, IsEmpty());
  EXPECT_FALSE(order.check.reference);
  for (const Arm& arm : order.arms) {
    EXPECT_FALSE(arm.source);
    EXPECT_THAT(arm.launches, IsEmpty());
  }
  EXPECT_EQ(order.arms[1].configuration, CopyKnobs(1, 4, "plain"));
  EXPECT_TRUE(SourceDigest(workshop, spec.start)->IsZero());
  const Order confirm = *ConfirmOrder(workshop, track, Attempt(1));
  EXPECT_THAT(confirm.arms, SizeIs(2)) << "rivals cannot be replayed";
}

TEST(Orders, SourceDigestNamesTheConfigurationsSource) {
  const TrackSpec spec = CopySpec();
  const Workshop workshop = Made(spec);
  const Order order = *MeasureOrder(workshop, OpenedTrack(spec), Generation(1), Attempt(1), false);
  EXPECT_EQ(*SourceDigest(workshop, CopyKnobs(1, 4, "plain")),
            order.sources[*order.arms[1].source].digest);
  EXPECT_NE(*SourceDigest(workshop, CopyKnobs(1, 4, "plain")), *SourceDigest(workshop, spec.start));
}

TEST(Orders, ATemplateThatDoesNotRenderIsSaidAtOnceOfEveryStructure) {
  std::map<std::string, std::string> files = fakes::TwoWayFiles();
  std::string& whole = files["host/whole.cc"];
  whole.replace(whole.find("// pawl: end"), 12, "// no end");
  auto broken = LoadOperation(files, "copy");
  if (broken) {
    const auto workshop =
        MakeWorkshop(fakes::TwoWaySpec(), std::make_shared<const Operation>(*std::move(broken)));
    ASSERT_FALSE(workshop) << "strip, which it starts as, renders";
    EXPECT_THAT(workshop.error().message, HasSubstr("whole.cc"));
  } else {
    EXPECT_THAT(broken.error().message, HasSubstr("whole.cc"));
  }
}

TEST(Orders, ATrackOfSeveralStructuresBuildsEachArmAsItsStructureAloneDoes) {
  const auto operation = fakes::TwoWayOperation();
  const TrackSpec spec = fakes::TwoWaySpec();
  TrackSpec alone = CopySpec();
  const auto both = MakeWorkshop(spec, operation);
  ASSERT_TRUE(both) << both.error().message;
  for (const auto& [name, own] :
       {std::pair<std::string, Configuration>{"strip", CopyKnobs(1, 4, "plain")},
        {"whole", Configuration{{{"down", true}}}}}) {
    const Structure& structure = *operation->FindStructure("host", name);
    alone.structure = name;
    alone.start = structure.start;
    const auto single = MakeWorkshop(alone, operation);
    ASSERT_TRUE(single) << single.error().message;
    Order wanted = single->base;
    Order order = both->base;
    ASSERT_EQ(order, wanted);
    const Configuration configuration = Qualified(structure, own);
    ASSERT_TRUE(AddConfigured(order, *both, ArmRole::kCandidate, configuration));
    ASSERT_TRUE(AddConfigured(wanted, *single, ArmRole::kCandidate, own));
    EXPECT_EQ(order.sources, wanted.sources);
    EXPECT_EQ(order.arms.back().launches, wanted.arms.back().launches);
    EXPECT_EQ(order.arms.back().configuration, configuration) << "the track's own words";
    EXPECT_EQ(*SourceDigest(*both, configuration), *SourceDigest(*single, own));
  }
}

TEST(Orders, DeadlinesGrowWithTheSizeOfTheProblem) {
  const Timing timing{Instrument::kWallTime, 10, 60, false};
  const Deadlines own{120'000, 30'000, 20'000};
  const Deadlines small = DeadlinesFor(own, 64, 512, timing);
  EXPECT_EQ(small, own);
  // A 1024^3 matmul: 2.1 s a call at 1 GFLOP/s, 10.7 s for its reference.
  const Deadlines large = DeadlinesFor(own, 2.0 * 1024 * 1024 * 1024, 12.0 * 1024 * 1024, timing);
  EXPECT_EQ(large.build_ms, 120'000u);
  EXPECT_NEAR(large.run_ms, 20'000 + 3 * 70 * 2'147.5, 10);
  EXPECT_NEAR(large.check_ms, 30'000 + 3 * (10'737.4 + 2'147.5), 10);
  EXPECT_EQ(DeadlinesFor(own, 1e18, 0, timing).run_ms, 20'000u + 1'800'000u);
}

TEST(Orders, WorkshopErrorsNameWhatIsThereInOneLine) {
  const auto error = [](TrackSpec spec) {
    const auto made = MakeWorkshop(spec, CopyOperation());
    return made ? "made" : made.error().message;
  };
  TrackSpec spec = CopySpec();
  spec.backend = "cuda";
  EXPECT_EQ(error(spec), "operation copy has no backend 'cuda' (have: host)");
  spec = CopySpec();
  spec.structure = "stripe";
  EXPECT_EQ(error(spec),
            "backend host of operation copy: no structure 'stripe'; nearest is 'strip' (have: "
            "paper, strip)");
  spec.structure = "paper+strip";
  EXPECT_EQ(error(spec),
            "backend host of operation copy: structure 'paper' has no source and 'strip' has: all "
            "or none is wanted");
  spec = CopySpec();
  spec.dtype = DType::kF64;
  EXPECT_EQ(error(spec), "operation copy has no f64 output");
  spec = CopySpec();
  spec.start = CopyKnobs(8, 8, "plain");
  EXPECT_EQ(error(spec),
            "start configuration width=8 unroll=8 mode=plain is not valid: 64 elements at once, 16 "
            "allowed");
  spec = CopySpec();
  spec.start.settings.pop_back();
  EXPECT_EQ(error(spec),
            "start configuration has knobs width, unroll, structure strip has width, unroll, mode");
  spec = CopySpec();
  spec.policy = "feeld_note";
  EXPECT_THAT(error(spec), HasSubstr("feeld_note"));
  spec = CopySpec();
  spec.proposer = "oracle";
  EXPECT_THAT(error(spec), HasSubstr("oracle"));
  EXPECT_EQ(error(CopySpec()), "made");
}

TEST(Orders, WorkshopRefusesATemplateThatDoesNotRender) {
  auto files = fakes::CopyFiles();
  std::string& text = files["host/strip.cc"];
  text.replace(text.find("width * unroll"), 14, "width");  // unroll is never used now
  auto loaded = LoadOperation(files, "copy");
  const std::string error = !loaded ? loaded.error().message : [&] {
    const auto made =
        MakeWorkshop(CopySpec(), std::make_shared<const Operation>(*std::move(loaded)));
    return made ? std::string("made") : made.error().message;
  }();
  EXPECT_THAT(error, HasSubstr("unroll"));
}

TEST(Orders, ConfirmOrderCrossesOrderAndInputSet) {
  const TrackSpec spec = CopySpec();
  const Workshop workshop = Made(spec);
  Track track = OpenTrack(TrackId(3), TrackOpened{spec, TrackId(0)}, Seq(1));
  track.state.incumbent = CopyKnobs(4, 2, "stream");
  const Order order = *ConfirmOrder(workshop, track, Attempt(1));
  EXPECT_EQ(order.kind, OrderKind::kConfirm);
  EXPECT_EQ(order.generation, Generation(1));
  EXPECT_TRUE(order.fresh_process);
  ASSERT_THAT(order.arms, SizeIs(4));
  EXPECT_EQ(order.arms[0].role, ArmRole::kCommitted);
  EXPECT_EQ(order.arms[1].role, ArmRole::kIncumbent);
  EXPECT_EQ(order.arms[1].configuration, CopyKnobs(4, 2, "stream"));
  EXPECT_EQ(order.arms[2].role, ArmRole::kStart);
  EXPECT_EQ(order.arms[3].role, ArmRole::kRival);
  EXPECT_EQ(order.arms[3].label, "memcpy");
  EXPECT_THAT(order.sources[*order.arms[3].source].build_options, ElementsAre("-lm"));
  EXPECT_THAT(order.arms[3].launches[0].arguments, SizeIs(3));

  ASSERT_THAT(order.rounds, SizeIs(12));
  std::map<std::pair<bool, std::uint32_t>, int> combinations;
  for (std::size_t r = 0; r < 12; ++r) {
    const RoundPlan& round = order.rounds[r];
    EXPECT_EQ(round.recorded, r >= 4);
    ASSERT_THAT(round.visits, SizeIs(4));
    std::set<std::uint32_t> arms;
    for (const VisitPlan& visit : round.visits) {
      arms.insert(visit.arm);
      EXPECT_EQ(visit.input_set, round.visits[0].input_set);
    }
    EXPECT_THAT(arms, SizeIs(4));
    EXPECT_LE(round.visits[0].arm, 1u) << "what is compared runs side by side";
    EXPECT_LE(round.visits[1].arm, 1u);
    if (round.recorded) ++combinations[{round.visits[0].arm == 1, round.visits[0].input_set}];
  }
  EXPECT_THAT(combinations, SizeIs(4));
  for (const auto& [combination, count] : combinations) EXPECT_EQ(count, 2);
}

TEST(Orders, ConfirmationOfTheStartHasItOnce) {
  const TrackSpec spec = CopySpec();
  const Track track = OpenTrack(TrackId(3), TrackOpened{spec, TrackId(0)}, Seq(1));
  const Order order = *ConfirmOrder(Made(spec), track, Attempt(1));
  ASSERT_THAT(order.arms, SizeIs(3));
  EXPECT_EQ(order.arms[2].label, "memcpy");
}

TEST(Orders, ConfirmedFiguresComeFromPairsOfEachRound) {
  const TrackSpec spec = CopySpec();
  Track track = OpenTrack(TrackId(3), TrackOpened{spec, TrackId(0)}, Seq(1));
  track.state.incumbent = CopyKnobs(4, 2, "stream");
  const Order order = *ConfirmOrder(Made(spec), track, Attempt(1));
  Report report = fakes::Answer(order, WorkerId("w"), 0.8);
  // A machine that slows down by a half for all arms alike changes no ratio.
  for (VisitMedian& visit : report.rounds[3].visits) visit.median_us *= 1.5;
  // In one round the incumbent was the slower.
  for (VisitMedian& visit : report.rounds[5].visits) {
    if (visit.arm == 1) visit.median_us = 110;
  }
  const Confirmed confirmed = ConfirmedFrom(order, report, 1, track.state.incumbent);
  EXPECT_TRUE(confirmed.valid);
  EXPECT_EQ(confirmed.number, 1u);
  EXPECT_EQ(confirmed.incumbent, track.state.incumbent);
  EXPECT_EQ(confirmed.rounds, 8u);
  EXPECT_EQ(confirmed.favouring, 7u);
  EXPECT_NEAR(confirmed.gain, 0.2, 1e-12);
  EXPECT_NEAR(confirmed.mean, (7 * 0.2 - 0.1) / 8, 1e-12);
  EXPECT_NEAR(confirmed.min, -0.1, 1e-12);
  EXPECT_NEAR(confirmed.max, 0.2, 1e-12);
  // One of eight is 0.3 off: variance 0.3^2 (1/8)(7/8) of the population, times 8/7.
  EXPECT_NEAR(confirmed.stddev, 0.3 / std::sqrt(8.0), 1e-12);
  EXPECT_NEAR(confirmed.incumbent_us, 80, 1e-9);
  EXPECT_NEAR(confirmed.committed_us, 100, 1e-9);
  ASSERT_THAT(confirmed.beside, SizeIs(2));
  EXPECT_EQ(confirmed.beside[0].label, "start");
  EXPECT_NEAR(confirmed.beside[0].median_us, 100, 1e-9);
  EXPECT_NEAR(confirmed.beside[0].ratio, 0.8, 1e-12);
  EXPECT_EQ(confirmed.beside[1].label, "memcpy");
}

TEST(Orders, ConfirmationThatFailedSaysWhy) {
  const TrackSpec spec = CopySpec();
  const Track track = OpenTrack(TrackId(3), TrackOpened{spec, TrackId(0)}, Seq(1));
  const Order order = *ConfirmOrder(Made(spec), track, Attempt(1));
  const Report report =
      fakes::Failure(order, WorkerId("w"), OutcomeKind::kWrongOutput, ArmRole::kIncumbent);
  const Confirmed confirmed = ConfirmedFrom(order, report, 2, spec.start);
  EXPECT_FALSE(confirmed.valid);
  EXPECT_EQ(confirmed.detail, "wrong_output (incumbent): as scripted");
  EXPECT_EQ(confirmed.number, 2u);
}

TEST(Orders, HintsAreWhatComesAfterARejectAndLeaveTheTrackAsItWas) {
  const TrackSpec spec = CopySpec();
  const Workshop workshop = Made(spec);
  Track track = OpenedTrack(spec);
  const Track before = track;
  const Prepare hint = PrepareHint(workshop, track, 2);
  EXPECT_EQ(track, before);
  // In order: 1,1,plain is the start, then 1,1,stream, 1,2,plain; 1,4,plain is being measured.
  ASSERT_THAT(hint.sources, SizeIs(2));
  EXPECT_EQ(hint.sources[0].digest, *SourceDigest(workshop, CopyKnobs(1, 1, "stream")));
  EXPECT_EQ(hint.sources[1].digest, *SourceDigest(workshop, CopyKnobs(1, 2, "plain")));
  EXPECT_THAT(hint.launches, SizeIs(2));
  EXPECT_EQ(hint.backend, "host");
  EXPECT_THAT(hint.sources[0].build_options, ElementsAre("-funroll-loops"));
  EXPECT_THAT(hint.build_options, IsEmpty());
  EXPECT_THAT(hint.buffers, SizeIs(2));
  EXPECT_EQ(hint.scalars, spec.shape);
}

TEST(Orders, HintsSkipInvalidProposalsAndEndWithTheSpace) {
  const TrackSpec spec = CopySpec();
  const Workshop workshop = Made(spec);
  Track track = OpenedTrack(spec);
  workshop.space->Enumerate([&](const Configuration& configuration) {
    if (configuration != CopyKnobs(8, 2, "stream")) {
      track.state.tried.insert(configuration.Hash().Prefix64());
    }
    return true;
  });
  const Prepare hint = PrepareHint(workshop, track, 2);
  ASSERT_THAT(hint.sources, SizeIs(1));
  EXPECT_EQ(hint.sources[0].digest, *SourceDigest(workshop, CopyKnobs(8, 2, "stream")));
}

}  // namespace
}  // namespace pawl
