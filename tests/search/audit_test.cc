// What an audit lists, what it asks, and what it makes of the answers.

#include "coordinator/search/audit.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "schema/codec.h"
#include "tests/search/search_fakes.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

// The errand of the first item, answered.
ErrandResult Answered(OutcomeKind kind, const std::string& detail, std::uint64_t elements) {
  ErrandResult result;
  result.item = 4;
  result.report.emplace();
  result.report->outcome = {kind, std::nullopt, detail};
  if (elements > 0) {
    CheckFacts check;
    check.elements = elements;
    result.report->checks = {check};
  }
  result.report->build_seconds = 1;
  result.report->check_seconds = 0.5;
  return result;
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

TEST(AuditPlan, CountsEveryRefusalOfASpaceOfMoreThanAMillion) {
  const auto list = [](int count) {
    std::string values;
    for (int i = 1; i <= count; ++i) values += (i == 1 ? "" : ", ") + std::to_string(i);
    return "[" + values + "]";
  };
  auto files = fakes::CopyFiles();
  std::string& strip = files["host/strip.toml"];
  const std::pair<std::string, std::string> knobs[] = {
      {"width", list(1'001)}, {"unroll", list(1'000)}, {"mode", "[\"plain\"]"}};
  for (const auto& [knob, values] : knobs) {
    const std::size_t begin = strip.find("[", strip.find("\n" + knob));
    strip.replace(begin, strip.find("]", begin) + 1 - begin, values);
  }
  auto loaded = LoadOperation(files, "copy");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto plan = PlanAudit(std::make_shared<const Operation>(*std::move(loaded)), AtN(64));
  ASSERT_TRUE(plan) << plan.error().message;
  const std::uint64_t valid = plan->items.size() - 1;  // beside the committed kernel
  EXPECT_EQ(plan->refusals, 1'001'000 - valid);
  EXPECT_EQ(plan->refused.begin()->second.count, plan->refusals);
}

// The copy operation with other constraints of `strip`.
AuditPlan PlanWith(const std::string& constraints, std::int64_t n) {
  auto files = fakes::CopyFiles();
  files["host/strip.toml"] += constraints;
  auto loaded = LoadOperation(files, "copy");
  EXPECT_TRUE(loaded) << loaded.error().message;
  Result<AuditPlan> plan = PlanAudit(std::make_shared<const Operation>(*std::move(loaded)), AtN(n));
  EXPECT_TRUE(plan) << plan.error().message;
  return *std::move(plan);
}

TEST(AuditPlan, NamesStructuresOfWhichItChecksNothing) {
  EXPECT_THAT(PlanOf(AtN(64)).gaps, IsEmpty());
  const std::string even =
      "\n[[constraint]]\nneed = \"n % 2 == 0\"\nwhy  = \"{n} elements are odd\"\n";
  EXPECT_THAT(PlanWith(even, 64).gaps, IsEmpty());
  const AuditPlan plan = PlanWith(even, 63);
  EXPECT_THAT(plan.items, SizeIs(1)) << "the committed kernel";
  ASSERT_THAT(plan.gaps, SizeIs(1)) << "one without a source is skipped";
  EXPECT_EQ(plan.gaps[0].structure, "strip");
  EXPECT_EQ(plan.gaps[0].refused.count, 32U);
  EXPECT_EQ(plan.gaps[0].refused.example,
            "width=1 unroll=1 mode=plain at n=63: 63 elements are odd");
}

TEST(AuditPlan, CountsAnExpressionThatFailsAsAFailureAndNoRefusal) {
  const AuditPlan plan = PlanWith(
      "\n[[constraint]]\nneed = \"n / (width - 2) != 1\"\nwhy  = \"as many strips\"\n", 64);
  EXPECT_EQ(plan.refusals, 6U) << "of the other constraint";
  EXPECT_EQ(plan.breaks, 8U) << "all with width = 2";
  ASSERT_THAT(plan.broken, SizeIs(1));
  EXPECT_THAT(plan.broken.begin()->second.example,
              testing::AllOf(HasSubstr("strip: width=2 unroll=1 mode=plain at n=64: "),
                             HasSubstr("division by zero")));
  EXPECT_THAT(plan.gaps, IsEmpty());
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

// Of matmul about half the items at each shape, and each kernel both ways where it has shapes
// enough.
TEST(AuditOrder, ComparesAtEverySecondShapeOnExactIntegersToTheLastBit) {
  auto loaded = LoadOperation(test::SourceFolder() + "/kernels/matmul");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto operation = std::make_shared<const Operation>(*std::move(loaded));
  AuditRequest request;
  request.backend = "cuda";
  const auto plan = PlanAudit(operation, request);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto again = PlanAudit(operation, request);
  std::map<std::pair<std::string, bool>, int> seen;  // by shape's first letter and kind
  for (std::size_t i = 0; i < plan->items.size(); ++i) {
    const AuditItem& item = plan->items[i];
    EXPECT_EQ(item.exact, again->items[i].exact);
    ++seen[{std::to_string(item.shape.front().value), item.exact}];
    const auto order = AuditOrder(*plan, i, Attempt(1));
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(order->check.rtol == 0 && order->check.atol == 0, item.exact);
    for (const Buffer& buffer : order->buffers) {
      if (buffer.role != BufferRole::kInput) continue;
      EXPECT_EQ(buffer.fill.kind, item.exact ? FillKind::kIntegers : FillKind::kNormal);
      if (item.exact) {
        EXPECT_EQ(buffer.fill, *operation->exact);
      }
    }
  }
  for (const char* m : {"256", "100"}) {
    const int exact = seen[{m, true}], all = exact + seen[{m, false}];
    EXPECT_GT(exact, all / 3) << m << ": " << all;
    EXPECT_LT(exact, 2 * all / 3) << m << ": " << all;
  }
  // A kernel at two shapes that follow each other is seen both ways.
  std::map<std::string, std::set<bool>> kinds;
  std::map<std::string, int> shapes;
  for (const AuditItem& item : plan->items) {
    kinds[item.Kernel()].insert(item.exact);
    ++shapes[item.Kernel()];
  }
  for (const auto& [kernel, count] : shapes) {
    EXPECT_EQ(kinds[kernel].size(), count > 1 ? 2U : 1U) << kernel;
  }
}

TEST(AuditOrder, KeepsAnOperationsOwnFillsWhereItHasNoExactIntegers) {
  const AuditPlan plan = PlanOf(AtN(64));
  for (const AuditItem& item : plan.items) EXPECT_FALSE(item.exact);
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

TEST(AuditErrands, AreThePlansItemsForWorkersOfItsBackend) {
  const AuditPlan plan = PlanOf(AtN(64));
  const ErrandList list = AuditErrands(plan);
  EXPECT_EQ(list.kind, OrderKind::kAudit);
  EXPECT_EQ(list.count, plan.items.size());
  DeviceFacts device = fakes::Bench();
  EXPECT_EQ(list.why_not(device), std::nullopt);
  const Result<Order> order = list.make(3, Attempt(1), device);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(*order, *AuditOrder(plan, 3, Attempt(1)));
  device.backend = "cuda";
  EXPECT_THAT(list.why_not(device).value_or(""), HasSubstr("the audit is of backend host"));
}

TEST(JudgeAudit, PassesWhatWasComparedAndRight) {
  const AuditResult right = JudgeAudit(Answered(OutcomeKind::kMeasured, "", 64));
  EXPECT_TRUE(right.passed);
  EXPECT_EQ(right.item, 4U);
  EXPECT_EQ(right.elements, 64U);
  EXPECT_EQ(right.seconds, 1.5);
  EXPECT_EQ(right.why, "");
  const AuditResult nothing = JudgeAudit(Answered(OutcomeKind::kMeasured, "", 0));
  EXPECT_FALSE(nothing.passed);
  EXPECT_EQ(nothing.why, "nothing was compared");
  const AuditResult wrong = JudgeAudit(Answered(OutcomeKind::kWrongOutput, "C[0] is 1", 64));
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.why, "wrong_output: C[0] is 1");
}

TEST(JudgeAudit, WhatCouldNotBeAnsweredHasNotPassed) {
  ErrandResult fault = Answered(OutcomeKind::kDeviceFault, "no compiler", 0);
  fault.why = "could not be answered in 3 tries: no compiler";
  const AuditResult audited = JudgeAudit(fault);
  EXPECT_FALSE(audited.passed);
  EXPECT_EQ(audited.why, fault.why);
  ASSERT_TRUE(audited.outcome);
  EXPECT_EQ(audited.outcome->kind, OutcomeKind::kDeviceFault);
  ErrandResult unmade;
  unmade.why = "the template does not render";
  EXPECT_FALSE(JudgeAudit(unmade).passed);
  EXPECT_EQ(JudgeAudit(unmade).why, unmade.why);
}

}  // namespace
}  // namespace pawl
