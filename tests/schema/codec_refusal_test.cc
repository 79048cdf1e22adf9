// What decoding refuses, and how it says so: the field, what was seen, what is allowed.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "schema/codec.h"
#include "tests/support/samples.h"

namespace pawl {
namespace {

using test::SampleAudit;
using test::SampleOrder;
using test::SampleReport;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "none" : result.error().message;
}

template <typename T>
struct Refusal {
  std::function<void(T&)> spoil;
  std::string error;
};

std::string OrderErrorAfter(const std::function<void(Order&)>& spoil) {
  Order order = SampleOrder();
  spoil(order);
  return ErrorOf(DecodeOrder(EncodeOrder(order)));
}

std::string ReportErrorAfter(const std::function<void(Report&)>& spoil) {
  Report report = SampleReport();
  spoil(report);
  return ErrorOf(DecodeReport(EncodeReport(report)));
}

TEST(DecodeOrder, RefusesIndicesThatPointNowhere) {
  const std::vector<Refusal<Order>> refusals = {
      {[](Order& o) { o.arms[1].source = 3; },
       "order.arms[1].source is 3; allowed: an index into 3 sources"},
      {[](Order& o) { o.check.reference = 0xffffffff; },
       "order.check.reference is 4294967295; allowed: an index into 3 sources"},
      {[](Order& o) { o.arms[0].launches[0].arguments[2].index = 3; },
       "order.arms[0].launches[0].arguments[2] is 3; allowed: an index into 3 buffers"},
      {[](Order& o) { o.arms[0].launches[0].arguments[5].index = 4; },
       "order.arms[0].launches[0].arguments[5] is 4; allowed: an index into 3 scalars"},
      {[](Order& o) { o.rounds[1].visits[3].arm = 3; },
       "order.rounds[1].visits[3].arm is 3; allowed: an index into 3 arms"},
      {[](Order& o) { o.rounds[0].visits[0].input_set = 2; },
       "order.rounds[0].visits[0].input_set is 2; allowed: an index into 2 input seeds"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(OrderErrorAfter(spoil), error);
}

TEST(DecodeOrder, RefusesBuffersThatCannotBe) {
  const std::vector<Refusal<Order>> refusals = {
      {[](Order& o) { o.buffers[0].extents[1] = 0; },
       "order.buffers[0].extents[1] is 0; allowed: 1 to 8589934592"},
      {[](Order& o) { o.buffers[0].extents[1] = -32; },
       "order.buffers[0].extents[1] is -32; allowed: 1 to 8589934592"},
      {[](Order& o) { o.buffers[0].extents.clear(); },
       "order.buffers[0].extents is a list of 0; allowed: 1 to 8"},
      {[](Order& o) {
         o.buffers[2].extents = {1 << 20, 1 << 20};
       },
       "order.buffers[2] is too large; allowed: 2^33 elements in all buffers together"},
      {[](Order& o) { o.buffers[2].extents.assign(8, std::int64_t{1} << 33); },
       "order.buffers[2] is too large; allowed: 2^33 elements in all buffers together"},
      {[](Order& o) {
         for (Buffer& buffer : o.buffers) buffer.extents = {std::int64_t{3} << 30};
       },
       "order.buffers[2] is too large; allowed: 2^33 elements in all buffers together"},
      {[](Order& o) { o.buffers[1].name = "A"; },
       "order.buffers[1].name is 'A'; allowed: each only once"},
      {[](Order& o) { o.buffers[1].name = "A;system"; },
       "order.buffers[1].name is 'A;system'; allowed: an identifier of 1 to 128 letters, digits "
       "and "
       "'_'"},
      {[](Order& o) { o.buffers[0].fill.a = kNan; },
       "order.buffers[0].fill.a is nan; allowed: a finite number"},
      {[](Order& o) { o.buffers[0].fill.b = -0.5; },
       "order.buffers[0].fill is an empty range; allowed: a below b"},
      {[](Order& o) { o.buffers[1].fill.b = 8.5; },
       "order.buffers[1].fill is no range of whole numbers; allowed: whole a and b, -2^24 to 2^24, "
       "a "
       "not above b"},
      {[](Order& o) {
         o.buffers[0].fill = {FillKind::kNormal, 0, -1};
       },
       "order.buffers[0].fill.b is -1; allowed: 0 or a finite number above it"},
      {[](Order& o) { o.buffers[0].dtype = static_cast<DType>(4); },
       "order.buffers[0].dtype is enumerator 4; allowed: 0 to 3"},
      {[](Order& o) { o.buffers[0].role = static_cast<BufferRole>(2); },
       "order.buffers[0].role is enumerator 2; allowed: 0 to 1"},
      {[](Order& o) { o.buffers[0].fill.kind = static_cast<FillKind>(5); },
       "order.buffers[0].fill.kind is enumerator 5; allowed: 0 to 4"},
      {[](Order& o) {
         o.buffers[0].dtype = DType::kI32;
         o.buffers[0].fill = {FillKind::kRowPointers, 1.5, 0};
       },
       "order.buffers[0].fill is no row pointers; allowed: a whole a, 0 to 2^31 - 1"},
      {[](Order& o) {
         o.buffers[0].dtype = DType::kI32;
         o.buffers[0].fill = {FillKind::kRowPointers, 2147483648.0, 0};
       },
       "order.buffers[0].fill is no row pointers; allowed: a whole a, 0 to 2^31 - 1"},
      {[](Order& o) {
         o.buffers[0].fill = {FillKind::kRowPointers, 1, 0};
       },
       "order.buffers[0].fill is row pointers of one element or of no integers; allowed: two "
       "elements and more, i32 or u32"},
      {[](Order& o) {
         o.buffers[0].dtype = DType::kU32;
         o.buffers[0].extents = {1, 1};
         o.buffers[0].fill = {FillKind::kRowPointers, 1, 0};
       },
       "order.buffers[0].fill is row pointers of one element or of no integers; allowed: two "
       "elements and more, i32 or u32"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(OrderErrorAfter(spoil), error);
}

TEST(DecodeOrder, TakesAsManyElementsAsAreAllowed) {
  EXPECT_EQ(OrderErrorAfter([](Order& order) {
              order.buffers.resize(1);
              order.buffers[0].extents = {std::int64_t{1} << 33, 1, 1};
              for (Arm& arm : order.arms) {
                for (Launch& launch : arm.launches) launch.arguments.clear();
              }
            }),
            "none");
}

TEST(DecodeOrder, RefusesSourcesThatAreNotWhatTheySay) {
  const std::string digest = SampleOrder().sources[1].digest.Short();
  EXPECT_EQ(OrderErrorAfter([](Order& o) { o.sources[1].digest = Digest{}; }),
            "order.sources[1].digest is 000000000000; allowed: the SHA-256 of the text, " + digest);
  EXPECT_EQ(OrderErrorAfter([](Order& o) {
              o.sources[0].text += '\n';
            }).rfind("order.sources[0].digest is ", 0),
            0u);
  for (const char* name : {"", ".hidden", "../../etc/passwd", "a/b.cc", "a b.cc", "a\nb.cc"}) {
    EXPECT_EQ(OrderErrorAfter([name](Order& o) {
                o.sources[0].name = name;
              }).rfind("order.sources[0].name is '", 0),
              0u)
        << name;
  }
}

TEST(DecodeOrder, RefusesArmsThatCannotBeToldApart) {
  const std::vector<Refusal<Order>> refusals = {
      {[](Order& o) { o.arms[1].role = ArmRole::kCommitted; },
       "order.arms[1] is a second committed; allowed: one arm of each role but rival"},
      {[](Order& o) { o.arms[1].role = static_cast<ArmRole>(5); },
       "order.arms[1].role is enumerator 5; allowed: 0 to 4"},
      {[](Order& o) { o.arms.clear(); }, "order.arms is a list of 0; allowed: 1 to 16"},
      {[](Order& o) { o.arms[1].launches.clear(); },
       "order.arms[1].launches is a list of 0; allowed: 1 to 64"},
      {[](Order& o) { o.arms[1].configuration.settings[1].knob = "pack"; },
       "order.arms[1].configuration[1].knob is 'pack'; allowed: each only once"},
      {[](Order& o) { o.arms[1].configuration.settings[3].value = Tuple{}; },
       "order.arms[1].configuration[3].value is a list of 0; allowed: 1 to 8"},
      {[](Order& o) { o.arms[1].configuration.settings[2].value = std::string("two words"); },
       "order.arms[1].configuration[2].value is 'two words'; allowed: 1 to 128 printable "
       "characters "
       "without blanks"},
      {[](Order& o) { o.arms[1].launches[0].grid[1] = 0; },
       "order.arms[1].launches[0].grid.y is 0; allowed: 1 to 2147483647"},
      {[](Order& o) { o.arms[1].launches[0].block[2] = 0x80000000; },
       "order.arms[1].launches[0].block.z is 2147483648; allowed: 1 to 2147483647"},
      {[](Order& o) { o.arms[1].launches[0].kernel.clear(); },
       "order.arms[1].launches[0].kernel is empty; allowed: one line of 1 to 4096 bytes of UTF-8"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(OrderErrorAfter(spoil), error);
  EXPECT_EQ(OrderErrorAfter([](Order& o) { o.arms[1].role = ArmRole::kRival; }), "none");
}

TEST(DecodeOrder, RefusesLaunchesThatNoDeviceCanRun) {
  const auto after = [](const std::function<void(Order&)>& spoil) {
    Order order = SampleAudit();
    spoil(order);
    return ErrorOf(DecodeOrder(EncodeOrder(order)));
  };
  const std::vector<Refusal<Order>> refusals = {
      {[](Order& o) { o.arms[0].launches[0].arguments.clear(); },
       "order.arms[0].launches[0].arguments is a list of 0; allowed: 1 to 1"},
      {[](Order& o) { o.arms[0].launches[0].kernel = "a"; },
       "order.arms[0].launches[0].kernel is a name; allowed: none: a memset runs no kernel"},
      {[](Order& o) {
         o.arms[0].launches[0].arguments[0] = {Argument::Kind::kBuffer, 0};
       },
       "order.arms[0].launches[0].arguments[0] is nothing to be set; allowed: an output or a "
       "scratch buffer"},
      {[](Order& o) { o.arms[0].launches[0].arguments[0].index = 2; },
       "order.arms[0].launches[0].arguments[0] is 2; allowed: an index into 2 scratch buffers"},
      {[](Order& o) {
         o.arms[0].launches[1].cluster = {17, 1, 1};
       },
       "order.arms[0].launches[1].cluster is 17; allowed: 1 to 16"},
      {[](Order& o) {
         o.arms[0].launches[1].cluster = {8, 4, 1};
       },
       "order.arms[0].launches[1].cluster is 32; allowed: 1 to 16"},
      {[](Order& o) {
         o.arms[0].launches[1].cluster = {3, 1, 1};
       },
       "order.arms[0].launches[1].cluster is no divisor of the grid; allowed: clusters that fill "
       "the grid"},
      {[](Order& o) { o.arms[0].scratch[1].name = "partial"; },
       "order.arms[0].scratch[1].name is 'partial'; allowed: each only once"},
      {[](Order& o) { o.arms[0].scratch[1].elements = 0; },
       "order.arms[0].scratch[1].elements is 0; allowed: 1 to 8589934592"},
      {[](Order& o) { o.headers[1].name = "pawl_device.h"; },
       "order.headers[1].name is 'pawl_device.h'; allowed: each only once"},
      {[](Order& o) { o.headers[0].text = "other"; },
       "order.headers[0].digest is " + Sha256("#pragma once\n").Short() +
           "; allowed: the SHA-256 of the text, " + Sha256("other").Short()},
      {[](Order& o) {
         o.rounds = {{true, {{0, 0}}}};
       },
       "order.rounds is a list of 1; allowed: 0 to 0"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(after(spoil), error);
  EXPECT_EQ(after([](Order&) {}), "none");
}

TEST(DecodeOrder, RefusesNumbersOutOfRange) {
  const std::vector<Refusal<Order>> refusals = {
      {[](Order& o) { o.kind = static_cast<OrderKind>(3); },
       "order.kind is enumerator 3; allowed: 0 to 2"},
      {[](Order& o) { o.track = TrackId(0); }, "order.track is 0; allowed: 1 or above"},
      {[](Order& o) { o.generation = Generation(0); },
       "order.generation is 0; allowed: 1 or above"},
      {[](Order& o) { o.attempt = Attempt(0); }, "order.attempt is 0; allowed: 1 or above"},
      {[](Order& o) { o.check.rtol = -1e-4; },
       "order.check.rtol is -0.0001; allowed: 0 or a finite number above it"},
      {[](Order& o) { o.check.atol = kInfinity; },
       "order.check.atol is inf; allowed: 0 or a finite number above it"},
      {[](Order& o) { o.input_seeds.clear(); },
       "order.input_seeds is a list of 0; allowed: 1 to 64"},
      {[](Order& o) { o.timing.instrument = static_cast<Instrument>(5); },
       "order.timing.instrument is enumerator 5; allowed: 0 to 4"},
      {[](Order& o) { o.timing.iterations = 0; },
       "order.timing.iterations is 0; allowed: 1 to 10000000"},
      {[](Order& o) { o.timing.warmup = 10'000'001; },
       "order.timing.warmup is 10000001; allowed: 0 to 10000000"},
      {[](Order& o) { o.rounds.clear(); }, "order.rounds is a list of 0; allowed: 1 to 4096"},
      {[](Order& o) { o.rounds[1].visits.clear(); },
       "order.rounds[1].visits is a list of 0; allowed: 1 to 256"},
      {[](Order& o) {
         o.rounds.assign(4096, {true, std::vector<VisitPlan>(5)});
       },
       "order.rounds is a list of 20480 visits; allowed: at most 16384"},
      {[](Order& o) { o.deadlines.run_ms = 0; },
       "order.deadlines.run_ms is 0; allowed: 1 to 604800000"},
      {[](Order& o) { o.backend = "ho\nst"; },
       "order.backend is 'ho\\x0ast'; allowed: 1 to 128 printable characters without blanks"},
      {[](Order& o) { o.operation = std::string(129, 'x'); },
       "order.operation is '" + std::string(40, 'x') +
           "...' (129 bytes); allowed: 1 to 128 printable characters without blanks"},
      {[](Order& o) { o.build_options[0] = ""; },
       "order.build_options[0] is empty; allowed: one line of 1 to 4096 bytes of UTF-8"},
      {[](Order& o) { o.build_options[0] = "-O2\n-fplugin=x"; },
       "order.build_options[0] is '-O2\\x0a-fplugin=x'; allowed: one line of at most 4096 bytes of "
       "UTF-8"},
      {[](Order& o) { o.scalars[2].name = "m"; },
       "order.scalars[2].name is 'm'; allowed: each only once"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(OrderErrorAfter(spoil), error);
}

TEST(DecodeOrder, NamesTheFirstOfManyFaults) {
  EXPECT_EQ(OrderErrorAfter([](Order& order) {
              order.attempt = Attempt(0);
              order.arms[1].source = 3;
              order.rounds.clear();
            }),
            "order.attempt is 0; allowed: 1 or above");
}

TEST(DecodeReport, RefusesWhatNoWorkerMeasures) {
  const std::vector<Refusal<Report>> refusals = {
      {[](Report& r) { r.rounds[0].visits[1].arm = 3; },
       "report.rounds[0].visits[1].arm is 3; allowed: an index into 3 arms"},
      {[](Report& r) { r.rounds[0].visits[1].input_set = 64; },
       "report.rounds[0].visits[1].input_set is 64; allowed: 0 to 63"},
      {[](Report& r) { r.rounds[0].visits[1].median_us = 0; },
       "report.rounds[0].visits[1].median_us is 0; allowed: a finite number above 0"},
      {[](Report& r) { r.rounds[0].visits[1].median_us = -1; },
       "report.rounds[0].visits[1].median_us is -1; allowed: a finite number above 0"},
      {[](Report& r) { r.rounds[0].visits[0].median_us = kNan; },
       "report.rounds[0].visits[0].median_us is nan; allowed: a finite number above 0"},
      {[](Report& r) { r.rounds[0].visits[0].median_us = kInfinity; },
       "report.rounds[0].visits[0].median_us is inf; allowed: a finite number above 0"},
      {[](Report& r) { r.rounds[0].visits[0].clock_mhz = -5; },
       "report.rounds[0].visits[0].clock_mhz is -5; allowed: 0 or a finite number above it"},
      {[](Report& r) { r.rounds[0].visits.clear(); },
       "report.rounds[0].visits is a list of 0; allowed: 1 to 256"},
      {[](Report& r) {
         r.outcome = {};
         r.rounds.clear();
       },
       "report.rounds is a list of 0; allowed: 1 to 4096"},
      {[](Report& r) { r.arms[1] = ArmRole::kCommitted; },
       "report.arms[1] is a second committed; allowed: one arm of each role but rival"},
      {[](Report& r) { r.checks[1].max_abs_error = kNan; },
       "report.checks[1].max_abs_error is nan; allowed: 0 or above, infinity included"},
      {[](Report& r) { r.checks[1].max_abs_error = -1; },
       "report.checks[1].max_abs_error is -1; allowed: 0 or above, infinity included"},
      {[](Report& r) { r.checks[0].wrong = 2; },
       "report.checks[0] is passed with 2 wrong elements; allowed: 0 wrong when passed"},
      {[](Report& r) { r.builds[0].seconds = -1; },
       "report.builds[0].seconds is -1; allowed: 0 or a finite number above it"},
      {[](Report& r) { r.builds[0].arm = static_cast<ArmRole>(5); },
       "report.builds[0].arm is enumerator 5; allowed: 0 to 4"},
      {[](Report& r) { r.outcome.kind = static_cast<OutcomeKind>(9); },
       "report.outcome.kind is enumerator 9; allowed: 0 to 8"},
      {[](Report& r) { r.outcome.arm = static_cast<ArmRole>(9); },
       "report.outcome.arm is enumerator 9; allowed: 0 to 4"},
      {[](Report& r) { r.run_seconds = kInfinity; },
       "report.run_seconds is inf; allowed: 0 or a finite number above it"},
      {[](Report& r) { r.worker = WorkerId(); },
       "report.worker is ''; allowed: 1 to 128 printable characters without blanks"},
      {[](Report& r) { r.generation = Generation(0); },
       "report.generation is 0; allowed: 1 or above"},
  };
  for (const auto& [spoil, error] : refusals) EXPECT_EQ(ReportErrorAfter(spoil), error);
}

TEST(DecodeReport, TakesAReportWithoutRoundsUnlessMeasured) {
  EXPECT_EQ(ReportErrorAfter([](Report& report) {
              report.outcome = {OutcomeKind::kBuildFailed, ArmRole::kCandidate, "does not compile"};
              report.rounds.clear();
              report.arms.clear();
              report.checks.clear();
            }),
            "none");
}

TEST(DecodeMessage, RefusesValuesThatNoPeerSends) {
  const LeaseKey key{OrderKind::kMeasure, TrackId(1), Generation(1), Attempt(1), 0};
  LeaseKey unnumbered = key;
  unnumbered.track = TrackId(0);
  Hello hello = std::get<Hello>(test::SampleMessages()[0].message);
  Hello unnamed = hello;
  unnamed.boot = BootId();
  Hello strange = hello;
  strange.device.instruments.push_back(static_cast<Instrument>(7));
  Hello poor = hello;
  poor.device.peak_gflops = kNan;
  Hello climber = hello;
  climber.head.ledger = LedgerId("../../../../../../../../etc/pass");
  Hello greedy = hello;
  greedy.held.assign(257, key);
  Grant grant{SampleOrder(), Epoch(1), 0};
  Grant wrong{SampleOrder(), Epoch(1), 1};
  wrong.order.arms[1].source = 7;
  Prepare prepare = std::get<Prepare>(test::SampleMessages()[5].message);
  prepare.launches.pop_back();
  const LedgerId ledger(std::string(32, 'a'));
  const std::vector<std::pair<Message, std::string>> refusals = {
      {unnamed, "hello.boot is ''; allowed: 1 to 128 printable characters without blanks"},
      {strange, "hello.device.instruments[2] is enumerator 7; allowed: 0 to 4"},
      {poor, "hello.device.peak_gflops is nan; allowed: 0 or a finite number above it"},
      {climber,
       "hello.head.ledger is '../../../../../../../../etc/pass'; allowed: 32 lower-case hex "
       "digits"},
      {greedy, "hello.held is a list of 257; allowed: 0 to 256"},
      {Welcome{LedgerId("L1"), Epoch(1)},
       "welcome.ledger is 'L1'; allowed: 32 lower-case hex digits"},
      {Welcome{ledger, Epoch(1), 0, 1}, "welcome.beat_ms is 0; allowed: 1 to 604800000"},
      {Welcome{ledger, Epoch(1), 500, 499}, "welcome.lost_ms is 499; allowed: 500 to 604800000"},
      {Refuse{static_cast<RefuseCode>(4), ""}, "refuse.code is enumerator 4; allowed: 0 to 3"},
      {Ready{1025}, "ready.credit is 1025; allowed: 0 to 1024"},
      {grant, "grant.lease_ms is 0; allowed: 1 to 604800000"},
      {wrong, "grant.order.arms[1].source is 7; allowed: an index into 3 sources"},
      {prepare, "prepare.launches is a list of 1; allowed: one for each of 2 sources"},
      {Beat{{key, unnumbered}, 1, true}, "beat.held[1].track is 0; allowed: 1 or above"},
      {BeatAck{{unnumbered}}, "beat_ack.unknown[0].track is 0; allowed: 1 or above"},
      {Ack{unnumbered, Digest{}, {}}, "ack.key.track is 0; allowed: 1 or above"},
      {RejectMessage{key, Digest{}, static_cast<RejectCode>(4), "", false},
       "reject.code is enumerator 4; allowed: 0 to 3"},
      {Cancel{unnumbered}, "cancel.key.track is 0; allowed: 1 or above"},
      {Release{unnumbered, ""}, "release.key.track is 0; allowed: 1 or above"},
  };
  for (const auto& [message, error] : refusals) {
    EXPECT_EQ(ErrorOf(DecodeMessage(EncodeMessage(message))), error);
  }
}

// What could not be read again never gets as far as the ledger.
TEST(EncodeEventDeathTest, RefusesToWriteWhatCouldNotBeRead) {
  const auto encode = [](EventBody body) {
    Event event;
    event.body = std::move(body);
    static_cast<void>(EncodeEvent(event));
  };
  Decided decided{Generation(1), Decision{}, false};
  decided.decision.ratio = kNan;
  EXPECT_DEATH(encode(decided), "event.decided.decision.ratio|decided.decision.ratio is nan");
  decided.decision.ratio = std::nullopt;
  decided.decision.verdict = Verdict::kKeep;
  EXPECT_DEATH(encode(decided), "decision is keep for not_faster; allowed: reject");
  EXPECT_DEATH(encode(LedgerCreated{LedgerId("mine"), 1}), "ledger is 'mine'");
  TrackSpec spec = test::SampleSpec();
  spec.package["../secret"] = Digest{};
  EXPECT_DEATH(encode(TrackOpened{spec, {}}), "spec.package.0..name is '../secret'");
  spec = test::SampleSpec();
  spec.budget.minutes = -1;
  EXPECT_DEATH(encode(TrackOpened{spec, {}}), "spec.budget.minutes is -1");
  spec = test::SampleSpec();
  spec.policy_parameters["min_gain"] = kInfinity;
  EXPECT_DEATH(encode(TrackOpened{spec, {}}), "policy_parameters.0..value is inf");
  Confirmed confirmed;
  confirmed.rounds = 3;
  confirmed.favouring = 4;
  EXPECT_DEATH(encode(confirmed), "favouring is 4; allowed: 0 to 3");
}

TEST(DecodeEvent, RefusesARecordOfZeros) {
  EXPECT_EQ(ErrorOf(DecodeEvent(std::string(64, '\0'))),
            "event.body is of kind 0; allowed: 1 to 16");
  EXPECT_EQ(ErrorOf(DecodeEvent("")),
            "event: damaged payload: 0 bytes, a positive multiple of 8 wanted");
}

TEST(DecodeSnapshot, RefusesTracksOutOfOrder) {
  Snapshot snapshot = test::SampleSnapshot();
  snapshot.tracks[1].id = snapshot.tracks[0].id;
  EXPECT_EQ(ErrorOf(DecodeSnapshot(EncodeSnapshot(snapshot))),
            "snapshot.tracks[1] is track 3; allowed: rising ids");
  snapshot.tracks[1].id = TrackId(0);
  EXPECT_EQ(ErrorOf(DecodeSnapshot(EncodeSnapshot(snapshot))),
            "snapshot.tracks[1].id is 0; allowed: 1 or above");
}

TEST(DecodeSnapshot, RefusesNumbersThatAreNone) {
  Snapshot snapshot = test::SampleSnapshot();
  snapshot.tracks[0].gain = kNan;
  EXPECT_EQ(ErrorOf(DecodeSnapshot(EncodeSnapshot(snapshot))),
            "snapshot.tracks[0].gain is nan; allowed: 0 or a finite number above it");
  snapshot = test::SampleSnapshot();
  snapshot.tracks[0].knobs[1].payoff = kInfinity;
  EXPECT_EQ(ErrorOf(DecodeSnapshot(EncodeSnapshot(snapshot))),
            "snapshot.tracks[0].knobs[1].payoff is inf; allowed: a finite number");
  snapshot = test::SampleSnapshot();
  snapshot.tracks[0].status = static_cast<TrackStatus>(3);
  EXPECT_EQ(ErrorOf(DecodeSnapshot(EncodeSnapshot(snapshot))),
            "snapshot.tracks[0].status is enumerator 3; allowed: 0 to 2");
}

}  // namespace
}  // namespace pawl
