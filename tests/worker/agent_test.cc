// The agent's conversation with a coordinator.

#include <gmock/gmock.h>

#include "tests/worker/agent_world.h"

namespace pawl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AgentTest : public AgentWorld {};

TEST_F(AgentTest, SaysHelloThenReadyAndTakesAnOrder) {
  StartAgent();
  EXPECT_THAT(Take(), ElementsAre("start runner"));
  Connect();
  ASSERT_THAT(link.sent, SizeIs(1));
  EXPECT_EQ(std::get<Hello>(link.sent[0]),
            (Hello{options.worker, options.boot, "0.1.0", "host", child.facts, {}, {}}));
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing"));
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("READY 1"));
  Hear(AGrant(AnOrder(1)));
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));
  Runner(ChildDone{Measured()});
  ASSERT_THAT(link.sent, SizeIs(2));
  EXPECT_EQ(std::get<ReportMessage>(link.sent[0]).report, MeasuredReport(AnOrder(1)));
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1"));
}

TEST_F(AgentTest, EndsWhenItsDeviceCannotBeOpened) {
  child.start_error = "no compiler: g++ is not in PATH";
  StartAgent();
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_EQ(agent->why(), "no compiler: g++ is not in PATH");
}

TEST_F(AgentTest, SaysHelloAgainOnEveryNewConnectionAndWorksOn) {
  Serve();
  const Order order = AnOrder(1);
  Hear(AGrant(order));
  Connect();
  EXPECT_THAT(Take(), ElementsAre("run 1.1", "HELLO holding 1.1"));
  Welcomed();
  EXPECT_THAT(Take(), IsEmpty());
  PassTime(0);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding 1.1, 0 done"));  // at once: is it still wanted?
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1"));
}

TEST_F(AgentTest, SaysHelloAgainWhenTheFirstWasDropped) {
  StartAgent();
  ++link.connections;  // there, and gone again
  agent->OnReadable(now);
  EXPECT_THAT(Take(), ElementsAre("start runner"));
  link.connected = true;
  PassTime(499);
  EXPECT_THAT(Take(), IsEmpty());
  PassTime(1);
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing"));
}

TEST_F(AgentTest, AsksAgainWhereTheCoordinatorIsNotReady) {
  StartAgent();
  Connect();
  Hear(Refuse{RefuseCode::kNotReady, "no track is open yet"});
  Take();
  PassTime(500);
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing"));
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
}

TEST_F(AgentTest, SaysHelloAtOnceToACoordinatorThatHasForgottenIt) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  Hear(Refuse{RefuseCode::kNotReady, "BEAT without HELLO; say HELLO first"});
  EXPECT_THAT(Take(), ElementsAre("HELLO holding 1.1"));
}

TEST_F(AgentTest, EndsWhenItIsRefused) {
  for (const RefuseCode code :
       {RefuseCode::kVersion, RefuseCode::kNotWanted, RefuseCode::kLedgerBehind}) {
    child.running = false;
    StartAgent();
    Connect();
    Take();
    Hear(Refuse{code, "because"});
    EXPECT_EQ(agent->ended(), AgentEnd::kRefused);
    EXPECT_EQ(agent->why(), "refused (" + std::string(Name(code)) + "): because");
    EXPECT_THAT(Take(), ElementsAre("kill runner"));
  }
}

TEST_F(AgentTest, EndsWhenTheCoordinatorIsOfAnotherVersion) {
  StartAgent();
  Connect();
  link.inbox.push_back(Error{"protocol 2.0, this is 1.0", Advice::kHalt});
  agent->OnReadable(now);
  EXPECT_EQ(agent->ended(), AgentEnd::kRefused);
  EXPECT_EQ(agent->why(), "the coordinator cannot be understood: protocol 2.0, this is 1.0");
}

TEST_F(AgentTest, EndsOnATroubleOfItsLinkThatWillNotPass) {
  StartAgent();
  Take();
  link.trouble = Error{"the coordinator does not allow this host's key", Advice::kHalt};
  agent->OnReadable(now);
  EXPECT_EQ(agent->ended(), AgentEnd::kRefused);
  EXPECT_EQ(agent->why(), "the coordinator does not allow this host's key");
  EXPECT_THAT(Take(), ElementsAre("kill runner"));
}

TEST_F(AgentTest, GoesOnAfterATroubleOfItsLinkThatMayPass) {
  StartAgent();
  Take();
  link.trouble = Error{"the coordinator does not answer with its key", Advice::kRetry};
  agent->OnReadable(now);
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
  EXPECT_EQ(link.trouble, std::nullopt) << "was asked for";
  EXPECT_THAT(Take(), IsEmpty());
  Connect();
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing"));
}

// An order that it holds is given up with it: its runner is killed.
TEST_F(AgentTest, EndsInTheMiddleOfAnOrderOnATroubleThatWillNotPass) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  link.trouble = Error{"the coordinator wants a key", Advice::kHalt};
  agent->OnReadable(now);
  EXPECT_EQ(agent->ended(), AgentEnd::kRefused);
  EXPECT_THAT(Take(), ElementsAre("kill runner"));
}

TEST_F(AgentTest, DropsWhatIsDamagedOrOnlyAWorkersToSay) {
  Serve();
  link.inbox.push_back(Error{"not pawl's"});
  Hear(Ready{1});
  Hear(Hello{});
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
}

// A grant that cannot be read names no attempt to give back. Its coordinator hears in the beats
// that nobody holds it, takes it back, and grants the next one on the READY that still stands.
TEST_F(AgentTest, ServesOnAfterAGrantThatCannotBeRead) {
  Serve();
  link.inbox.push_back(
      Error{"order.buffers[0] is too large; allowed: 2^33 elements in all buffers"});
  agent->OnReadable(now);
  EXPECT_THAT(Take(), IsEmpty());
  PassTimeAnswered(2 * kBeatMs);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding nothing, 0 done", "BEAT holding nothing, 0 done"));
  Hear(AGrant(AnOrder(1)));
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));
}

TEST_F(AgentTest, BeatsWithTheUnitsThatAreDone) {
  Serve();
  PassTimeAnswered(kBeatMs);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding nothing, 0 done"));
  Hear(AGrant(AnOrder(1)));
  RunnerAt(Stage::kBuild, ArmRole::kCommitted);
  RunnerAt(Stage::kBuild, ArmRole::kCandidate);
  RunnerAt(Stage::kCheck, ArmRole::kCommitted);
  Take();
  PassTimeAnswered(kBeatMs);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding 1.1, 2 done"));
  Runner(ChildDone{Measured()});
  PassTimeAnswered(kBeatMs);
  EXPECT_THAT(Take(),
              ElementsAre("REPORT 1.1 measured", "READY 1", "BEAT holding nothing, 3 done"));
}

TEST_F(AgentTest, ConnectsAnewWhenTheCoordinatorIsSilent) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  PassTime(kLostMs - 1);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding 1.1, 0 done", "BEAT holding 1.1, 0 done",
                                  "BEAT holding 1.1, 0 done"));
}

TEST_F(AgentTest, WorksOnWhileItConnectsAnew) {
  Serve();
  Order order = AnOrder(1);
  order.deadlines.build_ms = 100'000;
  Hear(AGrant(order));
  PassTime(kLostMs);
  Take();
  EXPECT_FALSE(link.connected);
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(OnlySpooled(), MeasuredReport(order));
  Connect();
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing"));
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1"));
}

TEST_F(AgentTest, TriesAgainWhenANewConnectionHearsNothingEither) {
  Serve();
  PassTime(kLostMs);
  EXPECT_EQ(Take().back(), "reconnect");
  PassTime(kLostMs);
  EXPECT_THAT(Take(), ElementsAre("reconnect"));
}

TEST_F(AgentTest, KeepsAReportUntilItIsAcknowledgedAndRemembersTheHead) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  const Report report = OnlySpooled();
  EXPECT_EQ(report, MeasuredReport(AnOrder(1)));
  Hear(AckOf(report, 9));
  EXPECT_THAT(spool->Pending(), IsEmpty());
  EXPECT_EQ(spool->LastHead(), AckOf(report, 9).head);
  Take();
  Connect();
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing, seen ledger 9"));
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("READY 1"));
}

TEST_F(AgentTest, SendsItsSpoolAgainAfterEveryWelcomeBeforeItIsReady) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  Hear(AGrant(AnOrder(2)));
  Runner(ChildDone{Measured()});
  Take();
  for (int i = 0; i < 2; ++i) {
    Connect();
    Welcomed();
    EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing", "REPORT 1.1 measured",
                                    "REPORT 2.1 measured", "READY 1"));
  }
}

TEST_F(AgentTest, SendsWhatAnEarlierProcessSpooled) {
  ASSERT_TRUE(spool->Put(MeasuredReport(AnOrder(4)), kLedger));
  OpenSpool();
  StartAgent();
  Connect();
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("start runner", "HELLO holding nothing", "REPORT 4.1 measured",
                                  "READY 1"));
}

TEST_F(AgentTest, SendsAReportToNoOtherLedgerThanItsOwn) {
  ASSERT_TRUE(spool->Put(MeasuredReport(AnOrder(4)), LedgerId("another")));
  StartAgent();
  Connect();
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("start runner", "HELLO holding nothing", "READY 1"));
  Connect();
  Welcomed(LedgerId("another"));
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing", "REPORT 4.1 measured", "READY 1"));
}

TEST_F(AgentTest, TellsALedgerItsOwnHeadEvenIfItSawAnotherLast) {
  ASSERT_TRUE(spool->Remember(LedgerHead{kLedger, Seq(7), Sha256("7")}));
  ASSERT_TRUE(spool->Remember(LedgerHead{LedgerId("another"), Seq(3), Sha256("3")}));
  StartAgent();
  Connect();
  EXPECT_THAT(Take(), ElementsAre("start runner", "HELLO holding nothing, seen another 3"));
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("HELLO holding nothing, seen ledger 7"));  // and not READY yet
  Welcomed();
  EXPECT_THAT(Take(), ElementsAre("READY 1"));
}

TEST_F(AgentTest, SendsAnUnansweredReportAgainAfterTheSilenceLimit) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  Take();
  PassTimeAnswered(kLostMs - 1);
  for (const std::string& act : Take()) EXPECT_THAT(act, HasSubstr("BEAT"));
  PassTimeAnswered(kBeatMs);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding nothing, 0 done", "REPORT 1.1 measured"));
}

TEST_F(AgentTest, SendsAReportWhenTheQueueHasRoomAgain) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  link.connected = false;
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), IsEmpty());
  link.connected = true;
  agent->OnReadable(now);
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured", "READY 1"));
}

TEST_F(AgentTest, DropsARejectedReportUnlessItIsToTryAgain) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  const Ack ack = AckOf(OnlySpooled(), 1);
  Take();
  Hear(RejectMessage{ack.key, ack.report, RejectCode::kMalformed, "later", true});
  EXPECT_THAT(spool->Pending(), SizeIs(1));
  EXPECT_THAT(Take(), IsEmpty());
  Hear(RejectMessage{ack.key, ack.report, RejectCode::kUnknownAttempt, "never granted", false});
  EXPECT_THAT(spool->Pending(), IsEmpty());
}

TEST_F(AgentTest, LeavesWithoutWaitingForAReportThatItIsToSendAnotherTime) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Runner(ChildDone{Measured()});
  const Ack ack = AckOf(OnlySpooled(), 1);
  Take();
  Hear(RejectMessage{ack.key, ack.report, RejectCode::kNotOpenHere, "not searched now", true});
  Hear(Drain{});
  EXPECT_THAT(Take(), ElementsAre("BYE: drained", "kill runner"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
  EXPECT_THAT(spool->Pending(), SizeIs(1)) << "for a coordinator that searches its track";
}

TEST_F(AgentTest, FinishesWhatItHoldsWhenItIsDrained) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Hear(Drain{});
  EXPECT_THAT(Take(), ElementsAre("run 1.1"));
  Runner(ChildDone{Measured()});
  EXPECT_THAT(Take(), ElementsAre("REPORT 1.1 measured"));  // no READY; it waits for the ACK
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
  Hear(AckOf(OnlySpooled(), 5));
  EXPECT_THAT(Take(), ElementsAre("BYE: drained", "kill runner"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
  EXPECT_EQ(agent->why(), "");
}

TEST_F(AgentTest, LeavesAtOnceWhenItIsDrainedOrStoppedIdle) {
  Serve();
  Hear(Drain{});
  EXPECT_THAT(Take(), ElementsAre("BYE: drained", "kill runner"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
  Serve();
  agent->OnStop(now);
  EXPECT_THAT(Take(), ElementsAre("BYE: stopped", "kill runner"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
}

TEST_F(AgentTest, DoesNotWaitForALastAcknowledgementForEver) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  agent->OnStop(now);
  Runner(ChildDone{Measured()});
  Take();
  PassTimeAnswered(4'999);
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
  Take();
  PassTimeAnswered(1);
  EXPECT_THAT(Take(), ::testing::Contains("BYE: stopped"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
  EXPECT_THAT(spool->Pending(), SizeIs(1));
}

TEST_F(AgentTest, GivesBackWhatItCannotFinishWithinItsLease) {
  Serve();
  Order order = AnOrder(1);
  order.deadlines.build_ms = 600'000;
  Hear(AGrant(order));
  agent->OnStop(now);
  Take();
  PassTimeAnswered(kLeaseMs - 1);
  EXPECT_EQ(agent->ended(), AgentEnd::kRunning);
  Take();
  PassTimeAnswered(1);
  EXPECT_THAT(Take(), ElementsAre("kill runner", "RELEASE 1.1: lease expired",
                                  "BEAT holding nothing, 0 done, no runner", "BYE: stopped"));
}

TEST_F(AgentTest, StopsAtOnceWhenAskedTwiceOrWithNoCoordinatorThere) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  agent->OnStop(now);
  agent->OnStop(now);
  EXPECT_THAT(Take(),
              ElementsAre("run 1.1", "kill runner", "RELEASE 1.1: stopped", "BYE: stopped"));
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);

  Serve();
  Hear(AGrant(AnOrder(2)));
  PassTime(kLostMs);
  Take();
  agent->OnStop(now);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(agent->ended(), AgentEnd::kDone);
}

TEST_F(AgentTest, EndsWhenItsSpoolCannotBeWritten) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  std::filesystem::remove_all(folder / "spool");
  Runner(ChildDone{Measured()});
  EXPECT_EQ(agent->ended(), AgentEnd::kFailed);
  EXPECT_THAT(agent->why(), HasSubstr("spool/slot-0"));
  EXPECT_THAT(Take(), ElementsAre("RELEASE 1.1: its report cannot be kept",
                                  "BYE: its spool cannot be written", "kill runner"));
}

TEST_F(AgentTest, IsNotHeldToDeadlinesThatPassedWhileItWasStopped) {
  Serve();
  Hear(AGrant(AnOrder(1), 600'000));
  RunnerAt(Stage::kRun, ArmRole::kCandidate);
  Take();
  now += 100'000;  // SIGSTOP, SIGCONT
  agent->OnTick(now);
  EXPECT_THAT(Take(), ElementsAre("BEAT holding 1.1, 0 done"));
  link.inbox.push_back(Message(BeatAck{}));
  PassTimeAnswered(4'999);
  EXPECT_THAT(Take(), IsEmpty());
  // But then they are.
  PassTimeAnswered(1);
  EXPECT_THAT(Take(), ::testing::Contains("kill runner"));
}

TEST_F(AgentTest, IsHeldToItsLeaseEvenIfItWasStopped) {
  Serve();
  Hear(AGrant(AnOrder(1)));
  Take();
  now += kLeaseMs;
  agent->OnTick(now);
  EXPECT_THAT(Take(),
              ElementsAre("kill runner", "RELEASE 1.1: lease expired",
                          "BEAT holding nothing, 0 done, no runner", "start runner", "READY 1"));
}

}  // namespace
}  // namespace pawl
