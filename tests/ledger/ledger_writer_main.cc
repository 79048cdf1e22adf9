// Appends for ever, and says on standard output what was acknowledged: "SEQ DIGEST" a line. Tests
// kill it.
//
//   pawl_ledger_writer FOLDER SEED MAX_WAL_BYTES MOST
//
// After MOST acknowledgements (0: never) it waits to be killed.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "schema/check.h"
#include "tests/ledger/sample_ledger.h"

namespace pawl {
namespace {

std::uint64_t said = 0;

// One write, so that a line is on the pipe whole or not at all.
void Say(const LedgerHead& head) {
  const std::string line = std::to_string(head.seq.value) + " " + head.digest.Hex() + "\n";
  CHECK(write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  ++said;
}

void AppendForEver(Ledger& ledger, std::uint64_t seed, std::uint64_t most) {
  testing::Numbers numbers(seed);
  std::uint32_t last = 0;
  const Status read = ledger.Generations(TrackId(1), [&](const GenerationIndex& index) {
    last = index.generation.value;
    return false;
  });
  CHECK(read, read.error().message);
  for (;;) {
    // Mostly a few events an append, as a search makes them; sometimes many.
    const std::uint64_t generations = numbers.Below(10) == 0 ? numbers.Below(40) + 1 : 1;
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < generations; ++i) {
      for (Event& event : testing::GenerationEvents(TrackId(1), Generation(++last), numbers)) {
        events.push_back(std::move(event));
      }
    }
    if (numbers.Below(8) == 0) {
      const std::string bytes = "blob " + std::to_string(numbers.Next());
      const Status put = ledger.PutBlob(Sha256(bytes), bytes);
      CHECK(put, put.error().message);
    }
    while (!events.empty()) {
      const std::size_t some = 1 + numbers.Below(events.size());
      std::vector<Event> part(std::make_move_iterator(events.begin()),
                              std::make_move_iterator(events.begin() + static_cast<long>(some)));
      events.erase(events.begin(), events.begin() + static_cast<long>(some));
      const Result<LedgerHead> head = ledger.Append(part);
      CHECK(head, head.error().message);
      Say(*head);
      while (said == most) pause();
    }
  }
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  CHECK(argc == 5, "pawl_ledger_writer FOLDER SEED MAX_WAL_BYTES MOST");
  pawl::Ledger::Options options;
  options.max_wal_bytes = std::strtoull(argv[3], nullptr, 10);
  const auto ledger = pawl::testing::OpenOrDie(argv[1], pawl::Ledger::Mode::kWrite, options);
  const auto epoch = ledger->StartEpoch("test");
  CHECK(epoch, epoch.error().message);
  pawl::Say(ledger->head());
  pawl::AppendForEver(*ledger, std::strtoull(argv[2], nullptr, 10),
                      std::strtoull(argv[4], nullptr, 10));
  return 0;
}
