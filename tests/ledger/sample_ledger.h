#pragma once
// Ledgers for tests: events as a search makes them, of realistic sizes, the same for the same seed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "schema/event.h"

namespace pawl::testing {

// SplitMix64: the same numbers everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

TrackSpec SampleSpec(const std::string& label);
Event Opened(TrackId track);
Event ProposedEvent(TrackId track, Generation generation, Numbers& numbers);
Event GrantedEvent(TrackId track, Generation generation, Attempt attempt,
                   OrderKind kind = OrderKind::kMeasure);
Event MeasuredEvent(TrackId track, Generation generation, Attempt attempt, Numbers& numbers,
                    OrderKind kind = OrderKind::kMeasure);
Event DecidedEvent(TrackId track, Generation generation, Numbers& numbers, bool again = false);
// Proposed, Granted, Measured, Decided.
std::vector<Event> GenerationEvents(TrackId track, Generation generation, Numbers& numbers);

// Appends track 1 and its generations up to `last`, one append a generation.
void Fill(Ledger& ledger, std::uint32_t last, std::uint64_t seed = 1);

// All events; fails the test when they cannot be read.
std::vector<Event> ReadAll(const Ledger& ledger);

// Opens, failing the test with the error.
std::unique_ptr<Ledger> OpenOrDie(const std::string& folder,
                                  Ledger::Mode mode = Ledger::Mode::kWrite,
                                  Ledger::Options options = {});
// The problem that a full read finds; empty: none.
std::string Problem(const Ledger& ledger);

}  // namespace pawl::testing
