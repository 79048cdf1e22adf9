// kill -9 of a writer at random moments: what it acknowledged is there.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "coordinator/ledger/ledger.h"
#include "tests/ledger/sample_ledger.h"
#include "tests/ledger/writer_process.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using test::TempFolder;
using testing::Acked;
using testing::Numbers;
using testing::OpenOrDie;
using testing::Problem;
using testing::WriterProcess;

TEST(LedgerFault, KeepsEveryAckedEventAfterAKill) {
  constexpr int kSeeds = 60;
  constexpr int kKills = 3;
  std::size_t acked_events = 0;
  std::size_t during_opening = 0;
  std::size_t present_unacked = 0;
  std::size_t torn = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TempFolder temp;
    const std::string folder = temp / "ledger";
    Numbers numbers(static_cast<std::uint64_t>(seed));
    std::vector<Acked> acked;
    for (int round = 0; round < kKills; ++round) {
      // Small memtables, so that flushes and compactions are under way too when it dies.
      WriterProcess writer(folder, numbers.Next(), 64 << 10);
      if (numbers.Below(4) != 0) writer.WaitForAcks(1 + numbers.Below(60));
      writer.ReadFor(static_cast<std::int64_t>(numbers.Below(3'000)));
      const std::vector<Acked> more = writer.Kill();
      if (more.empty()) ++during_opening;
      acked.insert(acked.end(), more.begin(), more.end());
    }
    acked_events += acked.size();
    const auto check = [&](const Ledger& ledger) {
      for (const Acked& event : acked) {
        ASSERT_TRUE(ledger.Holds({ledger.id(), event.seq, event.digest})) << event.seq.value;
      }
      EXPECT_EQ(Problem(ledger), "");
    };
    if (!acked.empty()) check(*OpenOrDie(folder, Ledger::Mode::kRead));
    const std::unique_ptr<Ledger> ledger = OpenOrDie(folder);
    check(*ledger);
    if (!acked.empty()) present_unacked += ledger->head().seq.value - acked.back().seq.value;
    for (const Event& event : testing::ReadAll(*ledger)) {
      torn += std::holds_alternative<TailTorn>(event.body) ? 1 : 0;
    }
  }
  std::printf(
      "%d kills, %zu of them while it opened; %zu acknowledgements, all there; "
      "%zu events present that were not acknowledged; %zu torn tails\n",
      kSeeds * kKills, during_opening, acked_events, present_unacked, torn);
  EXPECT_GT(acked_events, 1'000u);
}

}  // namespace
}  // namespace pawl
