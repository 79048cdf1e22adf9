// For any events, however they are cut into appends and wherever the ledger is closed in between.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <rocksdb/env.h>

#include <memory>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "tests/ledger/sample_ledger.h"

namespace pawl {
namespace {

using testing::Numbers;

// What a search could log: attempts lost and granted again, late reports, voids measured again,
// confirmations.
std::vector<Event> RandomEvents(std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<Event> events;
  for (std::uint32_t track = 1; track <= 2; ++track)
    events.push_back(testing::Opened(TrackId(track)));
  std::vector<std::uint32_t> last(3, 0);
  for (std::uint64_t step = numbers.Below(6) + 1; step > 0; --step) {
    const TrackId track(static_cast<std::uint32_t>(numbers.Below(2)) + 1);
    const Generation generation(++last[track.value]);
    events.push_back(testing::ProposedEvent(track, generation, numbers));
    std::uint32_t attempt = 0;
    for (std::uint64_t again = numbers.Below(3); again > 0; --again) {
      events.push_back(testing::GrantedEvent(track, generation, Attempt(++attempt)));
      if (numbers.Below(2) == 0) continue;
      events.push_back(testing::MeasuredEvent(track, generation, Attempt(attempt), numbers));
      events.push_back(testing::DecidedEvent(track, generation, numbers, /*again=*/true));
    }
    events.push_back(testing::GrantedEvent(track, generation, Attempt(++attempt)));
    events.push_back(testing::MeasuredEvent(track, generation, Attempt(attempt), numbers));
    events.push_back(testing::DecidedEvent(track, generation, numbers));
    if (numbers.Below(3) == 0) {
      events.push_back(testing::GrantedEvent(track, generation, Attempt(1), OrderKind::kConfirm));
      events.push_back(
          testing::MeasuredEvent(track, generation, Attempt(1), numbers, OrderKind::kConfirm));
    }
  }
  return events;
}

RC_GTEST_PROP(LedgerProperty, AnyCutIntoAppendsReadsBackInOrder, (std::uint64_t seed)) {
  const std::vector<Event> events = RandomEvents(seed);
  const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  Ledger::Options options;
  options.env = env.get();
  options.unix_ms = [] { return std::int64_t{1}; };
  Numbers numbers(~seed);

  std::unique_ptr<Ledger> ledger = testing::OpenOrDie("/ledger", Ledger::Mode::kWrite, options);
  std::vector<LedgerHead> heads = {ledger->head()};
  std::vector<Event> given;
  for (std::size_t at = 0; at < events.size();) {
    const std::size_t some = std::min<std::size_t>(1 + numbers.Below(6), events.size() - at);
    std::vector<Event> part(events.begin() + static_cast<long>(at),
                            events.begin() + static_cast<long>(at + some));
    const Result<LedgerHead> head = ledger->Append(part);
    RC_ASSERT(head.has_value());
    RC_ASSERT(head->seq.value == heads.back().seq.value + some);
    heads.push_back(*head);
    given.insert(given.end(), part.begin(), part.end());
    at += some;
    if (numbers.Below(8) == 0) {
      ledger.reset();
      ledger = testing::OpenOrDie("/ledger", Ledger::Mode::kWrite, options);
      RC_ASSERT(ledger->head() == heads.back());
    }
  }
  std::vector<Event> read = testing::ReadAll(*ledger);
  read.erase(read.begin());  // LedgerCreated
  RC_ASSERT(read == given);
  for (const LedgerHead& head : heads) RC_ASSERT(ledger->Holds(head));
  RC_ASSERT(testing::Problem(*ledger) == "");

  // The indexes say what a reading of the log says.
  for (const Event& event : given) {
    if (const auto* measured = std::get_if<Measured>(&event.body)) {
      const Report& report = measured->report;
      RC_ASSERT(ledger->Seen(event.track, report.kind, report.generation, report.attempt).value() ==
                measured->digest);
    }
    if (const auto* decided = std::get_if<Decided>(&event.body)) {
      const Result<std::optional<GenerationIndex>> index =
          ledger->FindGeneration(event.track, decided->generation);
      RC_ASSERT(index.has_value() && index->has_value());
      RC_ASSERT(((*index)->decided == event.seq) == !decided->again);
    }
  }
}

}  // namespace
}  // namespace pawl
