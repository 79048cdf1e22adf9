#include "tests/support/draw.h"

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::exec;

rc::Gen<Budget> AnyBudget() {
  return exec([] {
    return Budget{*AnyInteger<std::uint32_t>(), *NotNegative(), *AnyInteger<std::uint32_t>()};
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

rc::Gen<JobSubmitted> AnySubmitted() {
  return exec([] {
    return JobSubmitted{*AnyWord(), *AnyLine(), *AnyLine(), *Within<std::int32_t>(-1'000, 1'000),
                        *AnyLine()};
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
      case 13:
        return TrackClosed{*AnyLine()};
      case 14:
        return *AnySubmitted();
      default:
        return JobMoved{*AnyWord(), *UpTo(JobStatus::kCancelled), *AnyLine()};
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

}  // namespace

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
    spec.require_pinned = *arbitrary<bool>();
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
    std::map<std::string, JobState> jobs;
    for (std::size_t left = *Within<std::size_t>(0, 2); left > 0; --left) {
      JobState job{*AnySubmitted(), *UpTo(JobStatus::kCancelled), *AnyLine(),
                   Seq(*AnyInteger<std::uint64_t>())};
      jobs[job.submitted.job] = job;
    }
    for (auto& [name, job] : jobs) snapshot.jobs.push_back(job);
    std::uint32_t id = 0;
    for (TrackState& track : snapshot.tracks)
      track.id = TrackId(id += *Within<std::uint32_t>(1, 9));
    return snapshot;
  });
}

}  // namespace pawl::test
