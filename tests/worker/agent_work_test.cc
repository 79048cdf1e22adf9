// The agent's orders: leases, deadlines, its runner's faults.

#include <gmock/gmock.h>

#include "tests/worker/agent_world.h"

namespace pawl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class AgentWork : public AgentWorld {};

TEST_F(AgentWork, KillsAtTheDeadlineOfTheStageAndNamesItAndItsArm) {
  const struct {
    Stage stage;
    std::int64_t limit_ms;
    const char* detail;
  } cases[] = {
      {Stage::kBuild, 20'000, "candidate kernel while being built: killed after 20000 ms"},
      {Stage::kCheck, 10'000, "candidate kernel while being checked: killed after 10000 ms"},
      {Stage::kRun, 5'000, "candidate kernel while running: killed after 5000 ms"}};
  std::uint32_t generation = 0;
  Serve();
  for (const auto& one : cases) {
    Hear(AGrant(AnOrder(++generation)));
    RunnerAt(Stage::kBuild, ArmRole::kCommitted);
    PassTimeAnswered(3'000);
    RunnerAt(one.stage, ArmRole::kCandidate);
    PassTimeAnswered(one.limit_ms - 1);
    EXPECT_THAT(Take(), Not(Contains("kill runner")));
    PassTimeAnswered(1);
    const std::string report =
        "REPORT " + std::to_string(generation) + ".1 hung candidate: " + one.detail;
    EXPECT_THAT(Take(),
                ::testing::IsSupersetOf({std::string("kill runner"), report,
                                         std::string("start runner"), std::string("READY 1")}));
    const Report last = spool->Pending().back().report;
    EXPECT_EQ(last.order, Sha256(EncodeOrder(AnOrder(generation))));
    EXPECT_EQ(last.worker, options.worker);
    EXPECT_THAT(last.arms,
                ElementsAre(ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent));
    EXPECT_DOUBLE_EQ(last.build_seconds + last.check_seconds + last.run_seconds,
                     3.0 + static_cast<double>(one.limit_ms) / 1000);
  }
}

TEST_F(AgentWork, StartsTheDeadlineAnewAtEachStep) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  for (int i = 0; i < 5; ++i) {
    RunnerAt(Stage::kRun, i % 2 == 0 ? ArmRole::kCandidate : ArmRole::kIncumbent);
    PassTimeAnswered(4'999);
  }
  EXPECT_THAT(Take(), Not(Contains("kill runner")));
}

TEST_F(AgentWork, BlamesNobodyWhenTheRunnerIsStuckBeforeItBegins) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  PassTimeAnswered(20'000);
  EXPECT_THAT(Take(),
              Contains("REPORT 1.1 device_fault: runner before it began: killed after 20000 ms"));
}

TEST_F(AgentWork, ReportsACrashWithWhereItWas) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  RunnerAt(Stage::kBuild, ArmRole::kCommitted);
  RunnerAt(Stage::kCheck, ArmRole::kCandidate);
  Take();
  now += 250;
  Runner(ChildExit{"signal 11 (segmentation fault)", false});
  ASSERT_GE(link.sent.size(), 1u);
  Report expected;
  expected.track = TrackId(1);
  expected.generation = Generation(1);
  expected.attempt = Attempt(1);
  expected.order = Sha256(EncodeOrder(AnOrder(1)));
  expected.worker = options.worker;
  expected.outcome = {OutcomeKind::kCrashed, ArmRole::kCandidate,
                      "candidate kernel while being checked: signal 11 (segmentation fault)"};
  expected.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  expected.check_seconds = 0.25;
  expected.toolchain = "g++ 12";
  EXPECT_EQ(std::get<ReportMessage>(link.sent[0]).report, expected);
  EXPECT_EQ(OnlySpooled(), expected);
  EXPECT_THAT(Take(),
              ElementsAre(HasSubstr("REPORT 1.1 crashed candidate: "), "start runner", "READY 1"));
}

TEST_F(AgentWork, BlamesNobodyForARunnerThatDiesBeforeItBegins) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildExit{"signal 9 (killed)", false});
  EXPECT_EQ(OnlySpooled().outcome, (Outcome{OutcomeKind::kDeviceFault, std::nullopt,
                                            "runner before it began: signal 9 (killed)"}));
}

TEST_F(AgentWork, ReportsAFailingWorldAsADeviceFaultAndTakesAFreshRunner) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  RunnerAt(Stage::kBuild, ArmRole::kCandidate);
  Take();
  Runner(ChildError{"/tmp/scratch: no space left on device"});
  EXPECT_THAT(Take(), ElementsAre("kill runner",
                                  "REPORT 1.1 device_fault: /tmp/scratch: no space left on device",
                                  "start runner", "READY 1"));
}

TEST_F(AgentWork, TakesAFreshRunnerAfterAKernelThatWroteWhatItShouldNot) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Execution wrong;
  wrong.report.outcome = {OutcomeKind::kWrongOutput, ArmRole::kCandidate, "C[3,17] is 1.5"};
  Take();
  Runner(ChildDone{wrong});
  EXPECT_THAT(Take(),
              ElementsAre("kill runner", "REPORT 1.1 wrong_output candidate: C[3,17] is 1.5",
                          "start runner", "READY 1"));
}

TEST_F(AgentWork, KeepsItsRunnerAfterFailuresThatRanNothing) {
  Serve();
  std::uint32_t generation = 0;
  for (const OutcomeKind kind : {OutcomeKind::kBuildFailed, OutcomeKind::kLaunchFailed,
                                 OutcomeKind::kThrottled, OutcomeKind::kNoData}) {
    Hear(AGrant(AnOrder(++generation)));
    Execution failed;
    failed.report.outcome.kind = kind;
    Runner(ChildDone{failed});
    EXPECT_THAT(Take(), Not(Contains("kill runner"))) << Name(kind);
  }
}

TEST_F(AgentWork, TakesAFreshRunnerWhereTheOrderAsksForOne) {
  Serve();
  Order order = AnOrder(1);
  order.fresh_process = true;
  Hear(AGrant(order));
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));  // nothing was run in this one yet
  Runner(ChildDone{Measured()});
  order.generation = Generation(2);
  Hear(AGrant(order));
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1", "kill runner", "start runner",
                                  "run 2.1"));
}

TEST_F(AgentWork, ReplacesItsRunnerAfterSoManyOrders) {
  options.reorders_per_child = 2;
  Serve();
  for (std::uint32_t generation = 1; generation <= 4; ++generation) {
    Hear(AGrant(AnOrder(generation)));
    Runner(ChildDone{Measured()});
  }
  EXPECT_THAT(Take(), ElementsAre("run 1.1", "REPORT 1.1 measured", "READY 1", "run 2.1",
                                  "kill runner", "REPORT 2.1 measured", "start runner", "READY 1",
                                  "run 3.1", "REPORT 3.1 measured", "READY 1", "run 4.1",
                                  "kill runner", "REPORT 4.1 measured", "start runner", "READY 1"));
}

TEST_F(AgentWork, EndsWhenItsRunnerCannotBeStartedAgain) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  RunnerAt(Stage::kRun, ArmRole::kCandidate);
  Take();
  child.start_error = "the GPU has fallen off the bus";
  Runner(ChildExit{"signal 7 (bus error)", false});
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("REPORT 1.1 crashed"), "start runner"));
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_EQ(agent->why(), "the runner cannot be started again: the GPU has fallen off the bus");
}

TEST_F(AgentWork, GivesAnOrderBackWhenItsFreshRunnerDoesNotStart) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  Take();
  child.start_error = "out of memory";
  Order order = AnOrder(2);
  order.fresh_process = true;
  Hear(AGrant(order));
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner",
                                  "RELEASE 2.1: the runner cannot be started again: out of memory",
                                  "BYE: the runner cannot be started again: out of memory"));
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
}

TEST_F(AgentWork, EndsWhenTheDeviceIsAnotherAfterARestart) {
  options.reorders_per_child = 1;
  Serve();
  Hear(AGrant(AnOrder(1)));
  child.facts.toolchain = "g++ 13";
  Runner(ChildDone{Measured()});
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_EQ(agent->why(),
            "the device changed, from a CPU (g++ 12) to a CPU (g++ 13); start the worker again");
  EXPECT_EQ(OnlySpooled().toolchain, "g++ 12");
}

TEST_F(AgentWork, StartsAnIdleRunnerThatDiesAgainButNotForEver) {
  Serve();
  Runner(ChildExit{"exit code 1", false});
  EXPECT_THAT(Take(), ElementsAre("start runner", "READY 1"));
  Runner(ChildExit{"exit code 1", false});
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});  // it does work after all
  Runner(ChildExit{"exit code 1", false});
  Runner(ChildExit{"exit code 1", false});
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
  Runner(ChildExit{"exit code 1", false});
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_EQ(agent->why(),
            "the runner ended 3 times with nothing to do, the last time with exit code 1");
}

TEST_F(AgentWork, GivesAnOrderBackThatTheRunnerDoesNotTake) {
  Serve();
  child.send_error = "broken pipe";
  Hear(AGrant(AnOrder(1)));
  EXPECT_THAT(Take(), ElementsAre("run 1.1", "RELEASE 1.1: the runner did not take it: broken pipe",
                                  "READY 1"));
}

TEST_F(AgentWork, RunsAnAttemptOnceHoweverOftenItIsGranted) {
  Serve();
  const Order order = AnOrder(1);
  Hear(AGrant(order));
  Hear(AGrant(order));
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), ElementsAre("run 1.1", "REPORT 1.1 measured", "READY 1"));
  Hear(AGrant(order));  // its report may have been lost
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured"));
  Hear(AckOf(OnlySpooled(), 3));
  Hear(AGrant(order));
  EXPECT_THAT(Take(), IsEmpty());
  Hear(AGrant(AnOrder(1, 2)));  // another attempt is another order
  EXPECT_THAT(Take(), ElementsAre("run 1.2"));
}

TEST_F(AgentWork, GivesBackWhatIsGrantedWhileItIsBusy) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Hear(AGrant(AnOrder(2)));
  EXPECT_THAT(
      Take(),
      ElementsAre("run 1.1",
                  "RELEASE 2.1: busy with kind=measure track=1 generation=1 attempt=1 batch=0"));
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1"));
}

TEST_F(AgentWork, GivesBackWhatIsGrantedBeforeItIsWelcomeOrWhileItLeaves) {
  StartAgent();
  Connect();
  Take();
  Hear(AGrant(AnOrder(1)));
  EXPECT_THAT(Take(), ElementsAre("RELEASE 1.1: granted before WELCOME"));
  Welcomed();
  Hear(AGrant(AnOrder(2)));
  Hear(Drain{});
  Take();
  Hear(AGrant(AnOrder(3)));
  EXPECT_THAT(Take(), ElementsAre("RELEASE 3.1: drained"));
}

TEST_F(AgentWork, StopsACancelledOrder) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Hear(Cancel{KeyOf(AnOrder(9))});
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));
  Hear(Cancel{KeyOf(AnOrder(1))});
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner", "READY 1"));
  EXPECT_THAT(spool->Pending(), IsEmpty());
}

TEST_F(AgentWork, StopsWhatTheCoordinatorDoesNotKnow) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Hear(BeatAck{{KeyOf(AnOrder(9))}});
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));
  Hear(BeatAck{{KeyOf(AnOrder(1))}});
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner", "READY 1"));
}

TEST_F(AgentWork, StopsWhatAnotherLedgerGranted) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Connect();
  Take();
  Welcomed(LedgerId("another"));
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner", "READY 1"));
}

TEST_F(AgentWork, ExtendsItsLeaseOnlyWhileUnitsAreDone) {
  Serve();
  Order order = AnOrder(1);
  order.deadlines = Deadlines{600'000, 600'000, 600'000};
  Hear(AGrant(order));
  RunnerAt(Stage::kBuild, ArmRole::kCommitted);
  PassTimeAnswered(40'000);
  RunnerAt(Stage::kBuild, ArmRole::kCandidate);  // a unit is done
  PassTimeAnswered(5'000);                       // and a beat of it answered: 60 s from that beat
  PassTimeAnswered(59'000);
  EXPECT_THAT(Take(), Not(Contains("kill runner")));
  PassTimeAnswered(6'000);
  const Acts acts_then = Take();
  EXPECT_THAT(acts_then, Contains("RELEASE 1.1: lease expired"));
  EXPECT_THAT(acts_then, Contains("kill runner"));
}

TEST_F(AgentWork, DoesNotExtendItsLeaseByBeatsThatAreNotAnswered) {
  Serve();
  Order order = AnOrder(1);
  order.deadlines = Deadlines{600'000, 600'000, 600'000};
  Hear(AGrant(order));
  for (int i = 0; i < 12; ++i) {
    RunnerAt(Stage::kRun, ArmRole::kCandidate);
    PassTime(4'999);
    Hear(RejectMessage{});  // it is heard, but not about the lease
  }
  EXPECT_THAT(Take(), Not(Contains("kill runner")));
  PassTime(12);
  EXPECT_THAT(Take(), Contains("RELEASE 1.1: lease expired"));
}

TEST_F(AgentWork, CountsALeaseFromTheBeatThatWasAnsweredNotFromItsAnswer) {
  Serve();
  Order order = AnOrder(1);
  order.deadlines = Deadlines{600'000, 600'000, 600'000};
  Hear(AGrant(order, 19'000));
  RunnerAt(Stage::kRun, ArmRole::kCandidate);
  RunnerAt(Stage::kRun, ArmRole::kIncumbent);
  PassTime(kBeatMs);  // the beat goes out at 5 s
  now += 900;
  Hear(BeatAck{});
  PassTime(18'099);  // up to 23.999 s
  EXPECT_THAT(Take(), Not(Contains("kill runner")));
  PassTime(1);
  EXPECT_THAT(Take(), Contains("RELEASE 1.1: lease expired"));
}

TEST_F(AgentWork, PassesHintsOnWhereSourcesAreOfUse) {
  Serve();
  Prepare hint;
  hint.sources.resize(2);
  Hear(hint);
  Hear(AGrant(AnOrder(1)));
  Hear(hint);
  EXPECT_THAT(Take(), ElementsAre("hint of 2", "run 1.1", "hint of 2"));
  child.facts.needs_source = false;
  Serve();
  Hear(hint);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(AgentWork, IgnoresWhatAGivenUpOrderStillSays) {
  Serve();
  RunnerAt(Stage::kRun, ArmRole::kCandidate);
  Runner(ChildDone{Measured()});
  Runner(ChildError{"late"});
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(spool->Pending(), IsEmpty());
}

TEST_F(AgentWork, SignsWhatTheRunnerReports) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Execution forged = Measured();
  forged.report.track = TrackId(77);
  forged.report.generation = Generation(78);
  forged.report.worker = WorkerId("somebody/else");
  forged.report.order = Sha256("else");
  forged.report.arms = {ArmRole::kRival};
  forged.report.toolchain = "none";
  Runner(ChildDone{forged});
  EXPECT_EQ(OnlySpooled(), MeasuredReport(AnOrder(1)));
}

TEST_F(AgentWork, RecordsWhatTheClocksWerePinnedAt) {
  child.facts.pinned_mhz = 1500;
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  EXPECT_EQ(OnlySpooled().conditions.pinned_mhz, 1500);
}

TEST_F(AgentWork, GivesBackWhatItHoldsWhenWhatItMeasuresOnHasChanged) {
  Serve();
  agent->OnDisturbed(now, "the clocks are not held any more");  // between two orders
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner", "READY 1"));
  Hear(AGrant(AnOrder(1)));
  RunnerAt(Stage::kRun, ArmRole::kCandidate);
  Take();
  agent->OnDisturbed(now, "the clocks are not held any more");
  EXPECT_THAT(Take(), ElementsAre("kill runner", "RELEASE 1.1: the clocks are not held any more",
                                  "start runner", "READY 1"));
  EXPECT_THAT(spool->Pending(), IsEmpty());
  // What cannot be as it was is no place to measure on.
  child.start_error = "the clocks cannot be pinned again";
  agent->OnDisturbed(now, "the clocks are not held any more");
  EXPECT_THAT(Take(), ElementsAre("kill runner", "start runner", HasSubstr("BYE: ")));
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_THAT(agent->why(), HasSubstr("the clocks cannot be pinned again"));
}

TEST_F(AgentWork, StartsNoRunnerAnewOnItsWayOut) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  agent->OnStop(now);
  Take();
  agent->OnDisturbed(now, "the clocks are not held any more");
  EXPECT_THAT(Take(), ElementsAre("kill runner", "RELEASE 1.1: the clocks are not held any more",
                                  "BYE: stopped"));
}

TEST_F(AgentWork, ReportsADeviceFaultWhereTheRunnersReportMakesNoSense) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Execution senseless = Measured();
  senseless.report.rounds[0].visits[0].median_us = -1;
  Take();
  Runner(ChildDone{senseless});
  EXPECT_EQ(OnlySpooled().outcome.kind, OutcomeKind::kDeviceFault);
  EXPECT_THAT(OnlySpooled().outcome.detail,
              AllOf(HasSubstr("the runner's report is not valid: "), HasSubstr("median_us")));
  EXPECT_THAT(Take(), ElementsAre("kill runner", HasSubstr("REPORT 1.1 device_fault"),
                                  "start runner", "READY 1"));
}

TEST_F(AgentWork, KeepsRawSamplesAsEvidenceAndNamesThemInTheReport) {
  Result<std::unique_ptr<Evidence>> evidence = Evidence::Open(folder / "evidence", 1 << 20);
  ASSERT_TRUE(evidence) << evidence.error().message;
  StartAgent(evidence->get());
  Connect();
  Welcomed();
  Hear(AGrant(AnOrder(1)));
  Execution execution = Measured();
  execution.samples = {Samples{0, true, ArmRole::kCandidate, 0, 0, {1, 2, 3}}};
  Runner(ChildDone{execution});
  const Digest kept = OnlySpooled().evidence;
  ASSERT_FALSE(kept.IsZero());
  const Result<std::string> lines = (*evidence)->Load(kept);
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_THAT(*lines, HasSubstr("candidate"));
}

}  // namespace
}  // namespace pawl
