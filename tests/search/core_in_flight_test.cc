// Core and several candidates of one track in flight at once: what is proposed beside what is open,
// and what a keep means for what was measured against the incumbent before it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "coordinator/search/core.h"
#include "coordinator/search/outlook.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopyKnobs;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::Failure;
using fakes::KeyOf;
using fakes::Told;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A bench with one track, and the order that each worker has out.
class Flight {
 public:
  explicit Flight(std::uint32_t most, const TrackSpec& spec = CopySpec(),
                  CoreBench::MakeWorkshopOf make = CoreBench::PlainWorkshop,
                  CoreOptions options = CoreBench::DefaultOptions())
      : bench(std::move(options)) {
    bench.Open(spec, std::move(make));
    bench.InFlight(TrackId(1), most);
  }

  std::vector<std::string> Join(const std::string& worker) { return Note(bench.Join(worker)); }
  void JoinAll(int workers) {
    for (int i = 1; i <= workers; ++i) Join("w" + std::to_string(i));
  }
  std::vector<std::string> Measure(const std::string& worker, double ratio) {
    return Note(bench.Report(worker, Answer(orders.at(worker), WorkerId(worker), ratio)));
  }
  std::vector<std::string> Fail(const std::string& worker, OutcomeKind kind,
                                std::optional<ArmRole> arm = std::nullopt) {
    return Note(bench.Report(worker, Failure(orders.at(worker), WorkerId(worker), kind, arm)));
  }
  std::vector<std::string> Note(const Effects& effects) {
    for (const Outgoing& outgoing : effects.send) {
      if (const auto* grant = std::get_if<Grant>(&outgoing.message)) {
        orders[outgoing.peer] = grant->order;
      }
    }
    return Told(effects);
  }
  const TrackState& state() const { return bench.track().state; }
  const Decision& Last() const {
    for (auto event = bench.log().rbegin(); event != bench.log().rend(); ++event) {
      if (const auto* decided = std::get_if<Decided>(&event->body)) return decided->decision;
    }
    throw std::logic_error("nothing is decided");
  }
  std::size_t open() const { return bench.track().generations.size(); }

  CoreBench bench;
  std::map<std::string, Order> orders;
};

TrackSpec Closing(std::uint32_t generations) {
  TrackSpec spec = CopySpec();
  spec.budget.generations = generations;
  return spec;
}

TEST(InFlight, IsOneCandidateATrackUnlessMoreAreAskedFor) {
  Flight flight(1);
  flight.JoinAll(3);
  EXPECT_EQ(flight.open(), 1u);
  EXPECT_EQ(flight.orders.size(), 1u);
}

TEST(InFlight, CandidatesAreDistinctAndAsManyAsAskedFor) {
  Flight flight(3);
  EXPECT_EQ(flight.open(), 1u) << "without workers no more than one is proposed";
  EXPECT_THAT(flight.Join("w1"),
              ElementsAre("+ granted g1 a1 b0 to w1", "w1 < GRANT t1 g1 a1 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(flight.Join("w2"), ElementsAre("+ proposed g2", "+ granted g2 a1 b0 to w2",
                                             "w2 < GRANT t1 g2 a1 b0", "w2 < PREPARE 2"));
  flight.Join("w3");
  EXPECT_THAT(flight.Join("w4"), IsEmpty());
  std::set<std::string> candidates;
  for (const auto& [worker, order] : flight.orders) {
    candidates.insert(order.arms[1].configuration.Text());
  }
  EXPECT_EQ(candidates.size(), 3u);
  EXPECT_EQ(flight.open(), 3u);
}

TEST(InFlight, WhileAllAreRejectedTheProposalsAreThoseOfOneAfterAnother) {
  const auto proposals = [](std::uint32_t most) {
    Flight flight(most, Closing(9), [](const TrackSpec& spec) {
      return std::move(MakeWorkshop(spec, fakes::CopyOperation())).value();
    });
    flight.JoinAll(3);
    for (int i = 0; i < 60 && !flight.bench.core().Done(); ++i) {
      const std::string worker = "w" + std::to_string(3 - i % 3);
      if (flight.orders.contains(worker)) flight.Measure(worker, 1.25);
    }
    EXPECT_TRUE(flight.bench.core().Done());
    std::vector<std::string> texts;
    for (const Event& event : flight.bench.log()) {
      if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
        texts.push_back(proposed->candidate.Text());
      }
    }
    return texts;
  };
  EXPECT_EQ(proposals(3), proposals(1));
}

TEST(InFlight, KeepThatComesFirstLeavesRejectionsOfTheOthersAsTheyAre) {
  Flight flight(3);
  flight.JoinAll(3);
  EXPECT_THAT(flight.Measure("w2", 0.5), Contains("+ decided g2 keep faster"));
  EXPECT_THAT(flight.Measure("w1", 1.25), Contains("+ decided g1 reject not_faster"));
  EXPECT_THAT(flight.Fail("w3", OutcomeKind::kBuildFailed, ArmRole::kCandidate),
              Contains("+ decided g3 reject build"));
  EXPECT_EQ(flight.state().incumbent_since, Generation(2));
  EXPECT_EQ(flight.state().stale, 2u);
  for (const KnobRecord& record : flight.state().knobs) {
    EXPECT_EQ(record.refusals, 0u) << record.knob << ": refused under the incumbent before";
  }
}

TEST(InFlight, CandidateThatTheKeptOneBeatsIsSupersededByTheArithmetic) {
  Flight flight(3);
  flight.JoinAll(3);
  flight.Measure("w2", 0.5);
  EXPECT_THAT(flight.Measure("w1", 0.75), Contains("+ decided g1 void superseded"));
  EXPECT_EQ(flight.Last().detail,
            "ratio 0.7500 against the start configuration; generation 2's incumbent replaced it at "
            "0.5000 of its time, which it does not beat");
  EXPECT_THAT(flight.Measure("w3", 0.5), Contains("+ decided g3 void superseded"))
      << "as fast is not faster";
  EXPECT_EQ(flight.state().incumbent_since, Generation(2));
  EXPECT_EQ(flight.state().voided, 2u);
  EXPECT_EQ(flight.state().voids_in_row, 0u);
  EXPECT_EQ(flight.state().stale, 0u);
}

TEST(InFlight, CandidateThatMayBeatTheKeptOneIsMeasuredAgainAgainstIt) {
  for (const double second : {0.875, 1.0}) {
    Flight flight(2);
    flight.JoinAll(2);
    flight.Measure("w2", 0.75);
    const Configuration kept = flight.state().incumbent;
    EXPECT_THAT(flight.Measure("w1", 0.5),
                AllOf(Contains("+ decided g1 void superseded again"),
                      Contains("+ granted g1 a2 b0 to w1"), Contains("w1 < GRANT t1 g1 a2 b0")));
    EXPECT_EQ(flight.Last().detail,
              "ratio 0.5000 against the start configuration; generation 2's incumbent replaced it "
              "at 0.7500 of its time");
    EXPECT_EQ(flight.orders.at("w1").arms[2].configuration, kept);
    EXPECT_EQ(flight.bench.track().generations.at(Generation(1)).voids, 0u);
    flight.Measure("w1", second);
    EXPECT_EQ(flight.Last().detail, "against generation 2's incumbent");
    EXPECT_EQ(flight.state().kept, second < 0.99 ? 2u : 1u);
    EXPECT_EQ(flight.state().gain, second < 0.99 ? 0.75 * second : 0.75);
  }
}

TEST(InFlight, KeepThatComesLastIsAKeep) {
  Flight flight(3);
  flight.JoinAll(3);
  flight.Measure("w1", 1.25);
  flight.Measure("w2", 1.25);
  EXPECT_THAT(flight.Measure("w3", 0.5), Contains("+ decided g3 keep faster"));
  EXPECT_EQ(flight.state().incumbent_since, Generation(3));
  EXPECT_EQ(flight.Last().detail, "");
}

TEST(InFlight, WhatWasNotGrantedYetIsMeasuredAgainstTheNewIncumbentAtOnce) {
  Flight flight(2);
  flight.JoinAll(2);
  flight.Note(flight.bench.Send("w1", Bye{"preempted"}));  // generation 1 waits
  const auto told = flight.Measure("w2", 0.5);
  EXPECT_THAT(told,
              AllOf(Contains("+ decided g2 keep faster"), Contains("+ granted g1 a2 b0 to w2")));
  EXPECT_EQ(flight.orders.at("w2").arms[2].configuration, flight.state().incumbent);
  EXPECT_THAT(flight.Measure("w2", 0.875), Contains("+ decided g1 keep faster"));
}

TEST(InFlight, UndecidedCandidateOfSeveralBatchesStartsAnewAgainstTheNewIncumbent) {
  Flight flight(2, CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(2, 2),
                               fakes::Everything());
  });
  flight.JoinAll(2);
  EXPECT_THAT(flight.Measure("w2", 0.5), Contains("+ granted g2 a2 b1 to w2"))
      << "the batch goes where its build is";
  EXPECT_THAT(flight.Measure("w2", 0.5), Contains("+ decided g2 keep faster"));
  EXPECT_THAT(flight.Measure("w1", 0.25), AllOf(Contains("+ decided g1 void superseded again"),
                                                Contains("+ granted g1 a2 b0 to w1")))
      << "its next batch would be against another incumbent than its first";
  EXPECT_EQ(
      flight.Last().detail,
      "not decided against the start configuration when generation 2's incumbent replaced it");
}

TEST(InFlight, CrashInALaterBatchStartsAnewAgainstTheNewIncumbent) {
  Flight flight(2, CopySpec(), [](const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(2, 2),
                               fakes::Everything());
  });
  flight.JoinAll(2);
  flight.Measure("w1", 0.5);
  flight.Measure("w2", 0.5);
  EXPECT_THAT(flight.Measure("w2", 0.5), Contains("+ decided g2 keep faster"));
  EXPECT_THAT(
      flight.Fail("w1", OutcomeKind::kCrashed, ArmRole::kCandidate),
      AllOf(Contains("+ decided g1 void superseded again"), Contains(HasSubstr("g1 a3 b0 fresh"))))
      << "its first batch was against an earlier incumbent";
}

TEST(InFlight, LateReportOfASupersededMeasurementIsRefused) {
  Flight flight(2);
  flight.JoinAll(2);
  const Order lost = flight.orders.at("w1");
  flight.Note(flight.bench.Send("w1", Release{KeyOf(lost), "preempted"}));
  flight.Note(flight.bench.Send("w1", Ready{1}));
  EXPECT_EQ(flight.orders.at("w1").attempt, Attempt(2)) << "against the start configuration too";
  flight.Measure("w2", 0.75);
  flight.Measure("w1", 0.5);  // superseded: measured again as attempt 3
  ASSERT_EQ(flight.orders.at("w1").attempt, Attempt(3));
  EXPECT_THAT(flight.Note(flight.bench.Report("w1", Answer(lost, WorkerId("w1"), 0.5))),
              ElementsAre("w1 < REJECT t1 g1 a1 b0 conflict"));
  EXPECT_TRUE(flight.bench.track().generations.at(Generation(1)).attempt);
}

TEST(InFlight, NeverProposesMoreThanTheBudgetOfGenerations) {
  Flight flight(4, Closing(5));
  flight.JoinAll(4);
  EXPECT_EQ(flight.open(), 4u);
  flight.Measure("w1", 1.25);
  EXPECT_EQ(flight.open(), 4u);
  flight.Measure("w2", 1.25);
  flight.Measure("w3", 1.25);
  EXPECT_EQ(flight.open(), 2u);
  flight.Measure("w1", 1.25);
  EXPECT_EQ(flight.state().status, TrackStatus::kSearching) << "generation 4 is out";
  EXPECT_THAT(flight.Measure("w4", 0.5), Contains("+ closed: generation limit 5 reached"));
  EXPECT_EQ(flight.state().last, Generation(5));
}

TEST(InFlight, RejectionsInARowLeaveRoomForNoMoreThanTheyAllow) {
  TrackSpec spec = CopySpec();
  spec.budget.stale = 3;
  Flight flight(4, spec);
  flight.JoinAll(4);
  EXPECT_EQ(flight.open(), 3u);
  EXPECT_THAT(flight.Measure("w1", 0.5), Contains("+ granted g4 a1 b0 to w4"));
  flight.Measure("w2", 1.25);
  flight.Measure("w3", 1.25);
  EXPECT_EQ(flight.open(), 1u);
  EXPECT_THAT(flight.Measure("w4", 1.25), Contains("+ closed: 3 rejections in a row"));
}

TEST(InFlight, NothingLeftToProposeWaitsForWhatIsOpen) {
  Flight flight(4, CopySpec(), [](const TrackSpec& spec) {
    const auto rule = [](const TrackState& track, const Space&) -> std::optional<Proposal> {
      const std::int64_t width = track.incumbent == track.spec.start ? 2 : 8;
      const Configuration wanted = CopyKnobs(width, 1, "plain");
      if (track.tried.contains(wanted.Hash().Prefix64())) return std::nullopt;
      return fakes::ChangeOf(track.incumbent, "width", width);
    };
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(), rule);
  });
  flight.JoinAll(2);
  EXPECT_EQ(flight.open(), 1u);
  EXPECT_EQ(flight.state().status, TrackStatus::kSearching);
  EXPECT_THAT(flight.Measure("w1", 0.5), Contains("+ proposed g2")) << "a keep opens more";
  const std::string worker = flight.orders.at("w2").generation == Generation(2) ? "w2" : "w1";
  EXPECT_THAT(flight.Measure(worker, 1.25), Contains("+ closed: nothing left to propose"));
}

TEST(InFlight, ConfirmationWaitsForWhatIsOpenAndNothingIsProposedMeanwhile) {
  Flight flight(3);
  flight.JoinAll(3);
  EXPECT_THAT(flight.Note(flight.bench.Carry(
                  flight.bench.core().OnConfirm(TrackId(1), flight.bench.now_ms))),
              IsEmpty());
  EXPECT_THAT(flight.Measure("w1", 1.25), Not(Contains(HasSubstr("proposed"))));
  EXPECT_THAT(flight.Measure("w3", 0.5), Not(Contains(HasSubstr("proposed"))));
  EXPECT_THAT(flight.Measure("w2", 1.25), Contains(HasSubstr("granted confirm g1 a1")));
  EXPECT_EQ(flight.bench.track().confirmation->proposed.incumbent, flight.state().incumbent);
  std::string confirming;
  for (const auto& [worker, order] : flight.orders) {
    if (order.kind == OrderKind::kConfirm) confirming = worker;
  }
  flight.Measure(confirming, 0.5);
  EXPECT_EQ(flight.state().confirmations, 1u);
  EXPECT_EQ(flight.open(), 3u) << "and it goes on";
}

TEST(InFlight, UnsteadyDevicesPauseTheTrackOnlyWhenAllThatIsOpenIsDecided) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_voids = 0;
  options.max_voids_in_row = 1;
  for (const bool steady : {false, true}) {
    Flight flight(3, CopySpec(), CoreBench::PlainWorkshop, options);
    flight.JoinAll(3);
    EXPECT_THAT(flight.Fail("w1", OutcomeKind::kThrottled), Not(Contains(HasSubstr("paused"))));
    EXPECT_THAT(flight.Fail("w2", OutcomeKind::kThrottled), Not(Contains(HasSubstr("proposed"))));
    EXPECT_EQ(flight.state().status, TrackStatus::kSearching);
    ASSERT_EQ(flight.open(), 1u) << "no more is proposed";
    if (steady) {
      EXPECT_THAT(flight.Measure("w3", 1.25), Contains("+ proposed g4"));
    } else {
      EXPECT_THAT(flight.Fail("w3", OutcomeKind::kThrottled),
                  Contains(HasSubstr("+ paused: unstable: 3 voids in a row")));
    }
  }
}

TEST(InFlight, ArmThatEveryGenerationNeedsAndIsBrokenPausesWhenTheOthersAreDecided) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_voids = 0;
  Flight flight(2, CopySpec(), CoreBench::PlainWorkshop, options);
  flight.JoinAll(2);
  EXPECT_THAT(flight.Fail("w1", OutcomeKind::kBuildFailed, ArmRole::kCommitted),
              ElementsAre("+ measured g1 a1 build_failed", "+ decided g1 void device_fault",
                          "w1 < ACK t1 g1 a1 b0"));
  EXPECT_THAT(flight.Fail("w2", OutcomeKind::kBuildFailed, ArmRole::kCommitted),
              Contains(HasSubstr("+ paused: no generation can be measured: committed")));
}

TEST(InFlight, BrokenIncumbentThatWasReplacedMeanwhilePausesNothing) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_voids = 0;
  Flight flight(2, CopySpec(), CoreBench::PlainWorkshop, options);
  flight.JoinAll(2);
  flight.Measure("w2", 0.5);
  EXPECT_THAT(flight.Fail("w1", OutcomeKind::kWrongOutput, ArmRole::kIncumbent),
              AllOf(Contains("+ decided g1 void device_fault"), Contains(HasSubstr("+ proposed"))));
}

TEST(InFlight, EndOfAReplaysDataClosesTheTrackWhenTheOthersAreDecided) {
  Flight flight(2);
  flight.JoinAll(2);
  Report last = Failure(flight.orders.at("w2"), WorkerId("w2"), OutcomeKind::kNoData);
  last.data_exhausted = true;
  EXPECT_THAT(
      flight.Note(flight.bench.Report("w2", last)),
      ElementsAre("+ measured g2 a1 no_data", "+ decided g2 void no_data", "w2 < ACK t1 g2 a1 b0"));
  flight.bench.Restart();
  flight.Join("w3");
  EXPECT_EQ(flight.open(), 1u) << "a restart does not forget it";
  Hello hello = fakes::HelloOf("w1");
  hello.held = {KeyOf(flight.orders.at("w1"))};
  flight.Note(flight.bench.Send("w1", hello));
  EXPECT_THAT(
      flight.Measure("w1", 0.5),
      AllOf(Contains("+ decided g1 keep faster"),
            Contains("+ closed: the replay has no record of generation 2's configuration")));
}

TEST(InFlight, CoordinatorThatIsKilledGoesOnWithAllThatIsOut) {
  Flight flight(3);
  flight.JoinAll(3);
  flight.Measure("w2", 0.75);
  flight.bench.Restart();
  EXPECT_EQ(flight.open(), 3u);
  for (const std::string worker : {"w1", "w2", "w3"}) {
    Hello hello = fakes::HelloOf(worker);
    hello.held = {KeyOf(flight.orders.at(worker))};
    EXPECT_THAT(flight.Note(flight.bench.Send(worker, hello)), ElementsAre(worker + " < WELCOME"));
    EXPECT_THAT(flight.Note(flight.bench.Send(worker, Ready{1})), IsEmpty());
  }
  EXPECT_THAT(flight.Measure("w1", 0.875), Contains("+ decided g1 void superseded"));
  EXPECT_THAT(flight.Measure("w3", 0.5), Contains("+ decided g3 void superseded again"));
  EXPECT_THAT(flight.Measure("w3", 0.875), Contains("+ decided g3 keep faster"));
}

TEST(InFlight, LeasesBeatsAndBlameAreOfEachGenerationAlone) {
  Flight flight(2);
  flight.Note(flight.bench.Join("w1", 2));  // holds both
  ASSERT_EQ(flight.open(), 2u);
  const LeaseKey one{OrderKind::kMeasure, TrackId(1), Generation(1), Attempt(1), 0};
  const LeaseKey two{OrderKind::kMeasure, TrackId(1), Generation(2), Attempt(1), 0};
  Beat beat;
  beat.held = {one, two};
  beat.units_done = 1;
  EXPECT_THAT(flight.Note(flight.bench.Send("w1", beat)), ElementsAre("w1 < BEAT_ACK"));
  EXPECT_THAT(flight.Note(flight.bench.Send("w1", Release{one, "preempted"})),
              ElementsAre("+ lost a1: released: preempted"));
  EXPECT_FALSE(flight.bench.track().generations.at(Generation(1)).attempt);
  EXPECT_TRUE(flight.bench.track().generations.at(Generation(2)).attempt);
  EXPECT_EQ(flight.bench.track().generations.at(Generation(1)).lost, 1u);
  EXPECT_EQ(flight.bench.track().generations.at(Generation(2)).lost, 0u);
  EXPECT_THAT(flight.Join("w2"), Contains("w2 < GRANT t1 g1 a2 b0"));
  beat.held = {one, two};
  EXPECT_THAT(flight.Note(flight.bench.Send("w1", beat)),
              ElementsAre("w1 < BEAT_ACK unknown t1 g1 a1 b0"));
  EXPECT_THAT(flight.Fail("w2", OutcomeKind::kCrashed, ArmRole::kCandidate),
              Contains("w2 < GRANT t1 g1 a3 b0 fresh"))
      << "w1 has no place";
  EXPECT_EQ(flight.bench.track().generations.at(Generation(2)).faults, 0u);
}

TEST(InFlight, FurtherCandidatesLeaveTheWorkersToTracksThatWait) {
  CoreBench bench;
  for (const char* label : {"one", "two"}) {
    TrackSpec spec = CopySpec();
    spec.label = label;
    bench.Open(spec);
  }
  bench.InFlight(TrackId(1), 8);
  bench.InFlight(TrackId(2), 8);
  bench.Join("w1");
  bench.Join("w2");
  EXPECT_EQ(bench.track(1).generations.size(), 1u);
  EXPECT_EQ(bench.track(2).generations.size(), 1u);
  bench.Join("w3");
  bench.Join("w4");
  EXPECT_EQ(bench.track(1).generations.size(), 2u);
  EXPECT_EQ(bench.track(2).generations.size(), 2u);
}

TEST(InFlight, CoordinateKeepsFromAValueThatIsOpenAlsoUnderANewIncumbent) {
  Flight flight(8, CopySpec(), [](const TrackSpec& spec) {
    return std::move(MakeWorkshop(spec, fakes::CopyOperation())).value();
  });
  flight.JoinAll(8);
  std::multiset<std::string> open;
  const auto changed = [&] {
    std::multiset<std::string> texts;
    for (const auto& [generation, entry] : flight.bench.track().generations) {
      const Change& change = entry.proposed.changes.front();
      texts.insert(change.knob + " " + ToText(change.to));
    }
    return texts;
  };
  open = changed();
  ASSERT_GE(open.size(), 3u);
  EXPECT_EQ(std::set<std::string>(open.begin(), open.end()).size(), open.size());
  flight.Measure("w1", 0.5);
  open = changed();
  EXPECT_EQ(std::set<std::string>(open.begin(), open.end()).size(), open.size());
}

TEST(InFlight, SearchThatAlwaysHasSomethingOpenSettlesNowAndThenForItsSnapshot) {
  CoreOptions options = CoreBench::DefaultOptions();
  options.max_unsettled = 40;
  Flight flight(3, CopySpec(), CoreBench::PlainWorkshop, options);
  flight.JoinAll(3);
  std::uint64_t longest = 0;
  for (int i = 0; i < 54 && !flight.bench.core().Done(); ++i) {
    const std::string worker = "w" + std::to_string(1 + i % 3);
    const auto& generations = flight.bench.track().generations;
    const Order& order = flight.orders.at(worker);
    const auto found = generations.find(order.generation);
    if (found == generations.end() || !found->second.attempt) continue;
    flight.Measure(worker, 1.25);
    const Track& track = flight.bench.track();
    longest = std::max(longest, track.last_applied.value - track.Settled().settled.value);
  }
  EXPECT_GT(flight.state().last.value, 20u);
  EXPECT_GE(longest, 40u) << "it is hardly put to the test";
  EXPECT_LE(longest, 60u);
}

TEST(Outlook, LeavesTheTrackAsItWas) {
  Flight flight(3);
  flight.JoinAll(3);
  Track track = flight.bench.track();
  const Track before = track;
  {
    Outlook outlook(track);
    EXPECT_EQ(outlook.state().last, Generation(3));
    EXPECT_EQ(outlook.state().stale, 3u);
    EXPECT_EQ(outlook.state().tried.size(), before.state.tried.size() + 3);
  }
  EXPECT_EQ(track, before);
}

}  // namespace
}  // namespace pawl
