// Figures of a large ledger, printed one a line. Not a test.
//
//   pawl_ledger_bench [--generations N] [--folder F] [--keep]
//
// Builds a ledger of N generations (1,000,000) of four events each with realistic sizes, 250
// generations an append, a snapshot at its end; then measures a fresh opening as `pawl run` and
// `pawl log` do it, and appends of 1, 10, 100 and 1000 events a sync.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "schema/check.h"
#include "tests/ledger/sample_ledger.h"

namespace pawl {
namespace {

using testing::Numbers;
using testing::OpenOrDie;

constexpr TrackId kTrack(1);

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// VmRSS or VmHWM of this process, MB.
double Memory(const char* field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + std::strlen(field) + 1) / 1024;
  }
  return 0;
}

double FolderBytes(const std::string& folder) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

void Append(Ledger& ledger, std::vector<Event>& events) {
  const Result<LedgerHead> head = ledger.Append(events);
  CHECK(head, head.error().message);
  events.clear();
}

void Build(const std::string& folder, std::uint32_t generations) {
  const std::unique_ptr<Ledger> ledger = OpenOrDie(folder);
  Numbers numbers(1);
  std::vector<Event> events = {testing::Opened(kTrack)};
  const double start = Now();
  for (std::uint32_t number = 1; number <= generations; ++number) {
    for (Event& event : testing::GenerationEvents(kTrack, Generation(number), numbers)) {
      events.push_back(std::move(event));
    }
    if (number % 250 == 0 || number == generations) Append(*ledger, events);
  }
  const double seconds = Now() - start;
  Snapshot snapshot;
  snapshot.seq = ledger->head().seq;
  snapshot.ledger = ledger->id();
  TrackState state;
  state.id = kTrack;
  state.spec = testing::SampleSpec("track 1");
  state.last = Generation(generations);
  state.settled = snapshot.seq;
  for (std::uint32_t number = 0; number < generations; ++number) state.tried.insert(numbers.Next());
  snapshot.tracks.push_back(std::move(state));
  const Status put = ledger->PutSnapshot(snapshot);
  CHECK(put, put.error().message);
  std::printf("built: %u generations, %llu events in %.0f s, %.0f events/s, events made included\n",
              generations, static_cast<unsigned long long>(ledger->head().seq.value), seconds,
              static_cast<double>(ledger->head().seq.value) / seconds);
}

// In a process of its own, so that its memory is its own: re-executed with --open.
void Open(const std::string& folder, Ledger::Mode mode) {
  const double start = Now();
  const std::unique_ptr<Ledger> ledger = OpenOrDie(folder, mode);
  const double opened = Now();
  const Result<std::optional<Snapshot>> snapshot = ledger->LatestSnapshot();
  CHECK(snapshot && *snapshot);
  std::uint64_t after = 0;
  const Status scanned = ledger->Scan((*snapshot)->seq.Next(), [&](const Event&) {
    ++after;
    return true;
  });
  CHECK(scanned, scanned.error().message);
  std::printf("%s: opened in %.3f s, from its latest snapshot in %.3f s (%llu events after it)\n",
              mode == Ledger::Mode::kWrite ? "run" : "status", opened - start, Now() - start,
              static_cast<unsigned long long>(after));
  std::printf("  resident %.0f MB, at most %.0f MB\n", Memory("VmRSS"), Memory("VmHWM"));
}

void Newest(const std::string& folder) {
  const double start = Now();
  const std::unique_ptr<Ledger> ledger = OpenOrDie(folder, Ledger::Mode::kRead);
  std::size_t events = 0;
  int shown = 0;
  const Status read = ledger->Generations(kTrack, [&](const GenerationIndex& index) {
    for (const Seq seq : {index.proposed, index.measured.at(0), index.decided}) {
      const Result<Event> event = ledger->At(seq);
      CHECK(event, event.error().message);
      ++events;
    }
    return ++shown < 20;
  });
  CHECK(read, read.error().message);
  std::printf("newest %d generations: %zu events in %.3f s, opening included; resident %.0f MB\n",
              shown, events, Now() - start, Memory("VmRSS"));
}

void Verify(const std::string& folder) {
  const double start = Now();
  const std::unique_ptr<Ledger> ledger = OpenOrDie(folder, Ledger::Mode::kRead);
  const std::string problem = testing::Problem(*ledger);
  CHECK(problem.empty(), problem);
  std::printf("full read: %.1f s; resident %.0f MB\n", Now() - start, Memory("VmHWM"));
}

// In a ledger of its own, so that a kept large one can be read by every command.
void Rates(const std::string& folder) {
  const std::string own = folder + ".rates";
  std::filesystem::remove_all(own);
  const std::unique_ptr<Ledger> ledger = OpenOrDie(own);
  std::vector<Event> opened = {testing::Opened(kTrack)};
  Append(*ledger, opened);
  Numbers numbers(2);
  std::uint32_t last = 0;
  for (const std::size_t batch : {1, 10, 100, 1000}) {
    std::vector<std::vector<Event>> appends;
    const std::size_t events_wanted = std::max<std::size_t>(2'000, 20 * batch);
    std::vector<Event> events;
    for (std::size_t made = 0; made < events_wanted;) {
      for (Event& event : testing::GenerationEvents(kTrack, Generation(++last), numbers)) {
        events.push_back(std::move(event));
        ++made;
        if (events.size() == batch) appends.push_back(std::exchange(events, {}));
      }
    }
    const double start = Now();
    for (std::vector<Event>& append : appends) Append(*ledger, append);
    const double seconds = Now() - start;
    std::printf("append %zu a sync: %.0f events/s, %.0f us a sync\n", batch,
                static_cast<double>(appends.size() * batch) / seconds,
                1e6 * seconds / static_cast<double>(appends.size()));
  }
  std::filesystem::remove_all(own);
}

int Main(int argc, char** argv) {
  std::uint32_t generations = 1'000'000;
  std::string folder = "/tmp/pawl_ledger_bench." + std::to_string(getpid());
  std::string step;
  bool keep = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--keep") keep = true;
    if (i + 1 == argc) continue;
    if (option == "--generations") {
      generations = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    }
    if (option == "--folder") folder = argv[i + 1];
    if (option == "--step") step = argv[i + 1];
  }
  if (step == "run") Open(folder, Ledger::Mode::kWrite);
  if (step == "status") Open(folder, Ledger::Mode::kRead);
  if (step == "newest") Newest(folder);
  if (step == "verify") Verify(folder);
  if (step == "rates") Rates(folder);
  if (!step.empty()) return 0;

  if (!std::filesystem::exists(folder)) Build(folder, generations);
  std::printf("on disk: %.2f GB\n", FolderBytes(folder) / 1e9);
  std::fflush(stdout);
  for (const char* next : {"run", "status", "newest", "verify", "rates"}) {
    const std::string command = std::string(argv[0]) + " --folder '" + folder + "' --step " + next;
    CHECK(std::system(command.c_str()) == 0, command);
  }
  if (!keep) std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) { return pawl::Main(argc, argv); }
