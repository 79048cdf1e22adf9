#include "tests/support/draw.h"

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::exec;
using rc::gen::just;
using rc::gen::weightedOneOf;

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

}  // namespace

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
                         *AnyInteger<std::uint32_t>(), *AnyInteger<std::uint16_t>()};
    report.captures.resize(*Within<std::size_t>(0, 3));
    for (Capture& capture : report.captures) {
      capture = {*Within<std::uint32_t>(0, static_cast<std::uint32_t>(report.arms.size() - 1)),
                 *UpTo(Instrument::kGraphTime), *AnyPositive()};
    }
    return report;
  });
}

}  // namespace pawl::test
