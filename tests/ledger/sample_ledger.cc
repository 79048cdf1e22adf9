#include "tests/ledger/sample_ledger.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "schema/check.h"
#include "schema/codec.h"

namespace pawl::testing {
namespace {

Digest Named(const std::string& name) { return Sha256(name); }

Configuration SampleConfiguration(Numbers& numbers) {
  Configuration configuration;
  const std::int64_t tile = 16 << numbers.Below(4);
  configuration.settings = {{"block", Tuple{tile, tile}},
                            {"k_step", std::int64_t{8} << numbers.Below(4)},
                            {"vector", std::int64_t{1} << numbers.Below(3)},
                            {"pipeline", numbers.Below(2) == 1},
                            {"edges", std::string(numbers.Below(2) ? "guarded" : "padded")},
                            {"unroll", std::int64_t{4}}};
  return configuration;
}

Decision SampleDecision(Numbers& numbers) {
  Decision decision;
  for (int round = 0; round < 12; ++round) {
    decision.ratios.push_back(0.95 + 0.1 * numbers.Unit());
  }
  decision.ratio = 1.004;
  decision.control_drift = 1.01;
  decision.threshold = 0.99;
  decision.before_us = 812.5;
  decision.after_us = 815.75;
  decision.verdict = Verdict::kReject;
  decision.reason = Reason::kNotFaster;
  decision.detail = "median ratio 1.0040, below 0.9900 wanted";
  return decision;
}

}  // namespace

std::uint64_t Numbers::Next() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

TrackSpec SampleSpec(const std::string& label) {
  TrackSpec spec;
  Numbers numbers(1);
  spec.job = "sample";
  spec.label = label;
  spec.operation = "matmul";
  spec.shape = {{"m", 512}, {"n", 512}, {"k", 512}};
  spec.backend = "host";
  spec.structure = "blocked";
  spec.device_model = "AMD EPYC (2 cores)";
  spec.toolchain = "g++ 12.2.0";
  spec.policy = "field_note";
  spec.proposer = "coordinate";
  spec.start = SampleConfiguration(numbers);
  spec.seed = 7;
  return spec;
}

Event Opened(TrackId track) {
  return Event{Seq(0), 0, track,
               TrackOpened{SampleSpec("track " + std::to_string(track.value)), {}}};
}

Event ProposedEvent(TrackId track, Generation generation, Numbers& numbers) {
  Proposed proposed;
  proposed.generation = generation;
  proposed.candidate = SampleConfiguration(numbers);
  proposed.incumbent = SampleConfiguration(numbers);
  proposed.changes = {{"pipeline", false, true, false},
                      {"unroll", std::int64_t{2}, std::int64_t{4}, true}};
  proposed.hypothesis = "pipeline false -> true; first attempt, prior order 4 of 6";
  proposed.candidate_source = Named("source " + std::to_string(numbers.Next()));
  proposed.incumbent_source = Named("source");
  return Event{Seq(0), 0, track, proposed};
}

Event GrantedEvent(TrackId track, Generation generation, Attempt attempt, OrderKind kind) {
  Granted granted;
  granted.kind = kind;
  granted.generation = generation;
  granted.attempt = attempt;
  granted.worker = WorkerId("bench-7/host/0");
  granted.boot = BootId("0123456789abcdef");
  granted.order = Named("order");
  granted.lease_ms = 60'000;
  return Event{Seq(0), 0, track, granted};
}

Event MeasuredEvent(TrackId track, Generation generation, Attempt attempt, Numbers& numbers,
                    OrderKind kind) {
  Report report;
  report.kind = kind;
  report.track = track;
  report.generation = generation;
  report.attempt = attempt;
  report.order = Named("order");
  report.worker = WorkerId("bench-7/host/0");
  report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  for (const ArmRole arm : report.arms) {
    BuildFacts build;
    build.arm = arm;
    build.source = Named("source " + std::to_string(static_cast<int>(arm)));
    build.object = Named("object " + std::to_string(numbers.Next()));
    build.compiler = "g++ (Debian 12.2.0-14) 12.2.0";
    build.seconds = 0.7;
    report.builds.push_back(build);
    CheckFacts check;
    check.arm = arm;
    check.passed = true;
    check.elements = 262'144;
    check.max_abs_error = 1.5e-5;
    report.checks.push_back(check);
  }
  for (int round = 0; round < 12; ++round) {
    RoundMedians medians;
    for (std::uint32_t arm = 0; arm < 3; ++arm) {
      medians.visits.push_back({arm, arm % 2, 800 + 40 * numbers.Unit(), 2'450});
    }
    report.rounds.push_back(medians);
  }
  report.build_seconds = 2.1;
  report.check_seconds = 0.3;
  report.run_seconds = 1.9;
  report.evidence = Named("evidence " + std::to_string(numbers.Next()));
  report.toolchain = "g++ 12.2.0";
  Measured measured;
  measured.digest = Sha256(EncodeReport(report));
  measured.report = report;
  return Event{Seq(0), 0, track, measured};
}

Event DecidedEvent(TrackId track, Generation generation, Numbers& numbers, bool again) {
  Decided decided;
  decided.generation = generation;
  decided.decision = SampleDecision(numbers);
  decided.again = again;
  return Event{Seq(0), 0, track, decided};
}

std::vector<Event> GenerationEvents(TrackId track, Generation generation, Numbers& numbers) {
  std::vector<Event> events;
  events.push_back(ProposedEvent(track, generation, numbers));
  events.push_back(GrantedEvent(track, generation, Attempt(1)));
  events.push_back(MeasuredEvent(track, generation, Attempt(1), numbers));
  events.push_back(DecidedEvent(track, generation, numbers));
  return events;
}

void Fill(Ledger& ledger, std::uint32_t last, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<Event> events = {Opened(TrackId(1))};
  for (std::uint32_t number = 1; number <= last; ++number) {
    for (Event& event : GenerationEvents(TrackId(1), Generation(number), numbers)) {
      events.push_back(std::move(event));
    }
    const Result<LedgerHead> head = ledger.Append(events);
    ASSERT_TRUE(head) << head.error().message;
    events.clear();
  }
}

std::vector<Event> ReadAll(const Ledger& ledger) {
  std::vector<Event> events;
  const Status scanned = ledger.Scan(Seq(1), [&](const Event& event) {
    events.push_back(event);
    return true;
  });
  EXPECT_TRUE(scanned) << scanned.error().message;
  return events;
}

std::unique_ptr<Ledger> OpenOrDie(const std::string& folder, Ledger::Mode mode,
                                  Ledger::Options options) {
  Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(folder, mode, std::move(options));
  CHECK(ledger, ledger.error().message);
  return *std::move(ledger);
}

std::string Problem(const Ledger& ledger) {
  const Result<ChainReport> report = ledger.VerifyChain(nullptr);
  return report ? report->problem : report.error().message;
}

}  // namespace pawl::testing
