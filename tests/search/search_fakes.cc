#include "tests/search/search_fakes.h"

#include <algorithm>
#include <utility>

#include "kernels/compound.h"
#include "schema/check.h"
#include "schema/codec.h"

namespace pawl::fakes {

std::map<std::string, std::string> CopyFiles() {
  const std::string knobs = R"(
[knobs]
width  = [1, 2, 4, 8]
unroll = [1, 2, 4, 8]
mode   = ["plain", "stream"]

[start]
width  = 1
unroll = 1
mode   = "plain"

[[constraint]]
need = "width * unroll <= 16"
why  = "{width * unroll} elements at once, 16 allowed"
)";
  return {
      {"operation.toml", R"(
name    = "copy"
summary = "y = x"
shape   = ["n"]
flops   = "n"
bytes   = "8 * n"

[[tensor]]
name    = "x"
role    = "input"
dtype   = "f32"
extents = ["n"]
fill    = { kind = "normal", mean = 0.0, stddev = 0.25 }

[[tensor]]
name    = "y"
role    = "output"
dtype   = "f32"
extents = ["n"]

[check]
rtol = 1e-4
atol = 1e-5
)"},
      {"reference.h",
       "inline double reference_y(const float* x, long n, long i) { return x[i]; }\n"},
      {"host/strip.toml",
       "source = \"strip.cc\"\nkernel = \"copy_strip\"\n"
       "build_options = [\"-funroll-loops\"]\n" +
           knobs},
      {"host/paper.toml", "kernel = \"copy_paper\"\n" + knobs},
      {"host/strip.cc", R"(
// pawl: knobs
constexpr int width = 1;
constexpr int unroll = 1;
enum class Mode { plain, stream };
constexpr Mode mode = Mode::plain;
// pawl: end
extern "C" void copy_strip(const float* x, float* y, long n) {
  for (long i = 0; i < n; i += width * unroll) y[i] = mode == Mode::plain ? x[i] : x[i];
}
)"},
      {"host/committed.toml", R"(
[[committed]]
source = "committed.cc"
kernel = "copy_committed"
build_options = ["-fno-tree-vectorize"]

[[rival]]
name   = "memcpy"
source = "memcpy.cc"
kernel = "copy_memcpy"
build_options = ["-lm"]
)"},
      {"host/committed.cc", "extern \"C\" void copy_committed(const float*, float*, long) {}\n"},
      {"host/memcpy.cc", "extern \"C\" void copy_memcpy(const float*, float*, long) {}\n"},
  };
}

std::shared_ptr<const Operation> CopyOperation() {
  static const std::shared_ptr<const Operation> operation = [] {
    auto loaded = LoadOperation(CopyFiles(), "copy");
    CHECK(loaded, loaded.error().message);
    return std::make_shared<const Operation>(*std::move(loaded));
  }();
  return operation;
}

std::map<std::string, std::string> TwoWayFiles() {
  std::map<std::string, std::string> files = CopyFiles();
  files["host/whole.toml"] =
      "source = \"whole.cc\"\nkernel = \"copy_whole\"\n[knobs]\ndown = [false, true]\n"
      "[start]\ndown = false\n";
  files["host/whole.cc"] =
      "// pawl: knobs\nconstexpr bool down = false;\n// pawl: end\n"
      "extern \"C\" void copy_whole(const float* x, float* y, long n) {\n"
      "  for (long i = 0; i < n; ++i) y[down ? n - 1 - i : i] = x[down ? n - 1 - i : i];\n}\n";
  return files;
}

std::shared_ptr<const Operation> TwoWayOperation() {
  auto loaded = LoadOperation(TwoWayFiles(), "copy");
  CHECK(loaded, loaded.error().message);
  return std::make_shared<const Operation>(*std::move(loaded));
}

TrackSpec TwoWaySpec() {
  TrackSpec spec = CopySpec();
  spec.structure = "strip+whole";
  spec.start = Qualified(*TwoWayOperation()->FindStructure("host", "strip"), spec.start);
  return spec;
}

Configuration CopyKnobs(std::int64_t width, std::int64_t unroll, const std::string& mode) {
  return Configuration{{{"width", width}, {"unroll", unroll}, {"mode", mode}}};
}

TrackSpec CopySpec() {
  TrackSpec spec;
  spec.job = "unit";
  spec.label = "copy 64";
  spec.operation = "copy";
  spec.shape = {{"n", 64}};
  spec.backend = "host";
  spec.structure = "strip";
  spec.device_model = "bench";
  spec.toolchain = "g++ 12";
  spec.instrument = Instrument::kWallTime;
  spec.warmup = 3;
  spec.iterations = 7;
  spec.policy = "field_note";
  spec.proposer = "coordinate";
  spec.seed = 42;
  spec.start = CopyKnobs(1, 1, "plain");
  spec.confirm = false;
  return spec;
}

DeviceFacts Bench() {
  DeviceFacts facts;
  facts.kind = "host";
  facts.model = "bench";
  facts.toolchain = "g++ 12";
  facts.backend = "host";
  facts.instruments = {Instrument::kCpuTime, Instrument::kWallTime};
  facts.cores = 2;
  return facts;
}

std::vector<RoundPlan> PlainPolicy::Rounds(std::uint64_t, Generation, std::uint32_t, Arms arms,
                                           std::uint32_t input_sets) const {
  std::vector<RoundPlan> rounds;
  for (std::uint32_t r = 0; r < rounds_; ++r) {
    const std::uint32_t set = r % input_sets;
    rounds.push_back({true, {{arms.committed, set}, {arms.candidate, set}, {arms.incumbent, set}}});
  }
  return rounds;
}

std::variant<Decision, AskMore> PlainPolicy::Decide(const std::vector<Report>& reports) const {
  if (reports.back().outcome.kind != OutcomeKind::kMeasured) {
    return DecisionOf(reports.back().outcome);
  }
  Decision decision;
  double slowest = 0, fastest = 1e300;
  for (const Report& report : reports) {
    for (const RoundMedians& round : report.rounds) {
      slowest = std::max(slowest, round.visits[0].median_us);
      fastest = std::min(fastest, round.visits[0].median_us);
      decision.ratios.push_back(round.visits[1].median_us / round.visits[2].median_us);
    }
  }
  decision.control_drift = slowest / fastest;
  if (slowest > fastest) {
    decision.verdict = Verdict::kVoid;
    decision.reason = Reason::kControlDrift;
    return decision;
  }
  if (reports.size() < batches_) return AskMore{"another batch"};
  std::vector<double> sorted = decision.ratios;
  std::sort(sorted.begin(), sorted.end());
  decision.ratio = sorted[sorted.size() / 2];
  const bool faster = *decision.ratio < 0.99;
  decision.verdict = faster ? Verdict::kKeep : Verdict::kReject;
  decision.reason = faster ? Reason::kFaster : Reason::kNotFaster;
  return decision;
}

FunctionProposer::Rule Everything() {
  return [](const TrackState& track, const Space& space) -> std::optional<Proposal> {
    for (std::uint64_t ordinal = 0; ordinal < space.Cartesian(); ++ordinal) {
      const Configuration configuration = space.At(ordinal);
      if (track.tried.contains(configuration.Hash().Prefix64())) continue;
      Proposal proposal;
      proposal.candidate = configuration;
      for (const Setting& setting : track.incumbent.settings) {
        const KnobValue& to = *configuration.Find(setting.knob);
        if (to != setting.value)
          proposal.changes.push_back({setting.knob, setting.value, to, false});
      }
      proposal.hypothesis = "the next one";
      for (const Violation& violation : space.Validate(configuration)) {
        proposal.violations.push_back(violation.text);
      }
      return proposal;
    }
    return std::nullopt;
  };
}

Proposal ChangeOf(const Configuration& incumbent, const std::string& knob, KnobValue to) {
  Proposal proposal;
  proposal.candidate = incumbent;
  proposal.candidate.Set(knob, to);
  proposal.changes = {{knob, *incumbent.Find(knob), std::move(to), false}};
  proposal.hypothesis = "try it";
  return proposal;
}

Workshop CopyWorkshop(const TrackSpec& spec, std::unique_ptr<Policy> policy,
                      FunctionProposer::Rule rule) {
  auto workshop = MakeWorkshop(spec, CopyOperation());
  CHECK(workshop, workshop.error().message);
  workshop->policy = std::move(policy);
  workshop->proposer = std::make_unique<FunctionProposer>(std::move(rule));
  return *std::move(workshop);
}

Report Failure(const Order& order, const WorkerId& worker, OutcomeKind kind,
               std::optional<ArmRole> arm) {
  Report report;
  report.kind = order.kind;
  report.track = order.track;
  report.generation = order.generation;
  report.attempt = order.attempt;
  report.batch = order.batch;
  report.order = Sha256(EncodeOrder(order));
  report.worker = worker;
  report.outcome = {kind, arm, kind == OutcomeKind::kMeasured ? "" : "as scripted"};
  for (const Arm& entry : order.arms) report.arms.push_back(entry.role);
  report.build_seconds = 1;
  report.check_seconds = 0.5;
  report.run_seconds = 0.25;
  report.toolchain = "g++ 12";
  return report;
}

Report Answer(const Order& order, const WorkerId& worker, double ratio) {
  Report report = Failure(order, worker, OutcomeKind::kMeasured);
  const ArmRole judged =
      order.kind == OrderKind::kMeasure ? ArmRole::kCandidate : ArmRole::kIncumbent;
  for (const Arm& arm : order.arms) {
    CheckFacts check;
    check.arm = arm.role;
    check.passed = true;
    check.elements = 64;
    report.checks.push_back(check);
  }
  for (const RoundPlan& round : order.rounds) {
    if (!round.recorded) continue;
    RoundMedians medians;
    for (const VisitPlan& visit : round.visits) {
      const double us = order.arms[visit.arm].role == judged ? 100 * ratio : 100;
      medians.visits.push_back({visit.arm, visit.input_set, us, 0});
    }
    report.rounds.push_back(std::move(medians));
  }
  return report;
}

LeaseKey KeyOf(const Order& order) {
  return {order.kind, order.track, order.generation, order.attempt, order.batch};
}

LeaseKey KeyOf(const Report& report) {
  return {report.kind, report.track, report.generation, report.attempt, report.batch};
}

}  // namespace pawl::fakes
