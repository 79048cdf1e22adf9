// A search over two structures through core: by planted times, undisturbed and killed at every
// generation. CoreBench holds core's tracks against the ledger's fold after every call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::CoreBench;
using fakes::HelloOf;
using testing::Contains;
using testing::HasSubstr;

using Cost = std::function<double(const Configuration&)>;

bool IsWhole(const Configuration& at) {
  return *at.Find("structure") == KnobValue(std::string("whole"));
}

double WholeWins(const Configuration& at) {
  if (IsWhole(at)) return *at.Find("whole.down") == KnobValue(true) ? 40 : 50;
  return 100 - static_cast<double>(std::get<std::int64_t>(*at.Find("strip.width")));
}

// Its start is slower than strip's.
double StripWins(const Configuration& at) {
  return IsWhole(at) ? 2 * WholeWins(at) + 20 : WholeWins(at);
}

struct Told {
  std::vector<std::string> events;  // proposals and decisions
  std::string incumbent;
  std::string why;
};

Told Search(const std::string& proposer, const Cost& cost, bool killed) {
  CoreBench bench;
  TrackSpec spec = fakes::TwoWaySpec();
  spec.proposer = proposer;
  bench.Open(spec, [](const TrackSpec& opened) {
    auto workshop = MakeWorkshop(opened, fakes::TwoWayOperation());
    EXPECT_TRUE(workshop) << workshop.error().message;
    workshop->policy = std::make_unique<fakes::PlainPolicy>();
    return *std::move(workshop);
  });
  bench.Join("w1");
  while (bench.track().state.status == TrackStatus::kSearching && bench.log().size() < 500) {
    const Order order = bench.granted();
    const double ratio = cost(order.arms[1].configuration) / cost(order.arms[2].configuration);
    if (killed) {
      bench.Restart();
      bench.Send("w1", HelloOf("w1"));
    }
    bench.Report("w1", fakes::Answer(order, WorkerId("w1"), ratio));
    if (killed) bench.Send("w1", Ready{1});
  }
  Told told{{}, bench.track().state.incumbent.Text(), bench.track().state.why};
  for (const Event& event : bench.log()) {
    if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
      told.events.push_back(proposed->candidate.Text() + ": " + proposed->hypothesis);
    } else if (const auto* decided = std::get_if<Decided>(&event.body)) {
      told.events.emplace_back(Name(decided->decision.verdict));
    }
  }
  return told;
}

TEST(CoreStructures, MoveToTheOneWhoseStartIsFasterAndGoOnInIt) {
  const Told told = Search("coordinate", WholeWins, false);
  EXPECT_THAT(told.events,
              testing::ElementsAre(
                  "structure=whole whole.down=false: structure strip -> whole; first attempt, "
                  "prior order 1 of 4",
                  "keep",
                  "structure=whole whole.down=true: whole.down false -> true; first attempt, prior "
                  "order 2 of 2",
                  "keep"));
  EXPECT_EQ(told.incumbent, "structure=whole whole.down=true");
  EXPECT_EQ(told.why, "nothing left to propose");
}

TEST(CoreStructures, StayWhereTheOthersStartIsSlower) {
  const Told told = Search("coordinate", StripWins, false);
  EXPECT_EQ(told.events[1], "reject");
  EXPECT_EQ(told.incumbent, "structure=strip strip.width=8 strip.unroll=1 strip.mode=plain");
}

TEST(CoreStructures, EndAtTheBestOfAllWhereEveryKernelIsTried) {
  for (const char* proposer : {"random", "exhaustive"}) {
    for (const Cost& cost : {Cost(WholeWins), Cost(StripWins)}) {
      const Told told = Search(proposer, cost, false);
      EXPECT_THAT(told.events, Contains(HasSubstr("structure=whole whole.down=true")));
      EXPECT_THAT(
          told.incumbent,
          cost(Configuration{{{"structure", std::string("whole")}, {"whole.down", true}}}) < 90
              ? HasSubstr("whole.down=true")
              : HasSubstr("strip.width=8"));
    }
  }
}

TEST(CoreStructures, AreSearchedTheSameThoughCoreIsKilledAtEveryGeneration) {
  for (const char* proposer : {"coordinate", "random", "exhaustive"}) {
    for (const Cost& cost : {Cost(WholeWins), Cost(StripWins)}) {
      const Told undisturbed = Search(proposer, cost, false);
      const Told killed = Search(proposer, cost, true);
      EXPECT_EQ(killed.events, undisturbed.events) << proposer;
      EXPECT_EQ(killed.incumbent, undisturbed.incumbent);
    }
  }
}

}  // namespace
}  // namespace pawl
