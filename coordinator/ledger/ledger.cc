#include "coordinator/ledger/ledger.h"

#include <sys/random.h>

#include <chrono>
#include <limits>
#include <utility>

#include "coordinator/ledger/indexer.h"
#include "coordinator/ledger/layout.h"
#include "coordinator/ledger/state.h"
#include "schema/codec.h"

namespace pawl {
namespace {

using ledger_layout::LogEntry;

constexpr int kSnapshotsKept = 2;

std::int64_t SystemUnixMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

LedgerId DrawId() {
  std::array<unsigned char, 16> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return LedgerId(hex);
}

std::string Megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

std::string EventText(Seq seq) { return "event " + std::to_string(seq.value); }

}  // namespace

Ledger::State::~State() {
  if (mode != Mode::kWrite || !store) return;
  // Everything acknowledged is synced already; this only makes the next opening quick.
  if (!halted) {
    store->Flush().PermitUncheckedError();
    if (witness) (void)witness->Sync().has_value();
  }
  ForgetWriter(place);
  store.reset();
}

Error Ledger::State::Damaged(const std::string& what) const {
  return Error{Where() + "damaged: " + what + "; restore the folder from a copy", Advice::kHalt};
}

Error Ledger::State::Halt(const std::string& what) {
  if (!halted) {
    halted =
        Error{Where() + what + "; what was acknowledged is safe: mend the cause and start again",
              Advice::kHalt};
  }
  return *halted;
}

Result<std::string> Ledger::State::LogValueAt(Seq seq) {
  Result<std::optional<std::string>> value = store->Get(Family::kLog, ledger_layout::SeqKey(seq));
  if (!value) return Damaged(EventText(seq) + ": " + value.error().message);
  if (!*value) return Damaged(EventText(seq) + " is missing");
  return **std::move(value);
}

Result<Digest> Ledger::State::DigestAt(Seq seq) {
  if (seq == Seq(0)) return Digest{};
  const Result<std::string> value = LogValueAt(seq);
  if (!value) return value.error();
  const std::optional<LogEntry> entry = ledger_layout::ParseLogValue(*value);
  if (!entry) return Damaged(EventText(seq) + " is too short");
  return entry->digest;
}

Result<std::unique_ptr<Ledger>> Ledger::Open(const std::string& folder, Mode mode) {
  return Open(folder, mode, Options());
}

Result<std::unique_ptr<Ledger>> Ledger::Open(const std::string& folder, Mode mode,
                                             Options options) {
  auto state = std::make_unique<State>();
  state->place.env =
      options.env ? static_cast<rocksdb::Env*>(options.env) : rocksdb::Env::Default();
  state->place.folder = folder;
  while (state->place.folder.size() > 1 && state->place.folder.back() == '/') {
    state->place.folder.pop_back();
  }
  state->place.max_wal_bytes = options.max_wal_bytes;
  state->mode = mode;
  state->options = std::move(options);
  if (!state->options.unix_ms) state->options.unix_ms = SystemUnixMs;

  Result<Opened> opened =
      mode == Mode::kRead ? OpenToRead(state->place) : OpenToWrite(state->place, DrawId());
  if (!opened) return opened.error();
  state->store = std::move(opened->store);
  state->head = opened->head;
  state->epoch = opened->epoch;
  state->unwitnessed = std::move(opened->unwitnessed);
  if (!state->unwitnessed.empty()) state->notes.push_back(state->unwitnessed);
  if (!opened->torn.empty()) {
    state->notes.push_back(state->Where() + "the log ended in an incomplete record after event " +
                           std::to_string(opened->head.seq.value) +
                           ", never acknowledged; it was left out (" + opened->torn + ")");
  }
  if (mode == Mode::kRead) return std::unique_ptr<Ledger>(new Ledger(std::move(state)));

  NameWriter(state->place);
  Result<std::unique_ptr<Witness>> witness =
      Witness::Open(state->place.env, state->place.folder, state->head);
  if (!witness) return witness.error();
  state->witness = *std::move(witness);
  std::vector<Event> first;
  if (state->head.seq == Seq(0)) {
    first.push_back(Event{Seq(0), 0, TrackId(0), LedgerCreated{state->head.ledger, kLedgerFormat}});
  } else if (!opened->torn.empty()) {
    first.push_back(Event{Seq(0), 0, TrackId(0), TailTorn{state->head.seq, opened->torn}});
  }
  std::unique_ptr<Ledger> ledger(new Ledger(std::move(state)));
  if (!first.empty()) {
    const Result<LedgerHead> appended = ledger->Append(first);
    if (!appended) return appended.error();
  }
  return ledger;
}

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::~Ledger() = default;

const std::string& Ledger::folder() const { return state_->place.folder; }
LedgerId Ledger::id() const { return state_->head.ledger; }
LedgerHead Ledger::head() const { return state_->head; }
Epoch Ledger::epoch() const { return state_->epoch; }
const std::vector<std::string>& Ledger::notes() const { return state_->notes; }
const std::string& Ledger::unwitnessed() const { return state_->unwitnessed; }

Result<Epoch> Ledger::StartEpoch(const std::string& version) {
  const Epoch next = state_->epoch.Next();
  std::vector<Event> events = {Event{Seq(0), 0, TrackId(0), EpochStarted{next, version}}};
  const Result<LedgerHead> head = Append(events);
  if (!head) return head.error();
  return next;
}

Result<LedgerHead> Ledger::Append(std::vector<Event>& events) {
  State& state = *state_;
  CHECK(state.mode == Mode::kWrite, "append to a ledger opened to read");
  if (state.halted) return *state.halted;
  if (events.empty()) return state.head;
  const std::uint64_t free = FreeBytes();
  if (free < state.options.min_free_bytes) {
    return Error{state.Where() + Megabytes(free) + " free, " +
                     Megabytes(state.options.min_free_bytes) +
                     " wanted; free some space, nothing is lost",
                 Advice::kRetry};
  }

  rocksdb::WriteBatch batch;
  Indexer indexer(*state.store);
  LedgerHead head = state.head;
  Epoch epoch = state.epoch;
  const std::int64_t unix_ms = state.options.unix_ms();
  for (Event& event : events) {
    head.seq = head.seq.Next();
    event.seq = head.seq;
    event.unix_ms = unix_ms;
    const std::string bytes = EncodeEvent(event);
    head.digest = ledger_layout::ChainDigest(head.digest, bytes);
    state.store->Put(batch, Family::kLog, ledger_layout::SeqKey(event.seq),
                     ledger_layout::LogValue(bytes, head.digest));
    if (Status indexed = indexer.Add(event); !indexed) return state.Halt(indexed.error().message);
    if (const auto* started = std::get_if<EpochStarted>(&event.body)) epoch = started->epoch;
  }
  indexer.WriteTo(batch);
  if (state.head.seq == Seq(0)) {
    state.store->Put(batch, Family::kState, ledger_layout::kFormatKey,
                     ledger_layout::NumberValue(kLedgerFormat));
    state.store->Put(batch, Family::kState, ledger_layout::kLedgerKey, head.ledger.value);
  }
  state.store->Put(batch, Family::kState, ledger_layout::kEpochKey,
                   ledger_layout::NumberValue(epoch.value));
  state.store->Put(batch, Family::kState, ledger_layout::kHeadKey,
                   ledger_layout::HeadValue(head.seq, head.digest));

  rocksdb::WriteOptions synced;
  synced.sync = true;
  const rocksdb::Status status = state.store->db().Write(synced, &batch);
  if (!status.ok()) {
    return state.Halt("events " + std::to_string(state.head.seq.value + 1) + " to " +
                      std::to_string(head.seq.value) + " could not be synced (" + Text(status) +
                      ") and are not acknowledged");
  }
  if (Status witnessed = state.witness->Put(head); !witnessed) {
    return state.Halt(witnessed.error().message);
  }
  state.head = head;
  state.epoch = epoch;
  return head;
}

Status Ledger::PutBlob(const Digest& digest, std::string_view bytes) {
  State& state = *state_;
  CHECK(state.mode == Mode::kWrite, "a blob for a ledger opened to read");
  CHECK(Sha256(bytes) == digest, digest.Hex());
  if (state.halted) return *state.halted;
  const std::string key = ledger_layout::DigestValue(digest);
  const Result<std::optional<std::string>> present = state.store->Get(Family::kBlob, key);
  if (!present) return state.Halt(present.error().message);
  if (*present) return {};
  rocksdb::WriteBatch batch;
  state.store->Put(batch, Family::kBlob, key, bytes);
  // Not synced: the next Append's sync covers all that was written to the log before it.
  const rocksdb::Status status = state.store->db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) return state.Halt("blob " + digest.Short() + ": " + Text(status));
  return {};
}

Result<std::optional<std::string>> Ledger::Blob(const Digest& digest) const {
  Result<std::optional<std::string>> bytes =
      state_->store->Get(Family::kBlob, ledger_layout::DigestValue(digest));
  if (!bytes) return state_->Damaged("blob " + digest.Short() + ": " + bytes.error().message);
  if (*bytes && Sha256(**bytes) != digest) {
    return state_->Damaged("blob " + digest.Short() + " has other bytes than it was stored with");
  }
  return bytes;
}

Result<std::optional<Snapshot>> Ledger::LatestSnapshot() const {
  State& state = *state_;
  const std::unique_ptr<rocksdb::Iterator> snapshots =
      state.store->Iterate(Family::kSnap, /*fill_cache=*/false);
  for (snapshots->SeekToLast(); snapshots->Valid(); snapshots->Prev()) {
    const std::optional<Seq> seq = ledger_layout::ParseSeqKey(View(snapshots->key()));
    std::string why = "its key is not an event number";
    if (seq && *seq > state.head.seq) {
      why = "it is newer than the log";
    } else if (seq) {
      const Result<Digest> at = state.DigestAt(*seq);
      if (!at) return at.error();
      const std::optional<std::string_view> bytes =
          ledger_layout::ParseSnapshotValue(View(snapshots->value()), *at);
      why = "its digest differs";
      if (bytes) {
        Result<Snapshot> snapshot = DecodeSnapshot(*bytes);
        if (snapshot && snapshot->seq == *seq && snapshot->ledger == state.head.ledger) {
          return std::optional<Snapshot>(*std::move(snapshot));
        }
        why = snapshot ? "it is of another ledger" : snapshot.error().message;
      }
    }
    state.notes.push_back(state.Where() + "the snapshot at event " +
                          std::to_string(seq.value_or(Seq(0)).value) + " is ignored: " + why +
                          "; the log is folded from an older one");
  }
  // A snapshot is a cache: what cannot be read is folded anew.
  if (!snapshots->status().ok()) {
    state.notes.push_back(state.Where() + "snapshots are ignored: " + Text(snapshots->status()) +
                          "; the log is folded from its start");
  }
  return std::optional<Snapshot>();
}

Status Ledger::PutSnapshot(const Snapshot& snapshot) {
  State& state = *state_;
  CHECK(state.mode == Mode::kWrite, "a snapshot for a ledger opened to read");
  CHECK(snapshot.ledger == state.head.ledger, snapshot.ledger.value);
  CHECK(snapshot.seq <= state.head.seq, snapshot.seq.value, state.head.seq.value);
  if (state.halted) return *state.halted;
  const Result<Digest> at = state.DigestAt(snapshot.seq);
  if (!at) return at.error();
  rocksdb::WriteBatch batch;
  const std::string key = ledger_layout::SeqKey(snapshot.seq);
  state.store->Put(batch, Family::kSnap, key,
                   ledger_layout::SnapshotValue(EncodeSnapshot(snapshot), *at));
  const std::unique_ptr<rocksdb::Iterator> older =
      state.store->Iterate(Family::kSnap, /*fill_cache=*/false);
  int kept = 1;
  for (older->SeekToLast(); older->Valid(); older->Prev()) {
    if (View(older->key()) == key || ++kept <= kSnapshotsKept) continue;
    const rocksdb::Status removed = batch.Delete(state.store->family(Family::kSnap), older->key());
    CHECK(removed.ok(), Text(removed));
  }
  const rocksdb::Status status = state.store->db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) return state.Halt("snapshot: " + Text(status));
  return {};
}

Status Ledger::Scan(Seq from, const std::function<bool(const Event&)>& visit) const {
  State& state = *state_;
  Seq wanted = std::max(from, Seq(1));
  if (wanted > state.head.seq) return {};
  Result<Digest> previous = state.DigestAt(Seq(wanted.value - 1));
  if (!previous) return previous.error();
  Digest digest = *previous;
  const std::unique_ptr<rocksdb::Iterator> log =
      state.store->Iterate(Family::kLog, /*fill_cache=*/false);
  const Seq last = state.head.seq;  // what `visit` appends is not visited
  for (log->Seek(AsSlice(ledger_layout::SeqKey(wanted))); log->Valid() && wanted <= last;
       log->Next()) {
    const std::optional<Seq> seq = ledger_layout::ParseSeqKey(View(log->key()));
    if (!seq || *seq != wanted) return state.Damaged(EventText(wanted) + " is missing");
    const std::optional<LogEntry> entry = ledger_layout::ParseLogValue(View(log->value()));
    if (!entry || ledger_layout::ChainDigest(digest, entry->event) != entry->digest) {
      return state.Damaged(EventText(wanted) + " is not what was written (its digest differs)");
    }
    digest = entry->digest;
    const Result<Event> event = DecodeEvent(entry->event);
    if (!event) return state.Damaged(EventText(wanted) + ": " + event.error().message);
    if (event->seq != wanted) {
      return state.Damaged(EventText(wanted) + " says that it is " + EventText(event->seq));
    }
    if (!visit(*event)) return {};
    wanted = wanted.Next();
  }
  if (!log->status().ok()) return state.Damaged(EventText(wanted) + ": " + Text(log->status()));
  if (wanted <= last) return state.Damaged(EventText(wanted) + " is missing");
  return {};
}

Result<Event> Ledger::At(Seq seq) const {
  if (seq < Seq(1) || seq > state_->head.seq) {
    return Error{state_->Where() + "there is no " + EventText(seq) + "; it holds 1 to " +
                 std::to_string(state_->head.seq.value)};
  }
  std::optional<Event> found;
  const Status scanned = Scan(seq, [&](const Event& event) {
    found = event;
    return false;
  });
  if (!scanned) return scanned.error();
  CHECK(found.has_value(), seq.value);
  return *std::move(found);
}

namespace {

// One step over `gen` within a track. nullopt: the track ends here.
std::optional<Result<GenerationIndex>> Entry(const rocksdb::Iterator& at, TrackId track) {
  if (!at.Valid()) {
    if (at.status().ok()) return std::nullopt;
    return Result<GenerationIndex>(Error{Text(at.status()), Advice::kHalt});
  }
  const std::optional<GenerationIndex> index =
      ledger_layout::ParseGeneration(View(at.key()), View(at.value()));
  if (!index) {
    return Result<GenerationIndex>(Error{"an index entry is not readable", Advice::kHalt});
  }
  if (index->track != track) return std::nullopt;
  return Result<GenerationIndex>(*index);
}

}  // namespace

Status Ledger::Generations(TrackId track,
                           const std::function<bool(const GenerationIndex&)>& visit) const {
  const std::unique_ptr<rocksdb::Iterator> at = state_->store->Iterate(Family::kGen);
  constexpr Generation kLast(std::numeric_limits<std::uint32_t>::max());
  for (at->SeekForPrev(AsSlice(ledger_layout::GenerationKey(track, kLast)));; at->Prev()) {
    const std::optional<Result<GenerationIndex>> entry = Entry(*at, track);
    if (!entry) return {};
    if (!*entry) return state_->Damaged(entry->error().message);
    if (!visit(**entry)) return {};
  }
}

Status Ledger::GenerationsAfter(TrackId track, Generation after,
                                const std::function<bool(const GenerationIndex&)>& visit) const {
  if (after.value == std::numeric_limits<std::uint32_t>::max()) return {};
  const std::unique_ptr<rocksdb::Iterator> at = state_->store->Iterate(Family::kGen);
  for (at->Seek(AsSlice(ledger_layout::GenerationKey(track, after.Next())));; at->Next()) {
    const std::optional<Result<GenerationIndex>> entry = Entry(*at, track);
    if (!entry) return {};
    if (!*entry) return state_->Damaged(entry->error().message);
    if (!visit(**entry)) return {};
  }
}

Result<std::optional<GenerationIndex>> Ledger::FindGeneration(TrackId track,
                                                              Generation generation) const {
  const std::string key = ledger_layout::GenerationKey(track, generation);
  const Result<std::optional<std::string>> value = state_->store->Get(Family::kGen, key);
  if (!value) return state_->Damaged(value.error().message);
  if (!*value) return std::optional<GenerationIndex>();
  const std::optional<GenerationIndex> index = ledger_layout::ParseGeneration(key, **value);
  if (!index) return state_->Damaged("an index entry is not readable");
  return index;
}

Result<std::optional<Digest>> Ledger::Seen(TrackId track, OrderKind kind, Generation generation,
                                   Attempt attempt) const {
  const Result<std::optional<std::string>> value =
      state_->store->Get(Family::kSeen, ledger_layout::SeenKey(track, kind, generation, attempt));
  if (value && !*value) return std::optional<Digest>();
  const std::optional<Digest> digest = value ? ledger_layout::ParseDigest(**value) : std::nullopt;
  if (digest) return digest;
  // Every answer but "ask again" would make the worker drop its report; and nothing is added to such a ledger.
  return state_->Halt("the index of attempts is not readable" +
                      (value ? std::string() : " (" + value.error().message + ")"));
}

bool Ledger::Holds(const LedgerHead& head) const {
  if (head.ledger.value.empty()) return true;
  if (head.ledger != state_->head.ledger || head.seq > state_->head.seq) return false;
  const Result<Digest> digest = state_->DigestAt(head.seq);
  return digest && *digest == head.digest;
}

std::uint64_t Ledger::FreeBytes() const {
  std::uint64_t free = 0;
  const rocksdb::Status status = state_->place.env->GetFreeSpace(state_->place.folder, &free);
  if (status.IsNotSupported()) return std::numeric_limits<std::uint64_t>::max();  // in memory
  return status.ok() ? free : 0;
}

}  // namespace pawl
