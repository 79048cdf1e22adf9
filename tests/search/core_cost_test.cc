// What a generation costs the coordinator must not grow with the length of the search.

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>

#include "coordinator/search/core.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using fakes::CopyKnobs;
using fakes::CopySpec;

double CpuMs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// CPU time of one generation (a report to the next grant and its hints) after `tried`
// configurations.
double GenerationMs(std::uint64_t tried) {
  const TrackSpec spec = CopySpec();
  const auto rule = [](const TrackState& track, const Space&) -> std::optional<Proposal> {
    return fakes::ChangeOf(track.incumbent, "unroll",
                           std::int64_t{track.last.value % 2 == 0 ? 2 : 4});
  };
  Track track = OpenTrack(TrackId(1), TrackOpened{spec, TrackId(0)}, Seq(1));
  for (std::uint64_t i = 0; i < tried; ++i) track.state.tried.insert(i * 0x9e3779b97f4a7c15);
  CoreOptions options;
  options.head.seq = Seq(1);
  Core core(options);
  core.AddTrack(
      {std::move(track), fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(), rule)},
      0);
  Seq head(1);
  Order order;
  const auto carry = [&](const Effects& effects) {
    head = Seq(head.value + effects.append.size());
    if (!effects.append.empty()) core.OnAppended({LedgerId(), head, Digest{}});
    for (const Outgoing& outgoing : effects.send) {
      if (const auto* grant = std::get_if<Grant>(&outgoing.message)) order = grant->order;
    }
  };
  Hello hello;
  hello.worker = WorkerId("w1");
  hello.boot = BootId("boot 1");
  hello.device = fakes::Bench();
  carry(core.OnMessage("p1", hello, 0));
  carry(core.OnMessage("p1", Ready{1}, 0));
  double least = 1e9;
  for (int batch = 0; batch < 5; ++batch) {
    double spent = 0;
    for (int i = 0; i < 10; ++i) {
      const ReportMessage message{fakes::Answer(order, WorkerId("w1"), 1)};
      const double before = CpuMs();
      const Effects effects = core.OnMessage("p1", message, 0);
      spent += CpuMs() - before;
      carry(effects);
    }
    least = std::min(least, spent / 10);
  }
  EXPECT_EQ(core.tracks().at(TrackId(1)).track.state.rejected, 50u);
  return least;
}

TEST(CoreCost, GenerationCostsTheSameHoweverMuchWasTried) {
  const double early = GenerationMs(10);
  const double late = GenerationMs(100'000);
  EXPECT_LT(late, 3 * early) << "after 100,000 tried, against " << early << " ms at the start";
}

}  // namespace
}  // namespace pawl
