// Core and its workers: who is let in, who holds what, and when an attempt is given up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/search/core.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::Answer;
using fakes::CopySpec;
using fakes::CoreBench;
using fakes::HelloOf;
using fakes::KeyOf;
using fakes::Told;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CoreWorkers, WelcomesAWorkerAndGrantsOnceItIsReady) {
  CoreBench bench;
  EXPECT_THAT(Told(bench.Open()), ElementsAre("+ opened", "+ proposed g1"));
  const Effects welcomed = bench.Send("p1", HelloOf("w1"));
  EXPECT_THAT(Told(welcomed), ElementsAre("p1 < WELCOME"));
  EXPECT_EQ(std::get<Welcome>(welcomed.send[0].message),
            (Welcome{LedgerId("ledger"), Epoch(1), 5'000, 20'000}));
  EXPECT_THAT(bench.core().Workers(), ElementsAre(WorkerId("w1")));
  const Effects granted = bench.Send("p1", Ready{1});
  EXPECT_THAT(Told(granted),
              ElementsAre("+ granted g1 a1 b0 to w1", "p1 < GRANT t1 g1 a1 b0", "p1 < PREPARE 2"));
  const auto& event = std::get<Granted>(granted.append[0].body);
  EXPECT_EQ(event.boot, BootId("boot 1"));
  EXPECT_EQ(event.incumbent, CopySpec().start);
  EXPECT_EQ(event.order, Answer(bench.granted(), WorkerId("w1"), 1).order);
  EXPECT_EQ(bench.grant().epoch, Epoch(1));
  EXPECT_EQ(bench.grant().lease_ms, event.lease_ms);
}

// A track whose units end so soon that the least lease is the lease.
TrackSpec QuickSpec() {
  TrackSpec spec = CopySpec();
  spec.deadlines = {1'000, 1'000, 1'000};
  return spec;
}

TEST(CoreWorkers, LeaseOutlastsTheLongestUnitOfItsOrder) {
  TrackSpec spec = CopySpec();
  spec.deadlines = {100'000, 20'000, 30'000};
  CoreBench bench;
  bench.Open(spec);
  bench.Join("w1");
  EXPECT_EQ(bench.grant().lease_ms, 110'000u);  // and two beats

  CoreBench quick;
  quick.Open(QuickSpec());
  quick.Join("w1");
  EXPECT_EQ(quick.grant().lease_ms, 60'000u);
}

TEST(CoreWorkers, ReplayNeedsNeitherHintsNorTimeToBuild) {
  Hello replay = HelloOf("w1");
  replay.device.needs_source = false;
  replay.device.backend = "";
  for (const char* structure : {"strip", "paper"}) {
    TrackSpec spec = CopySpec();
    spec.structure = structure;
    spec.deadlines = {200'000, 80'000, 30'000};
    CoreBench bench;
    bench.Open(spec);
    bench.Send("p1", replay);
    EXPECT_THAT(Told(bench.Send("p1", Ready{1})),
                ElementsAre("+ granted g1 a1 b0 to w1", "p1 < GRANT t1 g1 a1 b0"));
    EXPECT_EQ(bench.grant().lease_ms, spec.structure == "paper" ? 90'000u : 210'000u)
        << "where there are sources it cannot be known that nobody builds them";
  }
}

TEST(CoreWorkers, RefusesADeviceThatNoTrackCanUseAndSaysWhy) {
  CoreBench bench;
  bench.Open();
  const auto refusal = [&](const std::function<void(DeviceFacts&)>& change) {
    Hello hello = HelloOf("w1");
    change(hello.device);
    const auto told = Told(bench.Send("p1", hello));
    return told.size() == 1 ? told[0] : "more than one";
  };
  const std::string start =
      "p1 < REFUSE not_wanted: no track can use this device; track 1 (copy 64) ";
  EXPECT_EQ(refusal([](DeviceFacts& device) { device.model = "other"; }),
            start + "wants device 'bench', this is 'other'");
  EXPECT_EQ(refusal([](DeviceFacts& device) { device.toolchain = "g++ 13"; }),
            start + "wants toolchain 'g++ 12', this is 'g++ 13'");
  EXPECT_EQ(refusal([](DeviceFacts& device) { device.backend = "cuda"; }),
            start + "wants backend host, this is cuda");
  EXPECT_EQ(refusal([](DeviceFacts& device) { device.instruments = {Instrument::kCpuTime}; }),
            start + "wants instrument wall_time, which it has not");
  EXPECT_THAT(bench.core().Workers(), IsEmpty());

  TrackSpec paper = CopySpec();
  paper.structure = "paper";
  CoreBench replayed;
  replayed.Open(paper);
  EXPECT_THAT(
      Told(replayed.Send("p1", HelloOf("w1"))),
      ElementsAre(start + "structure paper has no source, so only a replay can measure it"));
  Hello replay = HelloOf("w2");
  replay.device.needs_source = false;
  replay.device.backend = "";
  EXPECT_THAT(Told(replayed.Send("p2", replay)), ElementsAre("p2 < WELCOME"));
  EXPECT_THAT(Told(replayed.Send("p2", Ready{1})),
              ElementsAre("+ granted g1 a1 b0 to w2", "p2 < GRANT t1 g1 a1 b0"))
      << "a replay gets no hints";
}

TEST(CoreWorkers, GivesATrackThatWantsPinnedClocksOnlyToAWorkerThatPinsThem) {
  TrackSpec spec = CopySpec();
  spec.require_pinned = true;
  CoreBench bench;
  bench.Open(spec);
  const std::string wants =
      "p1 < REFUSE not_wanted: no track can use this device; track 1 (copy 64) wants pinned clocks "
      "(clocks = \"require-pinned\"), ";
  EXPECT_THAT(Told(bench.Send("p1", HelloOf("w1"))),
              ElementsAre(wants + "which a host device does not have"));
  Hello gpu = HelloOf("w1");
  gpu.device.kind = "cuda";
  EXPECT_THAT(Told(bench.Send("p1", gpu)),
              ElementsAre(wants + "this worker observes them; start it with --clocks pin"));
  gpu.device.pinned_mhz = 1500;
  const Effects joined = bench.Send("p1", gpu);
  EXPECT_THAT(Told(joined), ElementsAre("p1 < WELCOME"));
  EXPECT_THAT(joined.notes, ElementsAre(testing::EndsWith("clocks pinned at 1500 MHz")));
  // A recording was made at the clocks it was made at.
  Hello replay = HelloOf("w2");
  replay.device.kind = "replay";
  replay.device.needs_source = false;
  EXPECT_THAT(Told(bench.Send("p2", replay)), ElementsAre("p2 < WELCOME"));
}

TEST(CoreWorkers, AsksAWorkerToComeBackWhileNoTrackIsOpen) {
  CoreBench bench;
  EXPECT_THAT(Told(bench.Send("p1", HelloOf("w1"))),
              ElementsAre("p1 < REFUSE not_ready: no track is open yet"));
}

TEST(CoreWorkers, AsksAnUnknownPeerToSayHello) {
  CoreBench bench;
  bench.Open();
  EXPECT_THAT(Told(bench.Send("p1", Beat{})),
              ElementsAre("p1 < REFUSE not_ready: BEAT without HELLO; say HELLO first"));
  EXPECT_THAT(Told(bench.Send("p1", Bye{"gone"})), IsEmpty());
}

TEST(CoreWorkers, RefusesAnotherProtocolVersion) {
  CoreBench bench;
  bench.Open();
  EXPECT_THAT(Told(bench.core().OnUndecodable("p1", "protocol 2.0, this is 1.0", true, 0)),
              ElementsAre("p1 < REFUSE version: protocol 2.0, this is 1.0"));
  const Effects dropped = bench.core().OnUndecodable("p1", "bad magic", false, 0);
  EXPECT_THAT(Told(dropped), IsEmpty());
  EXPECT_THAT(dropped.notes, ElementsAre("message of an unknown peer dropped: bad magic"));
}

TEST(CoreWorkers, AWorkerAheadOfTheLedgerRaisesTheAlarmAndNothingIsGrantedAnyMore) {
  CoreBench bench;
  bench.Open();
  bench.Send("p1", HelloOf("w1"));
  Hello ahead = HelloOf("w2");
  ahead.head = {LedgerId("ledger"), Seq(99), Sha256("x")};
  EXPECT_THAT(
      Told(bench.Send("p2", ahead)),
      ElementsAre("p1 < DRAIN",
                  "p2 < REFUSE ledger_behind: has seen event 99 of this ledger, which ends at "
                  "4; the ledger is an old copy, or another one went on: bring the newer one "
                  "back"));
  EXPECT_THAT(bench.core().Alarm(), HasSubstr("worker w2 has seen event 99"));
  EXPECT_THAT(Told(bench.Send("p1", Ready{1})), IsEmpty());
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreWorkers, AWorkerThatSawAnotherEventAtASeqRaisesTheAlarm) {
  CoreBench bench;
  bench.Open();
  bench.core().SetHeadLookup([](const LedgerHead& head) { return head.digest == Sha256("ours"); });
  Hello hello = HelloOf("w1");
  hello.head = {LedgerId("ledger"), Seq(2), Sha256("ours")};
  EXPECT_THAT(Told(bench.Send("p1", hello)), ElementsAre("p1 < WELCOME"));
  hello.head = {LedgerId("another"), Seq(99), Sha256("theirs")};
  EXPECT_THAT(Told(bench.Send("p1", hello)), ElementsAre("p1 < WELCOME"));
  EXPECT_EQ(bench.core().Alarm(), "");
  hello.head = {LedgerId("ledger"), Seq(2), Sha256("theirs")};
  EXPECT_THAT(Told(bench.Send("p1", hello)).back(), HasSubstr("REFUSE ledger_behind"));
  EXPECT_NE(bench.core().Alarm(), "");
}

TEST(CoreWorkers, RestartedWorkersAttemptIsLostAtOnceAndGrantedAgain) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Told(bench.Send("p2", HelloOf("w1", "boot 2"))),
              ElementsAre("+ lost a1: worker restarted", "p2 < WELCOME"));
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})),
              ElementsAre("+ granted g1 a2 b0 to w1", "p2 < GRANT t1 g1 a2 b0", "p2 < PREPARE 2"));
  EXPECT_THAT(Told(bench.Send("w1", Beat{})).front(), HasSubstr("REFUSE not_ready"))
      << "the old process's connection is nobody's any more";
}

TEST(CoreWorkers, ReconnectedWorkerKeepsWhatItHoldsAndStopsWhatNobodyKnows) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  Hello hello = HelloOf("w1");
  LeaseKey stranger = KeyOf(order);
  stranger.generation = Generation(7);
  hello.held = {KeyOf(order), stranger};
  EXPECT_THAT(Told(bench.Send("p2", hello)),
              ElementsAre("p2 < WELCOME", "p2 < CANCEL t1 g7 a1 b0"));
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})), IsEmpty()) << "its place is taken";
  EXPECT_THAT(Told(bench.Report("p2", Answer(order, WorkerId("w1"), 1))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "+ proposed g2", "+ granted g2 a1 b0 to w1", "p2 < ACK t1 g1 a1 b0",
                          "p2 < GRANT t1 g2 a1 b0", "p2 < PREPARE 2"));
}

TEST(CoreWorkers, WorkerThatComesBackWithoutItsAttemptHasUntilReadyToReportIt) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Order order = bench.granted();
  bench.Restart();
  EXPECT_THAT(Told(bench.Send("p2", HelloOf("w1"))), ElementsAre("p2 < WELCOME"));
  EXPECT_THAT(Told(bench.Report("p2", Answer(order, WorkerId("w1"), 1))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "+ proposed g2", "p2 < ACK t1 g1 a1 b0"));
}

TEST(CoreWorkers, AttemptThatItsWorkerDoesNotHoldIsLostWhenItIsReady) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.Restart();
  bench.Send("p2", HelloOf("w1"));
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})),
              ElementsAre("+ lost a1: not held by its worker any more", "+ granted g1 a2 b0 to w1",
                          "p2 < GRANT t1 g1 a2 b0", "p2 < PREPARE 2"));
}

TEST(CoreWorkers, AfterARestartOpenAttemptsAreWaitedForUntilTheirLeasesEnd) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const std::int64_t lease_ms = bench.grant().lease_ms;
  bench.now_ms += 1'000'000;
  bench.Restart();
  EXPECT_THAT(Told(bench.Join("w2")), IsEmpty());
  EXPECT_EQ(bench.core().NextDeadline(), bench.now_ms + 20'000);
  std::int64_t waited = 0;
  for (; waited + 10'000 < lease_ms; waited += 10'000) {
    EXPECT_THAT(Told(bench.Tick(10'000)), IsEmpty());
    bench.Send("w2", Beat{});
  }
  EXPECT_THAT(Told(bench.Tick(lease_ms - waited)),
              ElementsAre("+ lost a1: lease expired", "+ granted g1 a2 b0 to w2",
                          "w2 < GRANT t1 g1 a2 b0", "w2 < PREPARE 2"));
}

TEST(CoreWorkers, BeatsExtendALeaseOnlyWhileUnitsAdvance) {
  const TrackSpec spec = QuickSpec();
  CoreBench bench;
  bench.Open(spec);
  bench.Join("w1");
  Beat beat;
  beat.held = {KeyOf(bench.granted())};
  beat.runner_alive = true;
  for (beat.units_done = 1; beat.units_done <= 20; ++beat.units_done) {
    EXPECT_THAT(Told(bench.Tick(10'000)), IsEmpty());
    EXPECT_THAT(Told(bench.Send("w1", beat)), ElementsAre("w1 < BEAT_ACK"));
  }
  --beat.units_done;  // stuck from here on
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Told(bench.Tick(10'000)), IsEmpty());
    bench.Send("w1", beat);
  }
  bench.now_ms += 10'000;
  bench.Send("w1", beat);
  EXPECT_THAT(Told(bench.Tick()),
              ElementsAre("+ lost a1: lease expired", "+ granted g1 a2 b0 to w1",
                          "w1 < CANCEL t1 g1 a1 b0", "w1 < GRANT t1 g1 a2 b0", "w1 < PREPARE 2"));
}

TEST(CoreWorkers, UnitsOfAnEarlierOrderExtendNoLease) {
  const TrackSpec spec = QuickSpec();
  CoreBench bench;
  bench.Open(spec);
  bench.Join("w1");
  bench.Send("w1", Beat{{KeyOf(bench.granted())}, 100, true});
  bench.Report("w1", Answer(bench.granted(), WorkerId("w1"), 1));
  for (int i = 0; i < 5; ++i) {
    bench.Tick(10'000);
    bench.Send("w1", Beat{{KeyOf(bench.granted())}, 100, true});
  }
  EXPECT_THAT(Told(bench.Tick(10'000)), testing::Contains("+ lost a1: lease expired"));
}

TEST(CoreWorkers, NextDeadlineIsThatOfTheNextLeaseOrWorkerAfterEveryTick) {
  const TrackSpec spec = QuickSpec();
  for (const std::uint32_t lost_ms : {20'000u, 1'000'000u}) {
    CoreOptions options = CoreBench::DefaultOptions();
    options.lost_ms = lost_ms;
    CoreBench bench(options);
    bench.Open(spec);
    bench.Join("w1");
    const std::int64_t begun = bench.now_ms;
    const std::int64_t first = std::min(lost_ms, 60'000u);
    EXPECT_EQ(bench.core().NextDeadline(), begun + first);
    bench.Tick(first - 1);
    bench.Send("w1", Beat{{KeyOf(bench.granted())}, 0, true});  // heard, and no further
    EXPECT_EQ(Told(bench.Tick(1)).empty(), lost_ms == 20'000u);
    const std::int64_t second = lost_ms == 20'000u ? 2 * first - 1 : 2 * first;
    EXPECT_EQ(bench.core().NextDeadline(), begun + second);
    bench.Tick(second - first - 1);
    EXPECT_THAT(Told(bench.Tick(1)), testing::Not(IsEmpty()));
  }
}

TEST(CoreWorkers, BeatAckNamesWhatIsHeldInVain) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  LeaseKey old = KeyOf(bench.granted());
  old.attempt = Attempt(9);
  EXPECT_THAT(Told(bench.Send("w1", Beat{{KeyOf(bench.granted()), old}, 0, true})),
              ElementsAre("w1 < BEAT_ACK unknown t1 g1 a9 b0"));
}

TEST(CoreWorkers, GrantThatGotLostOnTheWayIsNoticedByTheBeats) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  EXPECT_THAT(Told(bench.Send("w1", Beat{})), ElementsAre("w1 < BEAT_ACK")) << "may have crossed";
  bench.now_ms += 5'000;
  EXPECT_THAT(Told(bench.Send("w1", Beat{})),
              ElementsAre("+ lost a1: not held by its worker any more", "+ granted g1 a2 b0 to w1",
                          "w1 < BEAT_ACK", "w1 < GRANT t1 g1 a2 b0", "w1 < PREPARE 2"));
}

TEST(CoreWorkers, OneBeatThatCrossedIsForgottenOnceTheLeaseIsNamed) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.now_ms += 5'000;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Told(bench.Send("w1", Beat{})), ElementsAre("w1 < BEAT_ACK"));
    EXPECT_THAT(Told(bench.Send("w1", Beat{{KeyOf(bench.granted())}, 0, true})),
                ElementsAre("w1 < BEAT_ACK"));
  }
}

TEST(CoreWorkers, SilentWorkersAttemptGoesToAnother) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.Join("w2");
  bench.now_ms += 15'000;
  bench.Send("w2", Beat{});
  const Effects effects = bench.Tick(5'000);
  EXPECT_THAT(Told(effects),
              ElementsAre("+ lost a1: worker silent for 20.0 s", "+ granted g1 a2 b0 to w2",
                          "w2 < GRANT t1 g1 a2 b0", "w2 < PREPARE 2"));
  EXPECT_THAT(effects.notes, ElementsAre("worker w1 lost: worker silent for 20.0 s"));
  EXPECT_THAT(bench.core().Workers(), ElementsAre(WorkerId("w2")));
}

TEST(CoreWorkers, ReleasedAttemptGoesToWhoeverIsReady) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const LeaseKey key = KeyOf(bench.granted());
  EXPECT_THAT(Told(bench.Send("w1", Release{key, "preempted"})),
              ElementsAre("+ lost a1: released: preempted"))
      << "the one that gave it back gets nothing until it is ready";
  EXPECT_THAT(Told(bench.Send("w1", Release{key, "preempted"})), IsEmpty());
  EXPECT_THAT(Told(bench.Join("w2")),
              ElementsAre("+ granted g1 a2 b0 to w2", "w2 < GRANT t1 g1 a2 b0", "w2 < PREPARE 2"));
}

TEST(CoreWorkers, AnotherWorkerIsPreferredToTheOneThatLostTheAttempt) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1", 2);
  bench.Join("w2");
  // w1 has had a free place for longer, and yet w2 is asked.
  bench.now_ms += 5'000;
  bench.Send("w1", Beat{});
  EXPECT_THAT(Told(bench.Send("w1", Beat{})),
              ElementsAre("+ lost a1: not held by its worker any more", "+ granted g1 a2 b0 to w2",
                          "w1 < BEAT_ACK", "w2 < GRANT t1 g1 a2 b0", "w2 < PREPARE 2"));
}

TEST(CoreWorkers, LeavingWorkersAttemptIsLost) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Effects effects = bench.Send("w1", Bye{"stopped"});
  EXPECT_THAT(Told(effects), ElementsAre("+ lost a1: worker left: stopped"));
  EXPECT_THAT(bench.core().Workers(), IsEmpty());
}

TEST(CoreWorkers, StallOfTheCoordinatorMovesEveryDeadline) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.now_ms += 600'000;
  bench.core().OnStall(600'000);
  EXPECT_THAT(Told(bench.Tick()), IsEmpty());
  EXPECT_EQ(bench.core().NextDeadline(), bench.now_ms + 20'000);
  EXPECT_THAT(Told(bench.Tick(20'000)), ElementsAre("+ lost a1: worker silent for 20.0 s"));
}

TEST(CoreWorkers, DrainLetsWhatIsHeldFinishAndGrantsNothing) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.Send("p2", HelloOf("w2"));
  EXPECT_FALSE(bench.core().Done());
  EXPECT_THAT(Told(bench.Carry(bench.core().OnDrain(bench.now_ms))),
              ElementsAre("p2 < DRAIN", "w1 < DRAIN"));
  EXPECT_THAT(Told(bench.Carry(bench.core().OnDrain(bench.now_ms))), IsEmpty());
  EXPECT_FALSE(bench.core().Done());
  EXPECT_THAT(Told(bench.Send("p2", Ready{1})), IsEmpty());
  EXPECT_THAT(Told(bench.Send("p3", HelloOf("w3"))), ElementsAre("p3 < WELCOME", "p3 < DRAIN"))
      << "it may have a report in its spool";
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), WorkerId("w1"), 1))),
              ElementsAre("+ measured g1 a1 measured", "+ decided g1 reject not_faster",
                          "w1 < ACK t1 g1 a1 b0"));
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreWorkers, DrainDoesNotWaitForWorkersThatAreNotThere) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  bench.Restart();
  EXPECT_FALSE(bench.core().Done());
  bench.Carry(bench.core().OnDrain(bench.now_ms));
  EXPECT_TRUE(bench.core().Done());
}

TEST(CoreWorkers, TracksTakeTurnsAndAWorkerMayHoldAsManyAsItSays) {
  CoreBench bench;
  for (const char* label : {"one", "two", "three"}) {
    TrackSpec spec = CopySpec();
    spec.label = label;
    bench.Open(spec);
  }
  EXPECT_THAT(Told(bench.Join("w1", 2)),
              ElementsAre("+ granted g1 a1 b0 to w1", "+ t2 granted g1 a1 b0 to w1",
                          "w1 < GRANT t1 g1 a1 b0", "w1 < PREPARE 2", "w1 < GRANT t2 g1 a1 b0",
                          "w1 < PREPARE 2"));
  const Order second = bench.granted();
  EXPECT_THAT(Told(bench.Report("w1", Answer(second, WorkerId("w1"), 1))),
              ElementsAre("+ t2 measured g1 a1 measured", "+ t2 decided g1 reject not_faster",
                          "+ t2 proposed g2", "+ t3 granted g1 a1 b0 to w1", "w1 < ACK t2 g1 a1 b0",
                          "w1 < GRANT t3 g1 a1 b0", "w1 < PREPARE 2"));
  EXPECT_THAT(Told(bench.Report("w1", Answer(bench.granted(), WorkerId("w1"), 1))),
              ElementsAre("+ t3 measured g1 a1 measured", "+ t3 decided g1 reject not_faster",
                          "+ t3 proposed g2", "+ t2 granted g2 a1 b0 to w1", "w1 < ACK t3 g1 a1 b0",
                          "w1 < GRANT t2 g2 a1 b0", "w1 < PREPARE 2"))
      << "track 2 has waited for longer than 3, and 1 is out";
}

TEST(CoreWorkers, IgnoresWhatOnlyACoordinatorSends) {
  CoreBench bench;
  bench.Open();
  bench.Join("w1");
  const Effects effects = bench.Send("w1", Welcome{});
  EXPECT_THAT(Told(effects), IsEmpty());
  EXPECT_THAT(effects.notes, ElementsAre(HasSubstr("WELCOME")));
}

}  // namespace
}  // namespace pawl
