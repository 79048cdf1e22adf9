#include "tests/support/samples.h"

#include <limits>

namespace pawl::test {
namespace {

Buffer SampleBuffer(std::string name, BufferRole role, std::vector<std::int64_t> extents,
                    Fill fill) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = DType::kF32;
  buffer.role = role;
  buffer.extents = std::move(extents);
  buffer.fill = fill;
  return buffer;
}

SourceText SampleSource(std::string name, std::string text) {
  return {std::move(name), Sha256(text), text, {}};
}

Launch SampleLaunch(std::string kernel) {
  Launch launch;
  launch.kernel = std::move(kernel);
  launch.grid = {8, 4, 2};
  launch.block = {128, 3, 1};
  launch.dynamic_shared_bytes = 6144;
  for (std::uint32_t i = 0; i < 3; ++i) launch.arguments.push_back({Argument::Kind::kBuffer, i});
  for (std::uint32_t i = 0; i < 3; ++i) launch.arguments.push_back({Argument::Kind::kScalar, i});
  return launch;
}

LedgerId SampleLedger() { return LedgerId("0123456789abcdef0123456789abcdef"); }

LedgerHead SampleHead() { return {SampleLedger(), Seq(4711), Sha256("head")}; }

LeaseKey SampleKey() { return {OrderKind::kConfirm, TrackId(3), Generation(7), Attempt(9), 2}; }

DeviceFacts SampleDevice() {
  DeviceFacts device;
  device.kind = "host";
  device.model = "AMD EPYC 7763 (2 cores)";
  device.uuid = "GPU-5f0c2b1e";
  device.toolchain = "g++ (Debian 12.2.0-14) 12.2.0";
  device.backend = "host";
  device.instruments = {Instrument::kWallTime, Instrument::kCpuTime};
  device.cores = 2;
  device.peak_gflops = 153.6;
  device.peak_gbytes_per_s = 20.5;
  device.needs_source = false;
  return device;
}

}  // namespace

Configuration SampleConfiguration() {
  Configuration configuration;
  configuration.settings = {{"pack", true},
                            {"k_step", std::int64_t{32}},
                            {"staging", std::string("guarded")},
                            {"block", Tuple{64, 128}}};
  return configuration;
}

Order SampleOrder() {
  Order order;
  order.kind = OrderKind::kConfirm;
  order.track = TrackId(3);
  order.generation = Generation(7);
  order.attempt = Attempt(9);
  order.batch = 2;
  order.backend = "host";
  order.operation = "matmul";
  order.device_model = "AMD EPYC 7763 (2 cores)";
  order.buffers = {SampleBuffer("A", BufferRole::kInput, {64, 32}, {FillKind::kUniform, -0.5, 0.5}),
                   SampleBuffer("B", BufferRole::kInput, {32, 48}, {FillKind::kIntegers, -8, 8}),
                   SampleBuffer("C", BufferRole::kOutput, {64, 48}, {FillKind::kConstant, 1.5, 0})};
  order.scalars = {{"m", 64}, {"n", 48}, {"k", 32}};
  order.sources = {SampleSource("committed.cc", "void matmul_committed() {}\n"),
                   SampleSource("blocked.3f2a91c07d11.cc",
                                "constexpr int k_step = 32;\nvoid matmul_blocked() {}\n"),
                   SampleSource("reference.h", "double reference_C();\n")};
  order.sources[0].build_options = {"-lopenblas"};
  order.build_options = {"-O3", "-march=native"};
  Arm committed;
  committed.role = ArmRole::kCommitted;
  committed.label = "committed";
  committed.source = 0;
  committed.launches = {SampleLaunch("matmul_committed")};
  Arm candidate;
  candidate.role = ArmRole::kCandidate;
  candidate.label = "candidate";
  candidate.configuration = SampleConfiguration();
  candidate.source = 1;
  candidate.launches = {SampleLaunch("matmul_blocked")};
  Arm rival;
  rival.role = ArmRole::kRival;
  rival.label = "recorded elsewhere";
  order.arms = {committed, candidate, rival};
  order.check = {2, 1e-4, 1e-5, 0xfeedfacecafebeef};
  order.input_seeds = {11, 0xffffffffffffffff};
  order.timing = {Instrument::kCpuTime, 3, 40, true};
  order.rounds = {{false, {{0, 0}, {1, 1}}}, {true, {{0, 1}, {1, 0}, {1, 1}, {0, 0}}}};
  order.deadlines = {90'000, 45'000, 30'000};
  order.fresh_process = true;
  return order;
}

Order SampleAudit() {
  Order order = SampleOrder();
  order.kind = OrderKind::kAudit;
  order.backend = "cuda";
  order.device_model = "emulated sm_89";
  order.headers = {{"pawl_device.h", Sha256("#pragma once\n"), "#pragma once\n"},
                   {"tile.h", Sha256("struct Tile;\n"), "struct Tile;\n"}};
  Arm candidate = order.arms[1];
  candidate.scratch = {{"partial", DType::kF32, 12'288}, {"arrived", DType::kU32, 32}};
  Launch memset;
  memset.kind = LaunchKind::kMemset;
  memset.byte = 0xff;
  memset.arguments = {{Argument::Kind::kScratch, 1}};
  Launch split = SampleLaunch("matmul_split");
  split.cluster = {4, 2, 1};
  split.arguments.push_back({Argument::Kind::kScratch, 0});
  split.arguments.push_back({Argument::Kind::kScratch, 1});
  candidate.launches = {memset, split, SampleLaunch("matmul_reduce")};
  order.arms = {candidate};
  order.rounds.clear();
  return order;
}

Report SampleReport() {
  Report report;
  report.kind = OrderKind::kConfirm;
  report.track = TrackId(3);
  report.generation = Generation(7);
  report.attempt = Attempt(9);
  report.batch = 2;
  report.order = Sha256("order");
  report.worker = WorkerId("node7/host/0");
  report.outcome = {OutcomeKind::kWrongOutput, ArmRole::kCandidate,
                    "C[3,17] is 1.5, reference 2.25, allowed 0.000325; 12 of 4096 wrong"};
  report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kRival};
  BuildFacts build;
  build.arm = ArmRole::kCandidate;
  build.source = Sha256("source");
  build.object = Sha256("object");
  build.compiler = "g++ (Debian 12.2.0-14) 12.2.0";
  build.log = "blocked.cc:1: warning: \xe2\x80\x98x\xe2\x80\x99 is unused\n\t1 | int x;\n";
  build.cached = true;
  build.seconds = 1.25;
  build.registers = 40;
  build.shared_bytes = 16'384;
  build.spill_bytes = 8;
  report.builds = {build};
  report.checks = {{ArmRole::kCommitted, true, 4096, 0, 3.5e-6, ""},
                   {ArmRole::kCandidate, false, 4096, 12, std::numeric_limits<double>::infinity(),
                    "C[3,17] is nan"}};
  report.rounds = {{{{0, 1, 812.5, 2450.0}, {1, 0, 640.25, 2449.5}}}};
  report.build_seconds = 1.5;
  report.check_seconds = 0.5;
  report.run_seconds = 0.125;
  report.evidence = Sha256("evidence");
  report.toolchain = "g++ 12.2.0";
  report.data_exhausted = true;
  return report;
}

Report SampleGpuReport() {
  Report report = SampleReport();
  report.conditions = {0x44, 3201, 61, 412.5, 1};
  report.captures = {{1, Instrument::kKernelTime, 638.5}};
  return report;
}

TrackSpec SampleSpec() {
  TrackSpec spec;
  spec.job = "matmul";
  spec.label = "matmul 64x48x32 f32 host";
  spec.operation = "matmul";
  spec.shape = {{"m", 64}, {"n", 48}, {"k", 32}};
  spec.dtype = DType::kF64;
  spec.backend = "host";
  spec.structure = "blocked";
  spec.device_model = "AMD EPYC 7763 (2 cores)";
  spec.toolchain = "g++ 12.2.0";
  spec.instrument = Instrument::kCpuTime;
  spec.warmup = 3;
  spec.iterations = 40;
  spec.policy = "field_note";
  spec.policy_parameters = {{"min_gain", 0.01}, {"order", std::string("mirrored")}};
  spec.proposer = "coordinate";
  spec.proposer_parameters = {{"freeze_after", 2.0}};
  spec.seed = 0x9e3779b97f4a7c15;
  spec.budget = {20, 2.5, 8};
  spec.start = SampleConfiguration();
  spec.package = {{"host/blocked.cc", Sha256("blocked")}, {"operation.toml", Sha256("operation")}};
  spec.confirm = false;
  spec.peak_gflops = 153.6;
  spec.peak_gbytes_per_s = 20.5;
  spec.deadlines = {90'000, 45'000, 30'000};
  return spec;
}

TrackState SampleTrack() {
  TrackState track;
  track.id = TrackId(3);
  track.spec = SampleSpec();
  track.forked_from = TrackId(2);
  track.status = TrackStatus::kPaused;
  track.why = "unstable: ten voids in a row";
  track.incumbent = SampleConfiguration();
  track.incumbent_since = Generation(4);
  track.last = Generation(19);
  track.kept = 3;
  track.rejected = 5;
  track.voided = 11;
  track.stale = 6;
  track.voids_in_row = 10;
  track.gain = 0.6875;
  track.worker_seconds = 77.5;
  track.confirmations = 1;
  track.knobs = {{"pack", 0.2222, 4, 1, 2, {true, std::string("guarded"), Tuple{1, 2}}},
                 {"k_step", -0.125, 7, 0, 3, {std::int64_t{-5}}}};
  track.tried = {0, 42, 0xffffffffffffffff};
  track.last_ordinal = 1234;
  track.settled = Seq(99);
  return track;
}

Snapshot SampleSnapshot() {
  Snapshot snapshot;
  snapshot.seq = Seq(4711);
  snapshot.epoch = Epoch(5);
  snapshot.ledger = SampleLedger();
  TrackState other;
  other.id = TrackId(8);
  snapshot.tracks = {SampleTrack(), other};
  return snapshot;
}

std::vector<NamedMessage> SampleMessages() {
  Hello hello;
  hello.worker = WorkerId("node7/host/0");
  hello.boot = BootId("b007");
  hello.version = "0.1.0";
  hello.host = "node7";
  hello.device = SampleDevice();
  hello.held = {SampleKey(), {OrderKind::kMeasure, TrackId(1), Generation(1), Attempt(1), 0}};
  hello.head = SampleHead();
  const Order order = SampleOrder();
  Prepare prepare;
  prepare.backend = "host";
  prepare.sources = {order.sources[0], order.sources[1]};
  prepare.build_options = order.build_options;
  prepare.launches = {SampleLaunch("matmul_committed"), SampleLaunch("matmul_blocked")};
  prepare.buffers = order.buffers;
  prepare.scalars = order.scalars;
  return {{"hello", hello},
          {"welcome", Welcome{SampleLedger(), Epoch(5), 2'500, 12'500}},
          {"refuse", Refuse{RefuseCode::kLedgerBehind, "the ledger ends at 17"}},
          {"ready", Ready{2}},
          {"grant", Grant{order, Epoch(5), 75'000}},
          {"prepare", prepare},
          {"beat", Beat{{SampleKey()}, 321, true}},
          {"beat_ack", BeatAck{{SampleKey()}}},
          {"report", ReportMessage{SampleReport()}},
          {"ack", Ack{SampleKey(), Sha256("report"), SampleHead()}},
          {"reject", RejectMessage{SampleKey(), Sha256("report"), RejectCode::kConflict,
                                   "another was taken", true}},
          {"cancel", Cancel{SampleKey()}},
          {"drain", Drain{}},
          {"release", Release{SampleKey(), "preempted"}},
          {"bye", Bye{"drained"}},
          {"ask", Ask{AskVerb::kSubmit, "matmul", "jobs/matmul.toml", "name = \"matmul\"\n", -3,
                      "ann@boss", true}},
          {"reply", Reply{ReplyCode::kRefused, false, "a line\nand another\n"}}};
}

std::vector<NamedEvent> SampleEvents() {
  Proposed proposed;
  proposed.generation = Generation(7);
  proposed.candidate = SampleConfiguration();
  proposed.incumbent = SampleConfiguration();
  proposed.candidate.Set("k_step", std::int64_t{64});
  proposed.changes = {{"k_step", std::int64_t{32}, std::int64_t{64}, false},
                      {"staging", std::string("exact"), std::string("guarded"), true}};
  proposed.hypothesis = "k_step 32 -> 64; first attempt, prior order 2 of 4";
  proposed.violations = {"shared memory: 67584 B needed, 46080 B allowed"};
  proposed.candidate_source = Sha256("candidate");
  proposed.incumbent_source = Sha256("incumbent");
  Granted granted;
  granted.kind = OrderKind::kConfirm;
  granted.generation = Generation(7);
  granted.attempt = Attempt(9);
  granted.batch = 2;
  granted.worker = WorkerId("node7/host/0");
  granted.boot = BootId("b007");
  granted.order = Sha256("order");
  granted.lease_ms = 60'000;
  granted.incumbent = SampleConfiguration();
  Decision decision;
  decision.verdict = Verdict::kKeep;
  decision.reason = Reason::kFaster;
  decision.detail = "ratio 0.9121 below 0.99";
  decision.ratio = 0.9121;
  decision.ratios = {0.9121, 0.9, 0.92};
  decision.control_drift = 1.004;
  decision.threshold = 0.99;
  decision.before_us = 702.5;
  decision.after_us = 640.75;
  Decision unmeasured;
  unmeasured.verdict = Verdict::kVoid;
  unmeasured.reason = Reason::kNoData;
  unmeasured.detail = "not recorded";
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = SampleConfiguration();
  confirmed.valid = true;
  confirmed.detail = "9 of 10 rounds";
  confirmed.gain = 0.31;
  confirmed.mean = 0.3;
  confirmed.min = -0.02;
  confirmed.max = 0.33;
  confirmed.stddev = 0.01;
  confirmed.rounds = 10;
  confirmed.favouring = 9;
  confirmed.incumbent_us = 560.5;
  confirmed.committed_us = 812.25;
  confirmed.beside = {{"start", 702.5, 0.798}, {"openblas", 410.25, 1.366}};
  const std::vector<std::pair<std::string, EventBody>> bodies = {
      {"ledger_created", LedgerCreated{SampleLedger(), 2}},
      {"epoch_started", EpochStarted{Epoch(5), "0.1.0"}},
      {"tail_torn", TailTorn{Seq(4700), "37 bytes of record 4701 cut"}},
      {"track_opened", TrackOpened{SampleSpec(), TrackId(2)}},
      {"proposed", proposed},
      {"granted", granted},
      {"attempt_lost",
       AttemptLost{OrderKind::kConfirm, Generation(7), Attempt(9), "released: preempted"}},
      {"measured", Measured{SampleReport(), Sha256("report")}},
      {"report_conflict", ReportConflict{Generation(7), Attempt(9), WorkerId("node7/host/0"),
                                         Sha256("kept"), Sha256("refused")}},
      {"decided", Decided{Generation(7), decision, false}},
      {"decided_again", Decided{Generation(7), unmeasured, true}},
      {"confirmed", confirmed},
      {"track_paused", TrackPaused{"unstable: ten voids in a row"}},
      {"track_resumed", TrackResumed{{30, 7.5, 12}}},
      {"track_closed", TrackClosed{"8 rejections in a row"}},
      {"job_submitted",
       JobSubmitted{"matmul", "jobs/matmul.toml", "name = \"matmul\"\n", 7, "ann@boss"}},
      {"job_moved", JobMoved{"matmul", JobStatus::kPaused, "ann@boss"}}};
  std::vector<NamedEvent> events;
  for (const auto& [name, body] : bodies) {
    const std::uint64_t number = events.size() + 1;
    events.push_back({name,
                      {Seq(number), 1'700'000'000'000 + static_cast<std::int64_t>(number),
                       TrackId(number < 4 ? 0 : 3), body}});
  }
  return events;
}

}  // namespace pawl::test
