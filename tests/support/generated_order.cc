#include "tests/support/draw.h"

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::exec;

rc::Gen<Fill> AnyFill() {
  return exec([] {
    Fill fill;
    fill.kind = *UpTo(FillKind::kRowPointers);
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
    if (fill.kind == FillKind::kRowPointers) fill.a = *Within<std::int64_t>(0, 2'147'483'647);
    return fill;
  });
}

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

rc::Gen<std::optional<std::uint32_t>> MaybeIndex(std::size_t count) {
  return exec([=]() -> std::optional<std::uint32_t> {
    if (count == 0 || *rc::gen::inRange(0, 4) == 0) return std::nullopt;
    return *Within<std::uint32_t>(0, static_cast<std::uint32_t>(count - 1));
  });
}

}  // namespace

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
      if (buffer.fill.kind == FillKind::kRowPointers) {
        buffer.dtype = *rc::gen::element(DType::kI32, DType::kU32);
        buffer.extents.front() += 1;
      }
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

rc::Gen<Deadlines> AnyDeadlines() {
  return exec([] {
    const auto deadline = [] { return *Within<std::uint32_t>(1, 100'000'000); };
    return Deadlines{deadline(), deadline(), deadline()};
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

}  // namespace pawl::test
