// Snapshots: the state of every track, with all that it has tried.

#include <algorithm>
#include <vector>

#include "schema/codec.h"
#include "schema/codec_ledger.h"
#include "schema/snapshot.h"

namespace pawl {
namespace codec {
namespace {

constexpr std::size_t kMaxTracks = 1'000'000;
constexpr std::size_t kMaxTried = 1u << 28;
constexpr std::size_t kMaxRefused = 1'000'000;

void WriteKnob(const KnobRecord& value, wire::KnobRecord::Builder out) {
  out.setKnob(AsText(value.knob));
  out.setPayoff(value.payoff);
  out.setTries(value.tries);
  out.setKeeps(value.keeps);
  out.setRefusals(value.refusals);
  WriteList(value.refused, out.initRefused(Size(value.refused.size())), WriteKnobValue);
}

KnobRecord ReadKnob(wire::KnobRecord::Reader in, const Place& at) {
  KnobRecord value;
  value.knob = (at / "knob").Word(in.getKnob());
  value.payoff = (at / "payoff").Finite(in.getPayoff());
  value.tries = in.getTries();
  value.keeps = in.getKeeps();
  value.refusals = in.getRefusals();
  value.refused = ReadList(in.getRefused(), at / "refused", 0, kMaxRefused, ReadKnobValue);
  return value;
}

void WriteTrack(const TrackState& value, wire::TrackState::Builder out) {
  out.setId(value.id.value);
  WriteSpec(value.spec, out.initSpec());
  out.setForkedFrom(value.forked_from.value);
  out.setStatus(static_cast<wire::TrackStatus>(value.status));
  out.setWhy(AsText(FitLine(value.why)));
  WriteConfiguration(value.incumbent, out.initIncumbent(Size(value.incumbent.settings.size())));
  out.setIncumbentSince(value.incumbent_since.value);
  out.setLast(value.last.value);
  out.setKept(value.kept);
  out.setRejected(value.rejected);
  out.setVoided(value.voided);
  out.setStale(value.stale);
  out.setVoidsInRow(value.voids_in_row);
  out.setGain(value.gain);
  out.setWorkerSeconds(value.worker_seconds);
  out.setConfirmations(value.confirmations);
  WriteList(value.knobs, out.initKnobs(Size(value.knobs.size())), WriteKnob);
  // A set has no order of its own, and equal sets have equal bytes.
  std::vector<std::uint64_t> tried(value.tried.begin(), value.tried.end());
  std::sort(tried.begin(), tried.end());
  SetList(tried, out.initTried(Size(tried.size())));
  out.setLastOrdinal(value.last_ordinal);
  out.setSettled(value.settled.value);
}

TrackState ReadTrack(wire::TrackState::Reader in, const Place& at) {
  TrackState value;
  value.id = (at / "id").Counted<TrackId>(in.getId());
  value.spec = ReadSpec(in.getSpec(), at / "spec");
  value.forked_from = TrackId(in.getForkedFrom());
  value.status = (at / "status").Known(in.getStatus(), TrackStatus::kClosed);
  value.why = (at / "why").Line(in.getWhy());
  value.incumbent = ReadConfiguration(in.getIncumbent(), at / "incumbent");
  value.incumbent_since = Generation(in.getIncumbentSince());
  value.last = Generation(in.getLast());
  value.kept = in.getKept();
  value.rejected = in.getRejected();
  value.voided = in.getVoided();
  value.stale = in.getStale();
  value.voids_in_row = in.getVoidsInRow();
  value.gain = (at / "gain").NotNegative(in.getGain());
  value.worker_seconds = (at / "worker_seconds").NotNegative(in.getWorkerSeconds());
  value.confirmations = in.getConfirmations();
  value.knobs = ReadList(in.getKnobs(), at / "knobs", 0, kMaxKnobs, ReadKnob);
  const auto tried = in.getTried();
  const Place tried_at = at / "tried";
  tried_at.Count(tried.size(), 0, kMaxTried);
  if (!at.failed()) {
    value.tried.reserve(tried.size());
    std::uint64_t last = 0;
    for (unsigned i = 0; i < tried.size(); ++i) {
      const std::uint64_t hash = tried[i];
      if (i > 0 && hash <= last) {
        tried_at[i].Refuse(std::to_string(hash), "above " + std::to_string(last));
        break;
      }
      value.tried.insert(last = hash);
    }
  }
  value.last_ordinal = in.getLastOrdinal();
  value.settled = Seq(in.getSettled());
  return value;
}

void WriteSnapshot(const Snapshot& value, wire::Snapshot::Builder out) {
  out.setSeq(value.seq.value);
  out.setEpoch(value.epoch.value);
  out.setLedger(AsText(value.ledger.value));
  WriteList(value.tracks, out.initTracks(Size(value.tracks.size())), WriteTrack);
  if (value.jobs.empty()) return;  // the bytes of a ledger without jobs are those of ever before
  WriteList(value.jobs, out.initJobs(Size(value.jobs.size())),
            [](const JobState& job, wire::JobState::Builder into) {
              WriteSubmitted(job.submitted, into.initSubmitted());
              into.setStatus(static_cast<wire::JobStatus>(job.status));
              into.setBy(AsText(FitLine(job.by)));
              into.setAt(job.at.value);
            });
}

Snapshot ReadSnapshot(wire::Snapshot::Reader in, const Place& at) {
  Snapshot value;
  value.seq = Seq(in.getSeq());
  value.epoch = Epoch(in.getEpoch());
  value.ledger = LedgerId((at / "ledger").LedgerName(in.getLedger()));
  const Place jobs = at / "jobs";
  value.jobs = ReadList(in.getJobs(), jobs, 0, kMaxTracks,
                        [](wire::JobState::Reader job, const Place& place) {
                          return JobState{
                              ReadSubmitted(job.getSubmitted(), place / "submitted"),
                              (place / "status").Known(job.getStatus(), JobStatus::kCancelled),
                              (place / "by").Line(job.getBy()), Seq(job.getAt())};
                        });
  for (std::size_t i = 1; i < value.jobs.size(); ++i) {
    if (!(value.jobs[i - 1].submitted.job < value.jobs[i].submitted.job)) {
      jobs[i].Refuse("'" + value.jobs[i].submitted.job + "'", "names in rising order");
    }
  }
  const Place tracks = at / "tracks";
  value.tracks = ReadList(in.getTracks(), tracks, 0, kMaxTracks, ReadTrack);
  for (std::size_t i = 1; i < value.tracks.size(); ++i) {
    if (!(value.tracks[i - 1].id < value.tracks[i].id)) {
      tracks[i].Refuse("track " + std::to_string(value.tracks[i].id.value), "rising ids");
    }
  }
  return value;
}

std::size_t SnapshotWords(const Snapshot& value) {
  std::size_t words = 1024;
  for (const JobState& job : value.jobs) words += 64 + job.submitted.text.size() / 8;
  for (const TrackState& track : value.tracks) words += 256 + track.tried.size();
  return words;
}

}  // namespace
}  // namespace codec

std::string EncodeSnapshot(const Snapshot& snapshot) {
  return codec::Pack<wire::Snapshot>(snapshot, codec::SnapshotWords(snapshot),
                                     codec::WriteSnapshot);
}

Result<Snapshot> DecodeSnapshot(std::string_view bytes) {
  return codec::Unpack<wire::Snapshot>(bytes, "snapshot", codec::OwnWords(bytes),
                                       codec::ReadSnapshot);
}

}  // namespace pawl
