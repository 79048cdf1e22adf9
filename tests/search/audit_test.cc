// What an audit lists, whom it asks, and what it makes of the answers.

#include "coordinator/search/audit.h"

#include <gmock/gmock.h>

#include <set>

#include "schema/codec.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const PeerId kOne = "peer one";
const PeerId kTwo = "peer two";

AuditRequest AtN(std::int64_t n) {
  AuditRequest request;
  request.backend = "host";
  request.shapes = {{{"n", n}}};
  return request;
}

AuditPlan PlanOf(const AuditRequest& request) {
  Result<AuditPlan> plan = PlanAudit(fakes::CopyOperation(), request);
  EXPECT_TRUE(plan) << plan.error().message;
  return *std::move(plan);
}

Audit MakeAudit(std::size_t items) {
  AuditPlan plan = PlanOf(AtN(64));
  plan.items.resize(items);
  return Audit(std::move(plan), LedgerId(std::string(32, 'a')));
}

Hello HelloOf(const std::string& name) {
  Hello hello;
  hello.worker = WorkerId(name);
  hello.boot = BootId("boot");
  hello.device = fakes::Bench();
  return hello;
}

// The orders among what was sent to a peer.
std::vector<Order> Granted(const AuditEffects& effects, const PeerId& peer) {
  std::vector<Order> orders;
  for (const Outgoing& outgoing : effects.send) {
    const auto* grant = std::get_if<Grant>(&outgoing.message);
    if (grant != nullptr && outgoing.peer == peer) orders.push_back(grant->order);
  }
  return orders;
}

template <typename T>
std::size_t Count(const AuditEffects& effects) {
  std::size_t count = 0;
  for (const Outgoing& outgoing : effects.send) {
    if (std::holds_alternative<T>(outgoing.message)) ++count;
  }
  return count;
}

Report Checked(const Order& order) {
  Report report;
  report.kind = OrderKind::kAudit;
  report.track = order.track;
  report.generation = order.generation;
  report.attempt = order.attempt;
  report.order = Sha256(EncodeOrder(order));
  report.worker = WorkerId("one");
  report.arms = {order.arms[0].role};
  CheckFacts check;
  check.arm = order.arms[0].role;
  check.passed = true;
  check.elements = 64;
  report.checks = {check};
  return report;
}

Report Failed(const Order& order, OutcomeKind kind, const std::string& detail) {
  Report report = Checked(order);
  report.checks.clear();
  report.outcome = {kind, order.arms[0].role, detail};
  return report;
}

TEST(AuditPlan, ListsCommittedAndEveryValidDistinctConfiguration) {
  const AuditPlan plan = PlanOf(AtN(64));
  std::set<std::string> names;
  for (const AuditItem& item : plan.items) names.insert(item.Name());
  EXPECT_EQ(names.size(), plan.items.size());
  EXPECT_TRUE(names.contains("committed at n=64"));
  EXPECT_TRUE(names.contains("strip: width=4 unroll=4 mode=plain at n=64"));
  EXPECT_FALSE(names.contains("strip: width=8 unroll=8 mode=plain at n=64"));
  // 4 x 4 x 2 products, of which width * unroll <= 16 leaves 13 x 2; the others are refused.
  EXPECT_THAT(plan.items, SizeIs(1 + 26));
  EXPECT_EQ(plan.refusals, 6U);
  ASSERT_THAT(plan.refused, SizeIs(1));
  EXPECT_THAT(plan.refused.begin()->second.example,
              HasSubstr("width=4 unroll=8 mode=plain at n=64"));
  EXPECT_THAT(plan.skipped, testing::ElementsAre("paper"));
}

TEST(AuditPlan, SaysWhatCannotBeAudited) {
  const auto message = [](AuditRequest request) {
    const Result<AuditPlan> plan = PlanAudit(fakes::CopyOperation(), request);
    return plan ? std::string("planned") : plan.error().message;
  };
  AuditRequest cuda = AtN(64);
  cuda.backend = "cuda";
  EXPECT_THAT(message(cuda), HasSubstr("has no backend 'cuda' (have: host)"));
  AuditRequest letters = AtN(64);
  letters.shapes[0][0].name = "m";
  EXPECT_THAT(message(letters), HasSubstr("has no shape letter 'm'"));
}

TEST(AuditOrder, AsksForABuildAndACheckAndNoRounds) {
  const AuditPlan plan = PlanOf(AtN(64));
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const Result<Order> order = AuditOrder(plan, i, Attempt(2));
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(order->kind, OrderKind::kAudit);
    EXPECT_EQ(order->generation.value, i + 1);
    EXPECT_THAT(order->rounds, IsEmpty());
    ASSERT_THAT(order->arms, SizeIs(1));
    EXPECT_TRUE(order->check.reference);
    const Result<Order> decoded = DecodeOrder(EncodeOrder(*order));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, *order);
  }
}

TEST(PairwiseSample, ShowsEveryPairOfValuesAndIsTheSameForASeed) {
  std::vector<Configuration> list;
  std::set<std::string> pairs;
  const auto pairs_of = [](const Configuration& configuration) {
    std::set<std::string> of;
    for (const Setting& a : configuration.settings) {
      for (const Setting& b : configuration.settings) {
        if (a.knob < b.knob) of.insert(a.knob + ToText(a.value) + b.knob + ToText(b.value));
      }
    }
    return of;
  };
  for (std::int64_t i = 0; i < 4 * 4 * 4 * 4; ++i) {
    Configuration configuration;
    configuration.settings = {{"a", i % 4}, {"b", i / 4 % 4}, {"c", i / 16 % 4}, {"d", i / 64}};
    pairs.merge(pairs_of(configuration));
    list.push_back(configuration);
  }
  const std::vector<Configuration> sample = PairwiseSample(list, 60, 7);
  EXPECT_THAT(sample, SizeIs(60));
  std::set<std::string> shown;
  for (const Configuration& configuration : sample) shown.merge(pairs_of(configuration));
  EXPECT_EQ(shown, pairs);
  EXPECT_EQ(PairwiseSample(list, 60, 7), sample);
  EXPECT_NE(PairwiseSample(list, 60, 8), sample);
  EXPECT_EQ(PairwiseSample(list, 1000, 7), list);
}

TEST(Audit, GrantsAsManyAsAWorkerTakesAndDrainsWhenAllIsAnswered) {
  Audit audit = MakeAudit(3);
  AuditEffects effects = audit.OnMessage(kOne, HelloOf("one"), 0);
  EXPECT_EQ(Count<Welcome>(effects), 1U);
  effects = audit.OnMessage(kOne, Ready{2}, 0);
  std::vector<Order> held = Granted(effects, kOne);
  ASSERT_THAT(held, SizeIs(2));
  effects = audit.OnMessage(kOne, ReportMessage{Checked(held[0])}, 1);
  EXPECT_EQ(Count<Ack>(effects), 1U);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_TRUE(effects.results[0].passed);
  EXPECT_EQ(effects.results[0].item, 0U);
  const std::vector<Order> third = Granted(effects, kOne);
  ASSERT_THAT(third, SizeIs(1));
  effects = audit.OnMessage(
      kOne, ReportMessage{Failed(held[1], OutcomeKind::kWrongOutput, "C[0] is 1")}, 2);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_FALSE(effects.results[0].passed);
  EXPECT_EQ(effects.results[0].why, "wrong_output: C[0] is 1");
  EXPECT_FALSE(audit.Done());
  effects = audit.OnMessage(kOne, ReportMessage{Checked(third[0])}, 3);
  EXPECT_TRUE(audit.Done());
  EXPECT_EQ(Count<Drain>(effects), 1U);
}

TEST(Audit, TakesAnAnswerOnceAndNoneThatComparedNothing) {
  Audit audit = MakeAudit(2);
  audit.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(audit.OnMessage(kOne, Ready{1}, 0), kOne);
  Report nothing = Checked(held[0]);
  nothing.checks.clear();
  AuditEffects effects = audit.OnMessage(kOne, ReportMessage{nothing}, 1);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_EQ(effects.results[0].why, "nothing was compared");
  effects = audit.OnMessage(kOne, ReportMessage{nothing}, 2);
  EXPECT_EQ(Count<Ack>(effects), 1U) << "so that the worker drops it";
  EXPECT_THAT(effects.results, IsEmpty());
  Report foreign = nothing;
  foreign.generation = Generation(99);
  effects = audit.OnMessage(kOne, ReportMessage{foreign}, 3);
  EXPECT_EQ(Count<RejectMessage>(effects), 1U);
}

TEST(Audit, AsksAnotherWorkerForWhatALostOneHeld) {
  Audit audit = MakeAudit(1);
  audit.OnMessage(kOne, HelloOf("one"), 0);
  ASSERT_THAT(Granted(audit.OnMessage(kOne, Ready{1}, 0), kOne), SizeIs(1));
  audit.OnMessage(kTwo, HelloOf("two"), Audit::kLostMs);
  EXPECT_THAT(Granted(audit.OnMessage(kTwo, Ready{1}, Audit::kLostMs), kTwo), IsEmpty());
  const std::vector<Order> again = Granted(audit.OnTick(Audit::kLostMs + 1), kTwo);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].attempt, Attempt(2));
  EXPECT_EQ(audit.workers(), 1U);
  const AuditEffects effects =
      audit.OnMessage(kTwo, ReportMessage{Checked(again[0])}, Audit::kLostMs + 2);
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_TRUE(audit.Done());
}

TEST(Audit, GivesUpOnWhatNoTryCouldCheck) {
  Audit audit = MakeAudit(1);
  audit.OnMessage(kOne, HelloOf("one"), 0);
  std::vector<Order> held = Granted(audit.OnMessage(kOne, Ready{1}, 0), kOne);
  AuditEffects effects;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(held, SizeIs(1));
    effects = audit.OnMessage(
        kOne, ReportMessage{Failed(held[0], OutcomeKind::kDeviceFault, "no compiler")}, i);
    held = Granted(effects, kOne);
  }
  ASSERT_THAT(effects.results, SizeIs(1));
  EXPECT_FALSE(effects.results[0].passed);
  EXPECT_EQ(effects.results[0].why, "could not be checked in 3 tries: no compiler");
  EXPECT_TRUE(audit.Done());
}

TEST(Audit, RefusesWorkersOfAnotherBackend) {
  Audit audit = MakeAudit(1);
  Hello hello = HelloOf("one");
  hello.device.backend = "cuda";
  const AuditEffects effects = audit.OnMessage(kOne, hello, 0);
  EXPECT_EQ(Count<Refuse>(effects), 1U);
  EXPECT_EQ(audit.workers(), 0U);
  EXPECT_THAT(effects.notes, SizeIs(1));
}

TEST(Audit, TellsAWorkerWhichOfWhatItHoldsIsNotAsked) {
  Audit audit = MakeAudit(1);
  audit.OnMessage(kOne, HelloOf("one"), 0);
  const std::vector<Order> held = Granted(audit.OnMessage(kOne, Ready{1}, 0), kOne);
  const LeaseKey mine = fakes::KeyOf(held[0]);
  LeaseKey other = mine;
  other.attempt = Attempt(7);
  const AuditEffects effects = audit.OnMessage(kOne, Beat{{mine, other}, 0, true}, 1);
  ASSERT_THAT(effects.send, SizeIs(1));
  EXPECT_EQ(std::get<BeatAck>(effects.send[0].message).unknown, std::vector<LeaseKey>{other});
}

}  // namespace
}  // namespace pawl
