// Ledger::VerifyChain: everything on the disk is read again.
//
// The indexes are compared with the log in constant memory: every event must be in its entry, and
// the entries must name no more events than there are. Together that is equality.

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "coordinator/ledger/indexer.h"
#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/state.h"
#include "schema/codec.h"

namespace pawl {
namespace {

using Problem = std::optional<std::string>;

constexpr std::uint64_t kProgressEvery = 10'000;

std::string EventText(Seq seq) { return "event " + std::to_string(seq.value); }

std::string GenerationText(TrackId track, Generation generation) {
  return "track " + std::to_string(track.value) + " generation " + std::to_string(generation.value);
}

class Verifier {
 public:
  Verifier(const Ledger& ledger, Store& store, const LedgerHead& head)
      : ledger_(ledger), store_(store), head_(head) {}

  Problem Run(const std::function<void(Seq done, Seq total)>& progress) {
    // Blocks that hold no event (filters, indexes of files) are read too.
    const rocksdb::Status files = store_.db().VerifyChecksum();
    if (!files.ok()) return "a file is damaged: " + Text(files);
    if (Problem problem = VerifyLog(progress)) return problem;
    if (Problem problem = VerifyState()) return problem;
    if (Problem problem = VerifyGenerations()) return problem;
    if (Problem problem = VerifyAttempts()) return problem;
    if (Problem problem = VerifyBlobs()) return problem;
    return VerifySnapshots();
  }

 private:
  Problem VerifyLog(const std::function<void(Seq done, Seq total)>& progress) {
    Problem problem;
    const Status scanned = ledger_.Scan(Seq(1), [&](const Event& event) {
      problem = VerifyEvent(event);
      if (progress && (event.seq.value % kProgressEvery == 0 || event.seq == head_.seq)) {
        progress(event.seq, head_.seq);
      }
      return !problem;
    });
    if (problem) return problem;
    if (!scanned) return scanned.error().message;
    const std::unique_ptr<rocksdb::Iterator> after = store_.Iterate(Family::kLog);
    after->Seek(AsSlice(ledger_layout::SeqKey(head_.seq.Next())));
    if (after->Valid()) return "the log goes on after its head, " + EventText(head_.seq);
    return std::nullopt;
  }

  Problem VerifyEvent(const Event& event) {
    const auto* created = std::get_if<LedgerCreated>(&event.body);
    if ((event.seq == Seq(1)) != (created != nullptr)) {
      return EventText(event.seq) +
             (created ? " makes the ledger a second time" : " is not the making of the ledger");
    }
    if (created && created->ledger != head_.ledger) {
      return "event 1 made ledger " + created->ledger.value + ", this one is " + head_.ledger.value;
    }
    if (const auto* started = std::get_if<EpochStarted>(&event.body)) epoch_ = started->epoch;
    if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
      for (const auto& [name, digest] : opened->spec.package) {
        const Result<std::optional<std::string>> blob = ledger_.Blob(digest);
        if (!blob) return blob.error().message;
        if (!*blob) {
          return "package file " + name + " (" + digest.Short() + ") of track " +
                 std::to_string(event.track.value) + " is missing";
        }
      }
    }
    if (Problem problem = VerifyGenerationOf(event)) return problem;
    return VerifyAttemptOf(event);
  }

  // The event is where its generation's entry says.
  Problem VerifyGenerationOf(const Event& event) {
    const std::optional<Generation> generation = IndexedGeneration(event);
    if (!generation) return std::nullopt;
    ++generation_events_;
    if (!entry_ || entry_->track != event.track || entry_->generation != *generation) {
      Result<std::optional<GenerationIndex>> found =
          ledger_.FindGeneration(event.track, *generation);
      if (!found) return found.error().message;
      entry_ = *std::move(found);
    }
    bool listed = false;
    if (entry_ && std::holds_alternative<Proposed>(event.body)) {
      listed = entry_->proposed == event.seq;
    } else if (entry_ && std::holds_alternative<Decided>(event.body)) {
      listed = entry_->decided == event.seq;
    } else if (entry_) {
      for (const Seq measured : entry_->measured) listed |= measured == event.seq;
    }
    if (listed) return std::nullopt;
    return GenerationText(event.track, *generation) + ": " + EventText(event.seq) +
           " is not in its index entry (altered, or the generation has two such events)";
  }

  Problem VerifyAttemptOf(const Event& event) {
    const std::optional<SeenMark> mark = IndexedAttempt(event);
    if (!mark) return std::nullopt;
    const Result<std::optional<std::string>> stored = store_.Get(Family::kSeen, mark->key);
    if (!stored) return stored.error().message;
    const std::optional<Digest> digest =
        *stored ? ledger_layout::ParseDigest(**stored) : std::nullopt;
    if (!digest) return EventText(event.seq) + ": its attempt is not in the index of attempts";
    if (mark->digest.IsZero()) {
      ++granted_;
      return std::nullopt;
    }
    ++reported_;
    if (*digest == mark->digest) return std::nullopt;
    return EventText(event.seq) + ": the index of attempts names another report (" +
           digest->Short() + ", the log " + mark->digest.Short() + ")";
  }

  Problem VerifyState() {
    const Result<std::optional<std::string>> bytes =
        store_.Get(Family::kState, ledger_layout::kEpochKey);
    if (!bytes) return bytes.error().message;
    const Epoch stored(*bytes ? ledger_layout::ParseNumber(**bytes).value_or(0) : 0);
    if (stored == epoch_) return std::nullopt;
    return "the stored epoch is " + std::to_string(stored.value) + ", the log's " +
           std::to_string(epoch_.value);
  }

  Problem VerifyGenerations() {
    std::uint64_t listed = 0;
    const std::unique_ptr<rocksdb::Iterator> at = store_.Iterate(Family::kGen, false);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::optional<GenerationIndex> index =
          ledger_layout::ParseGeneration(View(at->key()), View(at->value()));
      if (!index) return "an index entry is not readable";
      listed += index->measured.size() + (index->proposed == Seq(0) ? 0 : 1) +
                (index->decided == Seq(0) ? 0 : 1);
      for (std::size_t i = 1; i < index->measured.size(); ++i) {
        if (index->measured[i] <= index->measured[i - 1]) {
          return GenerationText(index->track, index->generation) +
                 ": its index entry lists reports out of order";
        }
      }
    }
    if (!at->status().ok()) return Text(at->status());
    if (listed == generation_events_) return std::nullopt;
    return "the index of generations names " + std::to_string(listed) + " events, the log has " +
           std::to_string(generation_events_);
  }

  Problem VerifyAttempts() {
    std::uint64_t entries = 0;
    std::uint64_t taken = 0;
    const std::unique_ptr<rocksdb::Iterator> at = store_.Iterate(Family::kSeen, false);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::optional<Digest> digest = ledger_layout::ParseDigest(View(at->value()));
      if (!digest) return "an entry of the index of attempts is not readable";
      ++entries;
      if (!digest->IsZero()) ++taken;
    }
    if (!at->status().ok()) return Text(at->status());
    if (entries != granted_) {
      return "the index of attempts has " + std::to_string(entries) + " entries, the log grants " +
             std::to_string(granted_) + " attempts";
    }
    if (taken == reported_) return std::nullopt;
    return "the index of attempts has " + std::to_string(taken) + " reports, the log " +
           std::to_string(reported_);
  }

  Problem VerifyBlobs() {
    const std::unique_ptr<rocksdb::Iterator> at = store_.Iterate(Family::kBlob, false);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::optional<Digest> digest = ledger_layout::ParseDigest(View(at->key()));
      if (!digest) return "a blob's name is not a digest";
      if (Sha256(View(at->value())) != *digest) {
        return "blob " + digest->Short() + " has other bytes than it was stored with";
      }
    }
    if (!at->status().ok()) return Text(at->status());
    return std::nullopt;
  }

  Problem VerifySnapshots() {
    const std::unique_ptr<rocksdb::Iterator> at = store_.Iterate(Family::kSnap, false);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::optional<Seq> seq = ledger_layout::ParseSeqKey(View(at->key()));
      if (!seq || *seq > head_.seq) return "a snapshot is newer than the log";
      const Result<std::optional<std::string>> value =
          store_.Get(Family::kLog, ledger_layout::SeqKey(*seq));
      if (!value) return value.error().message;
      const auto entry = *value ? ledger_layout::ParseLogValue(**value) : std::nullopt;
      const auto bytes = entry ? ledger_layout::ParseSnapshotValue(View(at->value()), entry->digest)
                               : std::nullopt;
      if (!bytes || !DecodeSnapshot(*bytes)) {
        return "the snapshot at " + EventText(*seq) + " is damaged (opening ignores it)";
      }
    }
    if (!at->status().ok()) return Text(at->status());
    return std::nullopt;
  }

  const Ledger& ledger_;
  Store& store_;
  const LedgerHead head_;

  std::optional<GenerationIndex> entry_;  // the one looked up last
  Epoch epoch_;
  std::uint64_t generation_events_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace

Result<ChainReport> Ledger::VerifyChain(
    const std::function<void(Seq done, Seq total)>& progress) const {
  ChainReport report;
  report.events = state_->head.seq;
  if (Problem problem = Verifier(*this, *state_->store, state_->head).Run(progress)) {
    report.problem = *std::move(problem);
  }
  return report;
}

}  // namespace pawl
