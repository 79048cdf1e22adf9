#include "tests/support/generators.h"

#include <limits>

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::elementOf;
using rc::gen::exec;
using rc::gen::just;
using rc::gen::weightedOneOf;

// 0 to `high` elements, seldom as many as that.
template <typename T>
rc::Gen<std::vector<T>> ListOf(rc::Gen<T> values, std::size_t low, std::size_t high) {
  return exec([=] {
    const std::size_t small = std::min<std::size_t>(high, low + 3);
    const std::size_t count =
        *weightedOneOf<std::size_t>({{9, rc::gen::inRange<std::size_t>(low, small + 1)},
                                     {1, rc::gen::inRange<std::size_t>(low, high + 1)}});
    std::vector<T> list;
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i) list.push_back(*values);
    return list;
  });
}

template <typename Int>
rc::Gen<Int> AnyInteger() {
  return weightedOneOf<Int>({{4, arbitrary<Int>()},
                             {1, elementOf(std::vector<Int>{0, 1, std::numeric_limits<Int>::max(),
                                                            std::numeric_limits<Int>::min()})}});
}

template <typename Int>
rc::Gen<Int> Within(Int low, Int high) {
  return rc::gen::map(AnyInteger<std::uint64_t>(), [=](std::uint64_t number) {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return static_cast<Int>(static_cast<std::uint64_t>(low) + number % span);
  });
}

template <typename Enum>
rc::Gen<Enum> UpTo(Enum last) {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(last) + 1),
                      [](int number) { return static_cast<Enum>(number); });
}

template <typename Id>
rc::Gen<Id> FromOne() {
  using Number = decltype(Id::value);
  return rc::gen::map(Within<Number>(1, std::numeric_limits<Number>::max()),
                      [](Number number) { return Id(number); });
}

rc::Gen<double> NotNegative() {
  return weightedOneOf<double>({{3, AnyPositive()}, {1, just(0.0)}});
}

rc::Gen<std::string> Letters(std::string alphabet, std::size_t low, std::size_t high) {
  return rc::gen::map(ListOf<std::size_t>(Within<std::size_t>(0, alphabet.size() - 1), low, high),
                      [=](const std::vector<std::size_t>& indices) {
                        std::string text;
                        for (const std::size_t index : indices) text += alphabet[index];
                        return text;
                      });
}

rc::Gen<std::string> Identifier() { return Letters("abcxyzABCXYZ_", 1, 20); }
rc::Gen<std::string> FileName() { return Letters("abcXYZ019_-+", 1, 40); }
rc::Gen<std::string> HexId() {
  return rc::gen::map(AnyDigest(), [](const Digest& digest) { return digest.Hex().substr(0, 32); });
}
rc::Gen<std::string> WordOrNothing() {
  return weightedOneOf<std::string>({{4, AnyWord()}, {1, just(std::string())}});
}
rc::Gen<std::string> NotEmptyLine() { return Letters("abcXYZ019 .:;=<>()%", 1, 100); }

// Names that differ: what would repeat gets its number.
std::string Distinct(const std::string& name, std::size_t number) {
  return name.substr(0, 100) + "_" + std::to_string(number);
}

rc::Gen<Fill> AnyFill() {
  return exec([] {
    Fill fill;
    fill.kind = *UpTo(FillKind::kConstant);
    fill.a = *AnyFinite();
    fill.b = *AnyFinite();
    if (fill.kind == FillKind::kNormal) fill.b = *NotNegative();
    if (fill.kind == FillKind::kUniform) {
      fill.a = *Within<std::int64_t>(-1000, 0);
      fill.b = *Within<std::int64_t>(1, 1000);
    }
    if (fill.kind == FillKind::kIntegers) {
      fill.a = *Within<std::int64_t>(-16'777'216, 0);
      fill.b = *Within<std::int64_t>(0, 16'777'216);
    }
    return fill;
  });
}

rc::Gen<std::vector<Buffer>> AnyBuffers() {
  return exec([] {
    std::vector<Buffer> buffers(*Within<std::size_t>(0, 4));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      Buffer& buffer = buffers[i];
      buffer.name = Distinct(*Identifier(), i);
      buffer.dtype = *UpTo(DType::kU32);
      buffer.role = *UpTo(BufferRole::kOutput);
      buffer.extents = *ListOf<std::int64_t>(Within<std::int64_t>(1, 4096), 1, 2);
      if (buffer.extents.size() > 2) buffer.extents.resize(2);
      buffer.fill = *AnyFill();
    }
    return buffers;
  });
}

rc::Gen<std::vector<Scalar>> AnyScalars() {
  return exec([] {
    std::vector<Scalar> scalars(*Within<std::size_t>(0, 4));
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      scalars[i] = {Distinct(*Identifier(), i), *AnyInteger<std::int64_t>()};
    }
    return scalars;
  });
}

rc::Gen<SourceText> AnySource() {
  return exec([] {
    SourceText source;
    source.name = *FileName();
    source.text = *arbitrary<std::string>();  // any bytes
    source.digest = Sha256(source.text);
    source.build_options = *ListOf<std::string>(NotEmptyLine(), 0, 2);
    return source;
  });
}

// Of the arguments of a launch: how many there are to point at.
struct AnyTargets {
  std::vector<Buffer> buffers;
  std::size_t scalars = 0;
  std::size_t scratch = 0;
};

rc::Gen<Launch> AnyMemset(const AnyTargets& targets) {
  return exec([=] {
    std::vector<Argument> writable;
    for (std::uint32_t i = 0; i < targets.buffers.size(); ++i) {
      if (targets.buffers[i].role == BufferRole::kOutput) {
        writable.push_back({Argument::Kind::kBuffer, i});
      }
    }
    for (std::uint32_t i = 0; i < targets.scratch; ++i) {
      writable.push_back({Argument::Kind::kScratch, i});
    }
    Launch launch;
    if (writable.empty()) {
      launch.kernel = "nothing_to_set";
      return launch;
    }
    launch.kind = LaunchKind::kMemset;
    launch.byte = *AnyInteger<std::uint8_t>();
    launch.arguments = {writable[*Within<std::size_t>(0, writable.size() - 1)]};
    return launch;
  });
}

rc::Gen<Launch> AnyLaunch(const AnyTargets& targets) {
  return exec([=] {
    if (*Within<int>(0, 3) == 0) return *AnyMemset(targets);
    const auto extent = [] { return *Within<std::uint32_t>(1, 0x7fffffff); };
    Launch launch;
    launch.kernel = *NotEmptyLine();
    launch.grid = {extent(), extent(), extent()};
    if (*arbitrary<bool>()) {
      launch.cluster = {*Within<std::uint32_t>(1, 4), *Within<std::uint32_t>(1, 4), 1};
      for (int side = 0; side < 3; ++side) {
        launch.grid[side] = launch.cluster[side] * *Within<std::uint32_t>(1, 0x1ffffff);
      }
    }
    launch.block = {extent(), extent(), extent()};
    launch.dynamic_shared_bytes = *Within<std::uint32_t>(0, 0x7fffffff);
    std::vector<Argument> all;
    for (std::uint32_t i = 0; i < targets.buffers.size(); ++i) {
      all.push_back({Argument::Kind::kBuffer, i});
    }
    for (std::uint32_t i = 0; i < targets.scalars; ++i) {
      all.push_back({Argument::Kind::kScalar, i});
    }
    for (std::uint32_t i = 0; i < targets.scratch; ++i) {
      all.push_back({Argument::Kind::kScratch, i});
    }
    const std::size_t count = all.empty() ? 0 : *Within<std::size_t>(0, 6);
    for (std::size_t i = 0; i < count; ++i) {
      launch.arguments.push_back(all[*Within<std::size_t>(0, all.size() - 1)]);
    }
    return launch;
  });
}

rc::Gen<std::optional<std::uint32_t>> MaybeIndex(std::size_t count) {
  return exec([=]() -> std::optional<std::uint32_t> {
    if (count == 0 || *rc::gen::inRange(0, 4) == 0) return std::nullopt;
    return *Within<std::uint32_t>(0, static_cast<std::uint32_t>(count - 1));
  });
}

// Of each role but rival at most one.
rc::Gen<std::vector<ArmRole>> AnyRoles(std::size_t low) {
  return exec([=] {
    std::vector<ArmRole> roles;
    for (int role = 0; role < static_cast<int>(ArmRole::kRival); ++role) {
      if (*arbitrary<bool>()) roles.push_back(static_cast<ArmRole>(role));
    }
    const std::size_t rivals = *Within<std::size_t>(0, 2);
    roles.insert(roles.end(), rivals, ArmRole::kRival);
    if (roles.size() < low) roles.push_back(ArmRole::kCandidate);
    return roles;
  });
}

rc::Gen<LeaseKey> AnyKey() {
  return exec([] {
    return LeaseKey{*UpTo(OrderKind::kConfirm), *FromOne<TrackId>(), *FromOne<Generation>(),
                    *FromOne<Attempt>(), *AnyInteger<std::uint32_t>()};
  });
}

rc::Gen<LedgerHead> AnyHead() {
  return exec([] {
    LedgerHead head;
    if (*arbitrary<bool>()) head.ledger = LedgerId(*HexId());
    head.seq = Seq(*AnyInteger<std::uint64_t>());
    head.digest = *AnyDigest();
    return head;
  });
}

rc::Gen<DeviceFacts> AnyDevice() {
  return exec([] {
    DeviceFacts device;
    device.kind = *AnyWord();
    device.model = *NotEmptyLine();
    device.uuid = *AnyLine();
    device.toolchain = *AnyLine();
    device.backend = *WordOrNothing();
    device.instruments = *ListOf<Instrument>(UpTo(Instrument::kGraphTime), 0, 5);
    device.cores = *AnyInteger<std::uint32_t>();
    device.peak_gflops = *NotNegative();
    device.peak_gbytes_per_s = *NotNegative();
    device.needs_source = *arbitrary<bool>();
    return device;
  });
}

rc::Gen<BuildFacts> AnyBuild() {
  return exec([] {
    BuildFacts build;
    build.arm = *UpTo(ArmRole::kRival);
    build.source = *AnyDigest();
    build.object = *AnyDigest();
    build.compiler = *AnyLine();
    build.log = *NotEmptyLine() + "\n\t" + *NotEmptyLine();
    build.cached = *arbitrary<bool>();
    build.seconds = *NotNegative();
    build.registers = *AnyInteger<std::uint32_t>();
    build.shared_bytes = *AnyInteger<std::uint32_t>();
    build.spill_bytes = *AnyInteger<std::uint32_t>();
    return build;
  });
}

rc::Gen<CheckFacts> AnyCheck() {
  return exec([] {
    CheckFacts check;
    check.arm = *UpTo(ArmRole::kRival);
    check.passed = *arbitrary<bool>();
    check.elements = *AnyInteger<std::uint64_t>();
    check.wrong = check.passed ? 0 : *AnyInteger<std::uint64_t>();
    check.max_abs_error = *weightedOneOf<double>(
        {{3, NotNegative()}, {1, just(std::numeric_limits<double>::infinity())}});
    check.detail = *AnyLine();
    return check;
  });
}

rc::Gen<Budget> AnyBudget() {
  return exec([] {
    return Budget{*AnyInteger<std::uint32_t>(), *NotNegative(), *AnyInteger<std::uint32_t>()};
  });
}

rc::Gen<Deadlines> AnyDeadlines() {
  return exec([] {
    const auto deadline = [] { return *Within<std::uint32_t>(1, 100'000'000); };
    return Deadlines{deadline(), deadline(), deadline()};
  });
}

rc::Gen<Parameters> AnyParameters() {
  return exec([] {
    Parameters parameters;
    const std::size_t count = *Within<std::size_t>(0, 4);
    for (std::size_t i = 0; i < count; ++i) {
      if (*arbitrary<bool>()) {
        parameters[*AnyWord()] = *AnyFinite();
      } else {
        parameters[*AnyWord()] = *AnyLine();
      }
    }
    return parameters;
  });
}

rc::Gen<Change> AnyChange() {
  return exec([] {
    return Change{*AnyWord(), *AnyKnobValue(), *AnyKnobValue(), *arbitrary<bool>()};
  });
}

rc::Gen<std::optional<double>> Maybe(rc::Gen<double> numbers) {
  return exec([=]() -> std::optional<double> {
    if (*arbitrary<bool>()) return std::nullopt;
    return *numbers;
  });
}

rc::Gen<Decision> AnyDecision() {
  return exec([] {
    Decision decision;
    decision.reason = *UpTo(static_cast<Reason>(kReasonCount - 1));
    decision.verdict = VerdictOf(decision.reason);
    decision.detail = *AnyLine();
    decision.ratio = *Maybe(AnyPositive());
    decision.ratios = *ListOf<double>(AnyPositive(), 0, 40);
    decision.control_drift = *Maybe(NotNegative());
    decision.threshold = *Maybe(AnyFinite());
    decision.before_us = *Maybe(AnyPositive());
    decision.after_us = *Maybe(AnyPositive());
    return decision;
  });
}

rc::Gen<Proposed> AnyProposed() {
  return exec([] {
    Proposed proposed;
    proposed.generation = *FromOne<Generation>();
    proposed.candidate = *AnyConfiguration();
    proposed.incumbent = *AnyConfiguration();
    proposed.changes = *ListOf<Change>(AnyChange(), 0, 6);
    proposed.hypothesis = *AnyLine();
    proposed.violations = *ListOf<std::string>(AnyLine(), 0, 6);
    proposed.candidate_source = *AnyDigest();
    proposed.incumbent_source = *AnyDigest();
    return proposed;
  });
}

rc::Gen<Granted> AnyGranted() {
  return exec([] {
    Granted granted;
    granted.kind = *UpTo(OrderKind::kConfirm);
    granted.generation = *FromOne<Generation>();
    granted.attempt = *FromOne<Attempt>();
    granted.batch = *AnyInteger<std::uint32_t>();
    granted.worker = WorkerId(*AnyWord());
    granted.boot = BootId(*WordOrNothing());
    granted.order = *AnyDigest();
    granted.lease_ms = *Within<std::uint32_t>(0, 100'000'000);
    granted.incumbent = *AnyConfiguration();
    return granted;
  });
}

rc::Gen<Confirmed> AnyConfirmed() {
  return exec([] {
    Confirmed confirmed;
    confirmed.number = *AnyInteger<std::uint32_t>();
    confirmed.incumbent = *AnyConfiguration();
    confirmed.valid = *arbitrary<bool>();
    confirmed.detail = *AnyLine();
    confirmed.gain = *AnyFinite();
    confirmed.mean = *AnyFinite();
    confirmed.min = *AnyFinite();
    confirmed.max = *AnyFinite();
    confirmed.stddev = *NotNegative();
    confirmed.rounds = *Within<std::uint32_t>(0, 1000);
    confirmed.favouring = *Within<std::uint32_t>(0, confirmed.rounds);
    confirmed.incumbent_us = *NotNegative();
    confirmed.committed_us = *NotNegative();
    confirmed.beside.resize(*Within<std::size_t>(0, 3));
    for (Beside& arm : confirmed.beside) arm = {*AnyLine(), *NotNegative(), *NotNegative()};
    return confirmed;
  });
}

rc::Gen<EventBody> AnyBody() {
  return exec([]() -> EventBody {
    switch (*Within<std::size_t>(0, std::variant_size_v<EventBody> - 1)) {
      case 0:
        return LedgerCreated{LedgerId(*HexId()), *AnyInteger<std::uint32_t>()};
      case 1:
        return EpochStarted{Epoch(*AnyInteger<std::uint32_t>()), *AnyLine()};
      case 2:
        return TailTorn{Seq(*AnyInteger<std::uint64_t>()), *AnyLine()};
      case 3:
        return TrackOpened{*AnySpec(), TrackId(*AnyInteger<std::uint32_t>())};
      case 4:
        return *AnyProposed();
      case 5:
        return *AnyGranted();
      case 6:
        return AttemptLost{*UpTo(OrderKind::kConfirm), *FromOne<Generation>(), *FromOne<Attempt>(),
                           *AnyLine()};
      case 7:
        return Measured{*AnyReport(), *AnyDigest()};
      case 8:
        return ReportConflict{*FromOne<Generation>(), *FromOne<Attempt>(), WorkerId(*AnyWord()),
                              *AnyDigest(), *AnyDigest()};
      case 9:
        return Decided{*FromOne<Generation>(), *AnyDecision(), *arbitrary<bool>()};
      case 10:
        return *AnyConfirmed();
      case 11:
        return TrackPaused{*AnyLine()};
      case 12:
        return TrackResumed{*AnyBudget()};
      default:
        return TrackClosed{*AnyLine()};
    }
  });
}

rc::Gen<TrackState> AnyTrack() {
  return exec([] {
    TrackState track;
    track.spec = *AnySpec();
    track.forked_from = TrackId(*AnyInteger<std::uint32_t>());
    track.status = *UpTo(TrackStatus::kClosed);
    track.why = *AnyLine();
    track.incumbent = *AnyConfiguration();
    track.incumbent_since = Generation(*AnyInteger<std::uint32_t>());
    track.last = Generation(*AnyInteger<std::uint32_t>());
    track.kept = *AnyInteger<std::uint32_t>();
    track.rejected = *AnyInteger<std::uint32_t>();
    track.voided = *AnyInteger<std::uint32_t>();
    track.stale = *AnyInteger<std::uint32_t>();
    track.voids_in_row = *AnyInteger<std::uint32_t>();
    track.gain = *NotNegative();
    track.worker_seconds = *NotNegative();
    track.confirmations = *AnyInteger<std::uint32_t>();
    track.knobs.resize(*Within<std::size_t>(0, 3));
    for (KnobRecord& knob : track.knobs) {
      knob = {*AnyWord(),
              *AnyFinite(),
              *AnyInteger<std::uint32_t>(),
              *AnyInteger<std::uint32_t>(),
              *AnyInteger<std::uint32_t>(),
              *ListOf<KnobValue>(AnyKnobValue(), 0, 5)};
    }
    for (const std::uint64_t hash : *ListOf<std::uint64_t>(AnyInteger<std::uint64_t>(), 0, 50)) {
      track.tried.insert(hash);
    }
    track.last_ordinal = *AnyInteger<std::uint64_t>();
    track.settled = Seq(*AnyInteger<std::uint64_t>());
    return track;
  });
}

Hello MakeHello() {
  Hello hello;
  hello.worker = WorkerId(*AnyWord());
  hello.boot = BootId(*AnyWord());
  hello.version = *AnyLine();
  hello.host = *AnyLine();
  hello.device = *AnyDevice();
  hello.held = *ListOf<LeaseKey>(AnyKey(), 0, 10);
  hello.head = *AnyHead();
  return hello;
}

Welcome MakeWelcome() {
  Welcome welcome;
  welcome.ledger = LedgerId(*HexId());
  welcome.epoch = Epoch(*AnyInteger<std::uint32_t>());
  welcome.beat_ms = *Within<std::uint32_t>(1, 1'000'000);
  welcome.lost_ms = *Within<std::uint32_t>(welcome.beat_ms, 2'000'000);
  return welcome;
}

Prepare MakePrepare() {
  Prepare prepare;
  prepare.backend = *AnyWord();
  prepare.sources = *ListOf<SourceText>(AnySource(), 0, 3);
  prepare.build_options = *ListOf<std::string>(NotEmptyLine(), 0, 4);
  prepare.buffers = *AnyBuffers();
  prepare.scalars = *AnyScalars();
  for (std::size_t i = 0; i < prepare.sources.size(); ++i) {
    prepare.launches.push_back(*AnyLaunch({prepare.buffers, prepare.scalars.size(), 0}));
  }
  return prepare;
}

}  // namespace

rc::Gen<std::string> AnyWord() {
  return Letters("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-./:+*", 1, 128);
}

rc::Gen<std::string> AnyLine() {
  // Characters of one, two, three and four bytes, and the edges between them.
  static const std::vector<std::string> kCharacters = {"a",
                                                       "Z",
                                                       " ",
                                                       "~",
                                                       "'",
                                                       "\"",
                                                       "\\",
                                                       "\xc2\xa0",
                                                       "\xc3\xa9",
                                                       "\xdf\xbf",
                                                       "\xe0\xa0\x80",
                                                       "\xe2\x80\x98",
                                                       "\xef\xbf\xbd",
                                                       "\xf0\x90\x80\x80",
                                                       "\xf4\x8f\xbf\xbf"};
  return rc::gen::map(ListOf<std::size_t>(Within<std::size_t>(0, kCharacters.size() - 1), 0, 1024),
                      [](const std::vector<std::size_t>& indices) {
                        std::string text;
                        for (const std::size_t index : indices) text += kCharacters[index];
                        return text;
                      });
}

rc::Gen<double> AnyFinite() {
  using Limits = std::numeric_limits<double>;
  return weightedOneOf<double>(
      {{3, arbitrary<double>()},
       {1, elementOf(std::vector<double>{0.0, -0.0, 1.0, -1.0, Limits::min(), Limits::max(),
                                         Limits::lowest(), Limits::denorm_min(),
                                         1 + Limits::epsilon(), 0.1})}});
}

rc::Gen<double> AnyPositive() {
  return rc::gen::map(AnyFinite(),
                      [](double number) { return number == 0 ? 1.0 : std::abs(number); });
}

rc::Gen<Digest> AnyDigest() {
  return rc::gen::map(arbitrary<std::uint64_t>(), [](std::uint64_t seed) {
    return seed % 8 == 0 ? Digest{} : Sha256(std::to_string(seed));
  });
}

rc::Gen<KnobValue> AnyKnobValue() {
  return exec([]() -> KnobValue {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        return *arbitrary<bool>();
      case 1:
        return *AnyInteger<std::int64_t>();
      case 2:
        return *AnyWord();
      default:
        return *ListOf<std::int64_t>(AnyInteger<std::int64_t>(), 1, 8);
    }
  });
}

rc::Gen<Configuration> AnyConfiguration() {
  return exec([] {
    Configuration configuration;
    configuration.settings.resize(*Within<std::size_t>(0, 6));
    for (std::size_t i = 0; i < configuration.settings.size(); ++i) {
      configuration.settings[i] = {Distinct(*AnyWord(), i), *AnyKnobValue()};
    }
    return configuration;
  });
}

rc::Gen<Order> AnyOrder() {
  return exec([] {
    Order order;
    order.kind = *UpTo(OrderKind::kAudit);
    order.track = *FromOne<TrackId>();
    order.generation = *FromOne<Generation>();
    order.attempt = *FromOne<Attempt>();
    order.batch = *AnyInteger<std::uint32_t>();
    order.backend = *AnyWord();
    order.operation = *AnyWord();
    order.device_model = *AnyLine();
    order.buffers = *AnyBuffers();
    order.scalars = *AnyScalars();
    order.sources = *ListOf<SourceText>(AnySource(), 0, 4);
    order.build_options = *ListOf<std::string>(NotEmptyLine(), 0, 4);
    for (const ArmRole role : *AnyRoles(1)) {
      Arm arm;
      arm.role = role;
      arm.label = *AnyLine();
      arm.configuration = *AnyConfiguration();
      arm.source = *MaybeIndex(order.sources.size());
      arm.scratch.resize(*Within<std::size_t>(0, 2));
      for (std::size_t i = 0; i < arm.scratch.size(); ++i) {
        arm.scratch[i] = {Distinct(*Identifier(), i), *UpTo(DType::kU32),
                          *Within<std::int64_t>(1, 1'000'000)};
      }
      const std::size_t launches = *Within<std::size_t>(arm.source ? 1 : 0, 2);
      for (std::size_t i = 0; i < launches; ++i) {
        arm.launches.push_back(
            *AnyLaunch({order.buffers, order.scalars.size(), arm.scratch.size()}));
      }
      order.arms.push_back(std::move(arm));
    }
    order.check = {*MaybeIndex(order.sources.size()), *NotNegative(), *NotNegative(),
                   *AnyInteger<std::uint64_t>()};
    order.input_seeds = *ListOf<std::uint64_t>(AnyInteger<std::uint64_t>(), 1, 8);
    order.timing = {*UpTo(Instrument::kGraphTime), *Within<std::uint32_t>(0, 10'000'000),
                    *Within<std::uint32_t>(1, 10'000'000), *arbitrary<bool>()};
    order.rounds.resize(order.kind == OrderKind::kAudit ? 0 : *Within<std::size_t>(1, 5));
    for (std::size_t i = *Within<std::size_t>(0, 2); i-- > 0;) {
      const SourceText header = *AnySource();
      order.headers.push_back({Distinct(header.name, i), header.digest, header.text});
    }
    for (RoundPlan& round : order.rounds) {
      round.recorded = *arbitrary<bool>();
      round.visits.resize(*Within<std::size_t>(1, 6));
      for (VisitPlan& visit : round.visits) {
        visit.arm = *Within<std::uint32_t>(0, static_cast<std::uint32_t>(order.arms.size() - 1));
        visit.input_set =
            *Within<std::uint32_t>(0, static_cast<std::uint32_t>(order.input_seeds.size() - 1));
      }
    }
    order.deadlines = *AnyDeadlines();
    order.fresh_process = *arbitrary<bool>();
    return order;
  });
}

rc::Gen<Report> AnyReport() {
  return exec([] {
    Report report;
    report.kind = *UpTo(OrderKind::kAudit);
    report.track = *FromOne<TrackId>();
    report.generation = *FromOne<Generation>();
    report.attempt = *FromOne<Attempt>();
    report.batch = *AnyInteger<std::uint32_t>();
    report.order = *AnyDigest();
    report.worker = WorkerId(*AnyWord());
    report.outcome.kind = *UpTo(OutcomeKind::kNoData);
    if (*arbitrary<bool>()) report.outcome.arm = *UpTo(ArmRole::kRival);
    report.outcome.detail = *AnyLine();
    report.arms = *AnyRoles(1);
    report.builds = *ListOf<BuildFacts>(AnyBuild(), 0, 4);
    report.checks = *ListOf<CheckFacts>(AnyCheck(), 0, 4);
    const bool measured = report.outcome.kind == OutcomeKind::kMeasured;
    const bool is_audit = report.kind == OrderKind::kAudit;
    report.rounds.resize(is_audit ? 0 : *Within<std::size_t>(measured ? 1 : 0, 4));
    for (RoundMedians& round : report.rounds) {
      round.visits.resize(*Within<std::size_t>(1, 6));
      for (VisitMedian& visit : round.visits) {
        visit = {*Within<std::uint32_t>(0, static_cast<std::uint32_t>(report.arms.size() - 1)),
                 *Within<std::uint32_t>(0, 63), *AnyPositive(), *NotNegative()};
      }
    }
    report.build_seconds = *NotNegative();
    report.check_seconds = *NotNegative();
    report.run_seconds = *NotNegative();
    report.evidence = *AnyDigest();
    report.toolchain = *AnyLine();
    report.data_exhausted = *arbitrary<bool>();
    report.conditions = {*AnyInteger<std::uint64_t>(), *AnyInteger<std::uint32_t>(),
                         *AnyInteger<std::uint32_t>(), *NotNegative(),
                         *AnyInteger<std::uint32_t>()};
    report.captures.resize(*Within<std::size_t>(0, 3));
    for (Capture& capture : report.captures) {
      capture = {*Within<std::uint32_t>(0, static_cast<std::uint32_t>(report.arms.size() - 1)),
                 *UpTo(Instrument::kGraphTime), *AnyPositive()};
    }
    return report;
  });
}

rc::Gen<Message> AnyMessageOfType(std::size_t index) {
  return exec([=]() -> Message {
    switch (index) {
      case 0:
        return MakeHello();
      case 1:
        return MakeWelcome();
      case 2:
        return Refuse{*UpTo(RefuseCode::kNotReady), *AnyLine()};
      case 3:
        return Ready{*Within<std::uint32_t>(0, 1024)};
      case 4:
        return Grant{*AnyOrder(), Epoch(*AnyInteger<std::uint32_t>()),
                     *Within<std::uint32_t>(1, 100'000'000)};
      case 5:
        return MakePrepare();
      case 6:
        return Beat{*ListOf<LeaseKey>(AnyKey(), 0, 10), *AnyInteger<std::uint64_t>(),
                    *arbitrary<bool>()};
      case 7:
        return BeatAck{*ListOf<LeaseKey>(AnyKey(), 0, 10)};
      case 8:
        return ReportMessage{*AnyReport()};
      case 9:
        return Ack{*AnyKey(), *AnyDigest(), *AnyHead()};
      case 10:
        return RejectMessage{*AnyKey(), *AnyDigest(), *UpTo(RejectCode::kNotOpenHere), *AnyLine(),
                             *arbitrary<bool>()};
      case 11:
        return Cancel{*AnyKey()};
      case 12:
        return Drain{};
      case 13:
        return Release{*AnyKey(), *AnyLine()};
      case 14:
        return Bye{*AnyLine()};
      default:
        break;
    }
    CHECK(false, "no message type", index);
  });
}

rc::Gen<Message> AnyMessage() {
  return rc::gen::mapcat(Within<std::size_t>(0, std::variant_size_v<Message> - 1),
                         [](std::size_t index) { return AnyMessageOfType(index); });
}

rc::Gen<TrackSpec> AnySpec() {
  return exec([] {
    TrackSpec spec;
    spec.job = *AnyLine();
    spec.label = *AnyLine();
    spec.operation = *WordOrNothing();
    spec.shape = *AnyScalars();
    spec.dtype = *UpTo(DType::kU32);
    spec.backend = *WordOrNothing();
    spec.structure = *WordOrNothing();
    spec.device_model = *AnyLine();
    spec.toolchain = *AnyLine();
    spec.instrument = *UpTo(Instrument::kGraphTime);
    spec.warmup = *AnyInteger<std::uint32_t>();
    spec.iterations = *AnyInteger<std::uint32_t>();
    spec.policy = *WordOrNothing();
    spec.policy_parameters = *AnyParameters();
    spec.proposer = *WordOrNothing();
    spec.proposer_parameters = *AnyParameters();
    spec.seed = *AnyInteger<std::uint64_t>();
    spec.budget = *AnyBudget();
    spec.start = *AnyConfiguration();
    const std::size_t files = *Within<std::size_t>(0, 4);
    for (std::size_t i = 0; i < files; ++i) {
      spec.package[*FileName() + "/" + *FileName()] = *AnyDigest();
    }
    spec.confirm = *arbitrary<bool>();
    spec.peak_gflops = *NotNegative();
    spec.peak_gbytes_per_s = *NotNegative();
    spec.deadlines = *AnyDeadlines();
    return spec;
  });
}

rc::Gen<Event> AnyEvent() {
  return exec([] {
    return Event{Seq(*AnyInteger<std::uint64_t>()), *AnyInteger<std::int64_t>(),
                 TrackId(*AnyInteger<std::uint32_t>()), *AnyBody()};
  });
}

rc::Gen<Snapshot> AnySnapshot() {
  return exec([] {
    Snapshot snapshot;
    snapshot.seq = Seq(*AnyInteger<std::uint64_t>());
    snapshot.epoch = Epoch(*AnyInteger<std::uint32_t>());
    snapshot.ledger = LedgerId(*HexId());
    snapshot.tracks = *ListOf<TrackState>(AnyTrack(), 0, 3);
    std::uint32_t id = 0;
    for (TrackState& track : snapshot.tracks)
      track.id = TrackId(id += *Within<std::uint32_t>(1, 9));
    return snapshot;
  });
}

}  // namespace pawl::test
