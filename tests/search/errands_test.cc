// A list of orders, each answered once, whatever becomes of the workers.

#include "coordinator/search/errands.h"

#include <gmock/gmock.h>

#include "schema/codec.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const PeerId kOne = "peer one";
const PeerId kTwo = "peer two";

// One arm, one recorded round of one visit.
Order OrderOf(std::size_t item) {
  Order order;
  order.backend = "host";
  order.operation = "copy" + std::to_string(item);
  Arm arm;
  arm.role = ArmRole::kCandidate;
  arm.label = "candidate";
  order.arms = {arm};
  order.input_seeds = {1};
  order.rounds = {{true, {{0, 0}}}};
  return order;
}

ErrandList ListOf(std::size_t count) {
  ErrandList list;
  list.kind = OrderKind::kMeasure;
  list.count = count;
  list.make = [](std::size_t item, Attempt, const DeviceFacts&) -> Result<Order> {
    return OrderOf(item);
  };
  list.why_not = [](const DeviceFacts& device) -> std::optional<std::string> {
    if (device.backend == "host") return std::nullopt;
    return "device " + device.model + " runs " + device.backend;
  };
  return list;
}

Errands MakeErrands(std::size_t count) {
  return Errands(ListOf(count), LedgerId(std::string(32, 'a')));
}

Hello HelloOf(const std::string& name) {
  Hello hello;
  hello.worker = WorkerId(name);
  hello.boot = BootId("boot");
  hello.device = fakes::Bench();
  return hello;
}

// The orders among what was sent to a peer.
std::vector<Order> Granted(const ErrandEffects& effects, const PeerId& peer) {
  std::vector<Order> orders;
  for (const Outgoing& outgoing : effects.send) {
    const auto* grant = std::get_if<Grant>(&outgoing.message);
    if (grant != nullptr && outgoing.peer == peer) orders.push_back(grant->order);
  }
  return orders;
}

template <typename T>
std::size_t Count(const ErrandEffects& effects) {
  std::size_t count = 0;
  for (const Outgoing& outgoing : effects.send) {
    if (std::holds_alternative<T>(outgoing.message)) ++count;
  }
  return count;
}

Report Measured(const Order& order) {
  Report report;
  report.kind = order.kind;
  report.track = order.track;
  report.generation = order.generation;
  report.attempt = order.attempt;
  report.order = Sha256(EncodeOrder(order));
  report.worker = WorkerId("one");
  report.arms = {order.arms[0].role};
  report.rounds = {{{{0, 0, 10.5, 0}}}};
  return report;
}

Report Failed(const Order& order, OutcomeKind kind, const std::string& detail) {
  Report report = Measured(order);
  report.rounds.clear();
  report.outcome = {kind, order.arms[0].role, detail};
  return report;
}

TEST(Errands, GrantsAsManyAsAWorkerTakesAndDrainsWhenAllIsAnswered) {
  Errands errands = MakeErrands(3);
  ErrandEffects effects = errands.OnMessage(kOne, HelloOf("one"), 0);
  EXPECT_EQ(Count<Welcome>(effects), 1U);
  effects = errands.OnMessage(kOne, Ready{2}, 0);
  std::vector<Order> held = Granted(effects, kOne);
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0].kind, OrderKind::kMeasure);
  effects = errands.OnMessage(kOne, ReportMessage{Measured(held[0])}, 1);
  EXPECT_EQ(Count<Ack>(effects), 1U);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_TRUE(effects.results[0].answered());
  EXPECT_EQ(effects.results[0].item, 0U);
  EXPECT_EQ(effects.results[0].tries, 1U);
  EXPECT_EQ(effects.results[0].report, Measured(held[0]));
  EXPECT_EQ(effects.results[0].order, held[0]);
  EXPECT_EQ(effects.results[0].device, fakes::Bench());
  const std::vector<Order> third = Granted(effects, kOne);
  ASSERT_THAT(third, SizeIs(1));
  // A kernel's own fault is an answer.
  effects = errands.OnMessage(
      kOne, ReportMessage{Failed(held[1], OutcomeKind::kWrongOutput, "C[0] is 1")}, 2);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_TRUE(effects.results[0].answered());
  EXPECT_FALSE(errands.Done());
  effects = errands.OnMessage(kOne, ReportMessage{Measured(third[0])}, 3);
  EXPECT_TRUE(errands.Done());
  EXPECT_EQ(Count<Drain>(effects), 1U);
}

TEST(Errands, TakesAnAnswerOnceAndNoneThatWasNotAskedFor) {
  Errands errands = MakeErrands(2);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  ErrandEffects effects = errands.OnMessage(kOne, ReportMessage{Measured(held[0])}, 1);
  ASSERT_THAT(effects.results, SizeIs(1));
  effects = errands.OnMessage(kOne, ReportMessage{Measured(held[0])}, 2);
  EXPECT_EQ(Count<Ack>(effects), 1U) << "so that the worker drops it";
  EXPECT_THAT(effects.results, IsEmpty());
  Report elsewhere = Measured(held[0]);
  elsewhere.generation = Generation(99);
  Report later = Measured(held[0]);
  later.attempt = Attempt(2);
  Report other_order = Measured(held[0]);
  other_order.order = Sha256("another");
  for (const Report& foreign : {elsewhere, later, other_order}) {
    effects = errands.OnMessage(kOne, ReportMessage{foreign}, 3);
    EXPECT_EQ(Count<RejectMessage>(effects), 1U);
    EXPECT_THAT(effects.results, IsEmpty());
  }
}

TEST(Errands, AReportThatIsNoAnswerIsRefusedAndTheOrderAskedAgain) {
  Errands errands = MakeErrands(1);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  Report short_of = Measured(held[0]);
  short_of.rounds.clear();
  const ErrandEffects effects = errands.OnMessage(kOne, ReportMessage{short_of}, 1);
  EXPECT_EQ(Count<RejectMessage>(effects), 1U);
  EXPECT_THAT(effects.results, IsEmpty());
  const std::vector<Order> again = Granted(effects, kOne);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].attempt, Attempt(2));
}

TEST(Errands, AsksAnotherWorkerForWhatALostOneHeldAndTakesTheLateAnswer) {
  Errands errands = MakeErrands(1);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> first = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  ASSERT_THAT(first, SizeIs(1));
  errands.OnMessage(kTwo, HelloOf("two"), Errands::kLostMs);
  EXPECT_THAT(Granted(errands.OnMessage(kTwo, Ready{1}, Errands::kLostMs), kTwo), IsEmpty());
  const std::vector<Order> again = Granted(errands.OnTick(Errands::kLostMs + 1), kTwo);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].attempt, Attempt(2));
  EXPECT_EQ(errands.workers(), 1U);
  errands.OnMessage(kOne, HelloOf("one"), Errands::kLostMs + 2);
  ErrandEffects effects =
      errands.OnMessage(kOne, ReportMessage{Measured(first[0])}, Errands::kLostMs + 3);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(effects.results[0].order, first[0]);
  EXPECT_TRUE(errands.Done());
  effects = errands.OnMessage(kTwo, ReportMessage{Measured(again[0])}, Errands::kLostMs + 4);
  EXPECT_EQ(Count<Ack>(effects), 1U);
  EXPECT_THAT(effects.results, IsEmpty());
}

TEST(Errands, GivesUpAfterThreeTriesAndHandsOutTheLastReport) {
  Errands errands = MakeErrands(1);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  std::vector<Order> held = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  ErrandEffects effects;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(held, SizeIs(1));
    effects = errands.OnMessage(
        kOne, ReportMessage{Failed(held[0], OutcomeKind::kThrottled, "too hot")}, i);
    held = Granted(effects, kOne);
  }
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_FALSE(effects.results[0].answered());
  EXPECT_EQ(effects.results[0].why, "could not be answered in 3 tries: too hot");
  EXPECT_EQ(effects.results[0].tries, 3U);
  ASSERT_TRUE(effects.results[0].report);
  EXPECT_EQ(effects.results[0].report->outcome.kind, OutcomeKind::kThrottled);
  EXPECT_EQ(effects.results[0].order->attempt, Attempt(3));
  EXPECT_TRUE(errands.Done());
}

TEST(Errands, WhatIsNotRecordedIsNotAskedAgain) {
  Errands errands = MakeErrands(1);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  Report report = Failed(held[0], OutcomeKind::kNoData, "not listed");
  report.outcome.arm.reset();
  const ErrandEffects effects = errands.OnMessage(kOne, ReportMessage{report}, 1);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(effects.results[0].why, "not listed");
  EXPECT_TRUE(errands.Done());
}

TEST(Errands, AnOrderThatCannotBeMadeIsItsResult) {
  ErrandList list = ListOf(2);
  list.make = [](std::size_t item, Attempt, const DeviceFacts& device) -> Result<Order> {
    if (item == 0) return Error{"no kernel for " + device.model};
    return OrderOf(item);
  };
  Errands errands(std::move(list), LedgerId(std::string(32, 'a')));
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const ErrandEffects effects = errands.OnMessage(kOne, Ready{1}, 0);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(effects.results[0].why, "no kernel for " + fakes::Bench().model);
  const std::vector<Order> held = Granted(effects, kOne);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].operation, "copy1");
}

TEST(Errands, AnOrderThatIsTooLongForTheLinkIsItsResult) {
  ErrandList list = ListOf(1);
  list.make = [](std::size_t item, Attempt, const DeviceFacts&) -> Result<Order> {
    Order order = OrderOf(item);
    const std::string text(1 << 20, ' ');
    order.headers = {{"long.cuh", Sha256(text), text}};
    return order;
  };
  Errands errands(std::move(list), LedgerId(std::string(32, 'a')));
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const ErrandEffects effects = errands.OnMessage(kOne, Ready{1}, 0);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_THAT(effects.results[0].why, HasSubstr("can be sent"));
  EXPECT_TRUE(errands.Done());
}

TEST(Errands, TellsAWorkerOfAnotherVersionWhy) {
  Errands errands = MakeErrands(1);
  ErrandEffects effects = errands.OnUndecodable(kOne, "version 9 of the protocol", true);
  ASSERT_THAT(effects.send, SizeIs(1));
  EXPECT_EQ(std::get<Refuse>(effects.send[0].message).code, RefuseCode::kVersion);
  EXPECT_THAT(effects.notes, testing::ElementsAre("version 9 of the protocol"));
  effects = errands.OnUndecodable(kOne, "damaged", false);
  EXPECT_THAT(effects.send, IsEmpty());
}

TEST(Errands, ALeaseOutlastsTheLongestStageOfItsOrder) {
  ErrandList list = ListOf(1);
  list.make = [](std::size_t item, Attempt, const DeviceFacts&) -> Result<Order> {
    Order order = OrderOf(item);
    order.deadlines.run_ms = 3'000'000;
    return order;
  };
  Errands errands(std::move(list), LedgerId(std::string(32, 'a')));
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const ErrandEffects effects = errands.OnMessage(kOne, Ready{1}, 0);
  ASSERT_THAT(effects.send, SizeIs(1));
  EXPECT_GT(std::get<Grant>(effects.send[0].message).lease_ms, 3'000'000U);
}

TEST(Errands, SendsAwayWorkersThatMayNotTakeItsOrders) {
  Errands errands = MakeErrands(1);
  Hello hello = HelloOf("one");
  hello.device.backend = "cuda";
  const ErrandEffects effects = errands.OnMessage(kOne, hello, 0);
  EXPECT_EQ(Count<Refuse>(effects), 1U);
  EXPECT_EQ(errands.workers(), 0U);
  ASSERT_THAT(effects.notes, SizeIs(1));
  EXPECT_THAT(effects.notes[0], HasSubstr("runs cuda"));
}

TEST(Errands, TellsAWorkerWhichOfWhatItHoldsIsNotAsked) {
  Errands errands = MakeErrands(1);
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  const LeaseKey mine = fakes::KeyOf(held[0]);
  LeaseKey other = mine;
  other.attempt = Attempt(7);
  const ErrandEffects effects = errands.OnMessage(kOne, Beat{{mine, other}, 0, true}, 1);
  ASSERT_THAT(effects.send, SizeIs(1));
  EXPECT_EQ(std::get<BeatAck>(effects.send[0].message).unknown, std::vector<LeaseKey>{other});
}

// What `pawl bench` does: an order, something else, the next order.
TEST(Errands, AnOpenListTakesMoreUntilItIsClosed) {
  ErrandList list = ListOf(1);
  list.open = true;
  Errands errands(list, LedgerId(std::string(32, 'a')));
  errands.OnMessage(kOne, HelloOf("one"), 0);
  const auto first = Granted(errands.OnMessage(kOne, Ready{1}, 0), kOne);
  ASSERT_THAT(first, SizeIs(1));
  ErrandEffects effects = errands.OnMessage(kOne, ReportMessage{Measured(first[0])}, 1);
  EXPECT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(Count<Drain>(effects), 0U);
  EXPECT_FALSE(errands.Done());
  EXPECT_THAT(Granted(errands.OnTick(2), kOne), IsEmpty());

  errands.Add(1);
  EXPECT_EQ(errands.count(), 2U);
  const auto second = Granted(errands.OnTick(3), kOne);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].operation, "copy1");
  EXPECT_EQ(Count<Drain>(errands.Close()), 0U) << "an order is still out";
  effects = errands.OnMessage(kOne, ReportMessage{Measured(second[0])}, 4);
  EXPECT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(Count<Drain>(effects), 1U);
  EXPECT_TRUE(errands.Done());
}

TEST(Errands, AnOpenListThatIsDoneDrainsWhenItIsClosed) {
  ErrandList list = ListOf(0);
  list.open = true;
  Errands errands(list, LedgerId(std::string(32, 'a')));
  errands.OnMessage(kOne, HelloOf("one"), 0);
  EXPECT_EQ(Count<Drain>(errands.Close()), 1U);
  EXPECT_TRUE(errands.Done());
}

}  // namespace
}  // namespace pawl
