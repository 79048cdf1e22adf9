#include "coordinator/ledger/opening.h"

#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "coordinator/ledger/wal_order.h"
#include "schema/file_kind.h"

namespace pawl {
namespace {

using ledger_layout::HeadEntry;
using ledger_layout::LogEntry;

constexpr std::uint64_t kTailEvents = 1000;  // whose chain is checked at every opening
constexpr int kReadAttempts = 20;

std::string Where(const Store::Place& place) { return "ledger " + place.folder + ": "; }

Error Damage(const Store::Place& place, const std::string& what) {
  return Error{Where(place) + "damaged: " + what +
                   "; restore the folder from a copy (nothing in it was changed)",
               Advice::kHalt};
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What lies in the folder, before RocksDB is asked.
struct Look {
  bool exists = false;
  bool current = false;   // RocksDB's entrance
  bool database = false;  // other files of a database or of a ledger
  std::string foreign;    // a file that is neither
  Witness::Reading witness;
};

Result<Look> LookAt(const Store::Place& place) {
  Look look;
  Result<Witness::Reading> witness = Witness::Read(place.env, place.folder);
  if (!witness) return witness.error();
  look.witness = *std::move(witness);
  std::vector<std::string> names;
  const rocksdb::Status status = place.env->GetChildren(place.folder, &names);
  if (status.IsNotFound()) {
    // The same is said of what is no folder, or none of ours to read.
    if (!place.env->FileExists(place.folder).ok()) return look;
    const std::string there = WhatIsAt(place.folder).value_or(kAFile);
    if (there == kAFolder) {
      return Error{Where(place) + "the folder cannot be read; name one that can", Advice::kReject};
    }
    return Error{Where(place) + "is " + there + "; name a folder", Advice::kReject};
  }
  if (!status.ok()) {
    return Error{Where(place) + Text(status) + "; name a folder that can be read", Advice::kReject};
  }
  look.exists = true;
  for (const std::string& name : names) {
    if (name == "CURRENT") {
      look.current = true;
    } else if (name == "HEAD" || EndsWith(name, ".sst") || EndsWith(name, ".log") ||
               name.rfind("MANIFEST-", 0) == 0) {
      look.database = true;
    } else if (name != "." && name != ".." && name != "LOCK" && name != "WRITER" &&
               name != "HEAD.new" && name != "IDENTITY" && name.rfind("LOG", 0) != 0 &&
               name.rfind("OPTIONS-", 0) != 0 && !EndsWith(name, ".dbtmp")) {
      look.foreign = name;
    }
  }
  return look;
}

bool Unfinished(const Look& look) { return look.witness.head && look.witness.head->seq == Seq(0); }

Status Refusal(const Store::Place& place, const Look& look) {
  if (look.current) return {};
  if (look.database) return Damage(place, "the file CURRENT is missing");
  if (!look.exists) {
    return Error{Where(place) + "there is none; `pawl run` makes one", Advice::kReject};
  }
  return Error{Where(place) + "not a ledger" +
                   (look.foreign.empty() ? " (empty)" : " (it holds '" + look.foreign + "')") +
                   "; name another folder",
               Advice::kReject};
}

// The first seq that should be in the log and is not; by keys alone.
Result<std::optional<std::pair<Seq, Seq>>> FindGap(Store& store, Seq head) {
  const std::unique_ptr<rocksdb::Iterator> log = store.Iterate(Family::kLog, /*fill_cache=*/false);
  Seq wanted(1);
  for (log->SeekToFirst(); log->Valid(); log->Next()) {
    const std::optional<Seq> seq = ledger_layout::ParseSeqKey(View(log->key()));
    if (!seq) return Error{"a key of the log is no event number", Advice::kHalt};
    if (*seq != wanted) return std::optional(std::make_pair(wanted, Seq(seq->value - 1)));
    wanted = wanted.Next();
  }
  if (!log->status().ok()) return Error{Text(log->status()), Advice::kHalt};
  if (wanted <= head) return std::optional(std::make_pair(wanted, head));
  return std::optional<std::pair<Seq, Seq>>();
}

Status CheckTail(const Store::Place& place, Store& store, Seq head) {
  const std::uint64_t count = std::min(kTailEvents, head.value);
  Seq wanted(head.value - count + 1);
  std::optional<Digest> previous;
  if (wanted == Seq(1)) previous = Digest{};
  const Seq first = previous ? wanted : Seq(wanted.value - 1);
  const std::unique_ptr<rocksdb::Iterator> log = store.Iterate(Family::kLog, /*fill_cache=*/false);
  for (log->Seek(AsSlice(ledger_layout::SeqKey(first))); log->Valid(); log->Next()) {
    const std::optional<LogEntry> entry = ledger_layout::ParseLogValue(View(log->value()));
    if (!entry) return Damage(place, "event " + std::to_string(wanted.value) + " is too short");
    if (previous) {
      if (ledger_layout::ChainDigest(*previous, entry->event) != entry->digest) {
        return Damage(place, "event " + std::to_string(wanted.value) +
                                 " is not what was written (its digest differs)");
      }
      wanted = wanted.Next();
    }
    previous = entry->digest;
  }
  if (!log->status().ok()) return Damage(place, Text(log->status()));
  return {};
}

// "event 7", "events 7 to 9"
std::string Range(Seq first, Seq last) {
  if (first == last) return "event " + std::to_string(first.value);
  return "events " + std::to_string(first.value) + " to " + std::to_string(last.value);
}

Status CheckFormat(const Store::Place& place, Store& store) {
  const Result<std::optional<std::string>> bytes =
      store.Get(Family::kState, ledger_layout::kFormatKey);
  if (!bytes) return Damage(place, bytes.error().message);
  if (!*bytes) return {};  // not begun, or damaged: what follows tells
  const std::optional<std::uint32_t> format = ledger_layout::ParseNumber(**bytes);
  if (!format) return Damage(place, "its format is not a number");
  if (*format > kLedgerFormat) {
    return Error{Where(place) + "it has format " + std::to_string(*format) +
                     ", this pawl reads up to " + std::to_string(kLedgerFormat) +
                     "; use the pawl that wrote it, or a newer one",
                 Advice::kReject};
  }
  return {};
}

// Reads head, id and epoch, and compares what must agree: the log's end, the head, the number of
// events, the witness.
Status CheckWhole(const Store::Place& place, const Look& look, Opened& opened) {
  Store& store = *opened.store;
  if (Status format = CheckFormat(place, store); !format) return format;
  const Result<std::optional<std::string>> head_bytes =
      store.Get(Family::kState, ledger_layout::kHeadKey);
  const Result<std::optional<std::string>> id =
      store.Get(Family::kState, ledger_layout::kLedgerKey);
  const Result<std::optional<std::string>> epoch_bytes =
      store.Get(Family::kState, ledger_layout::kEpochKey);
  for (const auto* read : {&head_bytes, &id, &epoch_bytes}) {
    if (!*read) return Damage(place, read->error().message);
  }
  const Result<std::optional<HeadEntry>> last = LastEvent(store);
  if (!last) return Damage(place, last.error().message);
  const std::optional<LedgerHead>& witness = look.witness.head;
  if (!*head_bytes || !*id) {
    if (!*last && Unfinished(look)) return {};
    const std::string acked =
        witness ? " although event " + std::to_string(witness->seq.value) + " was acknowledged"
                : "";
    return Damage(place, *last ? "the head is missing" : "it holds no event" + acked);
  }
  const std::optional<HeadEntry> head = ledger_layout::ParseHead(**head_bytes);
  if (!head) return Damage(place, "the head is not readable");
  opened.head = LedgerHead{LedgerId(**id), head->seq, head->digest};
  if (*epoch_bytes) opened.epoch = Epoch(ledger_layout::ParseNumber(**epoch_bytes).value_or(0));

  const Result<std::uint64_t> entries = store.Entries(Family::kLog);
  if (!entries) return Damage(place, entries.error().message);
  if (*entries != head->seq.value || !*last || (*last)->seq != head->seq) {
    // Seldom reached, so it may take as long as reading every key does.
    const Result<std::optional<std::pair<Seq, Seq>>> gap = FindGap(store, head->seq);
    if (!gap) return Damage(place, gap.error().message);
    if (*gap)
      return Damage(place, Range((*gap)->first, (*gap)->second) + " of " +
                               std::to_string(head->seq.value) + " missing from the log");
    if (!*last || (*last)->seq != head->seq) {
      return Damage(place,
                    "the log goes on after its head, event " + std::to_string(head->seq.value));
    }
  }
  if ((*last)->digest != head->digest) {
    return Damage(place,
                  "event " + std::to_string(head->seq.value) + " is not the one the head names");
  }
  if (witness) {
    if (witness->ledger != opened.head.ledger) {
      return Damage(place, "HEAD is of ledger " + witness->ledger.value + ", the log of " +
                               opened.head.ledger.value);
    }
    if (witness->seq > head->seq) {
      return Error{Where(place) + "damaged: the log ends at event " +
                       std::to_string(head->seq.value) + ", but event " +
                       std::to_string(witness->seq.value) +
                       " was acknowledged (HEAD): " + Range(head->seq.Next(), witness->seq) +
                       " missing; restore the folder from a copy, or delete " + place.folder +
                       "/HEAD to go on without them (nothing was changed)",
                   Advice::kHalt};
    }
    if (witness->seq > Seq(0)) {
      const Result<std::optional<std::string>> value =
          store.Get(Family::kLog, ledger_layout::SeqKey(witness->seq));
      if (!value) return Damage(place, value.error().message);
      const std::optional<LogEntry> entry =
          *value ? ledger_layout::ParseLogValue(**value) : std::nullopt;
      if (!entry || entry->digest != witness->digest) {
        return Damage(place, "event " + std::to_string(witness->seq.value) +
                                 " is not the one that was acknowledged (HEAD)");
      }
    }
  }
  if (!look.witness.exists) {
    opened.unwitnessed = Where(place) +
                         "HEAD is missing: events that were acknowledged after event " +
                         std::to_string(head->seq.value) + " would not be missed";
  } else if (look.witness.damaged) {
    opened.unwitnessed = Where(place) + "HEAD is damaged; the log is whole up to event " +
                         std::to_string(head->seq.value);
  }
  return CheckTail(place, store, head->seq);
}

// Refused: says how far it is whole.
Error DamagedLog(const Store::Place& place, const Look& look, const rocksdb::Status& refused) {
  std::string what = Text(refused);
  const std::string acked =
      look.witness.head ? std::to_string(look.witness.head->seq.value) : std::string("?");
  std::unique_ptr<Store> store;
  std::optional<HeadEntry> last;
  if (Store::Open(place, Store::Access::kRead, Store::Recovery::kPrefix, &store).ok()) {
    const Result<std::optional<HeadEntry>> read = LastEvent(*store);
    if (read) last = *read;
  }
  if (last) {
    what += "; events 1 to " + std::to_string(last->seq.value) + " can be read, of " + acked +
            " acknowledged";
  } else {
    what += "; none of " + acked + " acknowledged events can be read";
  }
  return Damage(place, what);
}

// Changes when the writer has flushed or compacted: what was read meanwhile may be of two minds.
std::string Fingerprint(const Store::Place& place) {
  std::string current;
  if (!rocksdb::ReadFileToString(place.env, place.folder + "/CURRENT", &current).ok()) return "";
  std::string manifest = current;
  while (!manifest.empty() && manifest.back() == '\n') manifest.pop_back();
  std::uint64_t size = 0;
  if (!place.env->GetFileSize(place.folder + "/" + manifest, &size).ok()) return "";
  return current + std::to_string(size);
}

Result<Opened> ReadOnce(const Store::Place& place, const Look& look) {
  Opened opened;
  if (const auto why = WhyNotInOrder(place.env, place.folder)) {
    return Damage(place, "the write-ahead log " + *why);
  }
  const rocksdb::Status whole =
      Store::Open(place, Store::Access::kRead, Store::Recovery::kWhole, &opened.store);
  if (!whole.ok()) {
    // Only an incomplete record at the end may go, and only if it was never acknowledged.
    const rocksdb::Status cut =
        Store::Open(place, Store::Access::kRead, Store::Recovery::kCutTail, &opened.store);
    if (cut.IsIOError() && !cut.IsPathNotFound()) {
      return Error{
          Where(place) + "cannot be read: " + Text(cut) + "; mend the cause and open it again",
          Advice::kRetry};
    }
    if (!cut.ok()) return DamagedLog(place, look, cut);
    opened.torn = Text(whole);
  }
  if (Status checked = CheckWhole(place, look, opened); !checked) return checked.error();
  return opened;
}

Error Locked(const Store::Place& place) {
  std::string writer;
  std::string by = "another process";
  if (rocksdb::ReadFileToString(place.env, place.folder + "/WRITER", &writer).ok()) {
    while (!writer.empty() && writer.back() == '\n') writer.pop_back();
    if (!writer.empty() && writer.size() < 200) by = writer;
  }
  return Error{Where(place) + by + " is writing to it; stop that one first, or use another ledger",
               Advice::kRetry};
}

Result<rocksdb::FileLock*> Lock(const Store::Place& place) {
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = place.env->LockFile(place.folder + "/LOCK", &lock);
  if (status.ok()) return lock;
  const std::string text = Text(status);
  if (text.find("hile lock file") != std::string::npos ||
      text.find("lock hold by current process") != std::string::npos ||
      text.find("already held") != std::string::npos) {
    return Locked(place);
  }
  return Error{Where(place) + text + "; name a folder that can be written", Advice::kReject};
}

Status MakeFolder(const Store::Place& place) {
  for (std::size_t at = 1; at <= place.folder.size(); ++at) {
    if (at != place.folder.size() && place.folder[at] != '/') continue;
    const rocksdb::Status status = place.env->CreateDirIfMissing(place.folder.substr(0, at));
    if (!status.ok()) {
      return Error{Where(place) + Text(status) + "; name a folder that can be written",
                   Advice::kReject};
    }
  }
  return {};
}

Status RefuseNetwork(const Store::Place& place) {
  if (place.env != rocksdb::Env::Default()) return {};
  struct statfs found {};
  if (statfs(place.folder.c_str(), &found) != 0) return {};
  const std::string_view name = NetworkFileSystem(static_cast<long>(found.f_type));
  if (name.empty()) return {};
  return Error{Where(place) + "it lies on " + std::string(name) +
                   ", where a lock does not keep a second writer out; use a local disk",
               Advice::kReject};
}

Result<Opened> Create(const Store::Place& place, const LedgerId& id) {
  // HEAD first: from here on a folder without events is an unfinished ledger, not one that lost
  // them.
  Result<std::unique_ptr<Witness>> witness =
      Witness::Open(place.env, place.folder, LedgerHead{id, Seq(0), Digest{}});
  if (!witness) return witness.error();
  Opened opened;
  const rocksdb::Status status =
      Store::Open(place, Store::Access::kCreate, Store::Recovery::kWhole, &opened.store);
  if (!status.ok()) {
    return Error{Where(place) + "cannot be made: " + Text(status), Advice::kReject};
  }
  opened.head.ledger = id;
  return opened;
}

}  // namespace

std::string_view NetworkFileSystem(long magic) {
  struct Known {
    unsigned long magic;
    std::string_view name;
  };
  // linux/magic.h and each file system's own header.
  constexpr std::array<Known, 7> kKnown = {{{0x6969, "nfs"},
                                            {0x517B, "smb"},
                                            {0xFF534D42, "cifs"},
                                            {0xFE534D42, "smb2"},
                                            {0x5346414F, "afs"},
                                            {0x00C36400, "ceph"},
                                            {0x01021997, "9p"}}};
  for (const Known& known : kKnown) {
    if ((static_cast<unsigned long>(magic) & 0xFFFFFFFFul) == known.magic) return known.name;
  }
  return {};
}

Result<std::optional<HeadEntry>> LastEvent(Store& store) {
  const std::unique_ptr<rocksdb::Iterator> log = store.Iterate(Family::kLog);
  log->SeekToLast();
  if (!log->status().ok()) return Error{Text(log->status()), Advice::kHalt};
  if (!log->Valid()) return std::optional<HeadEntry>();
  const std::optional<Seq> seq = ledger_layout::ParseSeqKey(View(log->key()));
  const std::optional<LogEntry> entry = ledger_layout::ParseLogValue(View(log->value()));
  if (!seq || !entry) return Error{"the last event is not readable", Advice::kHalt};
  return std::optional<HeadEntry>(HeadEntry{*seq, entry->digest});
}

Result<Opened> OpenToRead(const Store::Place& place) {
  for (int attempt = 1;; ++attempt) {
    // HEAD is read before the log: a writer beside us only ever makes the log longer than it says.
    const Result<Look> look = LookAt(place);
    if (!look) return look.error();
    if (Status refusal = Refusal(place, *look); !refusal) return refusal.error();
    const std::string before = Fingerprint(place);
    Result<Opened> opened = ReadOnce(place, *look);
    const bool same = Fingerprint(place) == before;
    if (same && opened && opened->head.seq == Seq(0)) {
      return Error{Where(place) + "it was not finished being made; `pawl run` finishes it",
                   Advice::kReject};
    }
    if ((same && (opened || !before.empty())) || attempt == kReadAttempts) return opened;
  }
}

Result<Opened> OpenToWrite(const Store::Place& place, const LedgerId& fresh_id) {
  Result<Look> look = LookAt(place);
  if (!look) return look.error();
  const bool fresh = !look->current && !look->database && look->foreign.empty();
  if (!fresh && !Unfinished(*look)) {
    if (Status refusal = Refusal(place, *look); !refusal) return refusal.error();
  }
  if (Status made = MakeFolder(place); !made) return made.error();
  if (Status local = RefuseNetwork(place); !local) return local.error();
  // Held while reading, so that no other writer changes what is read; RocksDB takes it again for
  // itself.
  const Result<rocksdb::FileLock*> lock = Lock(place);
  if (!lock) return lock.error();
  look = LookAt(place);
  Result<Opened> read = Error{};
  if (look && look->current) read = ReadOnce(place, *look);
  place.env->UnlockFile(*lock);
  if (!look) return look.error();

  const bool begin = (fresh && !look->current && !look->database) || Unfinished(*look);
  if (begin && (!read || read->head.seq == Seq(0))) {
    return Create(place, look->witness.head ? look->witness.head->ledger : fresh_id);
  }
  if (!read) return read.error();
  read->store.reset();
  const Store::Recovery recovery =
      read->torn.empty() ? Store::Recovery::kWhole : Store::Recovery::kCutTail;
  const rocksdb::Status status = Store::Open(place, Store::Access::kWrite, recovery, &read->store);
  if (!status.ok()) {
    if (status.ToString().find("LOCK") != std::string::npos) return Locked(place);
    return Error{Where(place) + Text(status) +
                     "; nothing acknowledged is lost: mend the cause and open it again",
                 Advice::kHalt};
  }
  const Result<std::optional<HeadEntry>> last = LastEvent(*read->store);
  if (!last) return Damage(place, last.error().message);
  if (!*last || (*last)->seq != read->head.seq || (*last)->digest != read->head.digest) {
    return Error{Where(place) +
                     "it changed while it was being opened; is another pawl at work? open it again",
                 Advice::kRetry};
  }
  return read;
}

void NameWriter(const Store::Place& place) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string text =
      "process " + std::to_string(getpid()) + " on " + std::string(host.data()) + "\n";
  // For people only: without it the refusal names no one.
  rocksdb::WriteStringToFile(place.env, text, place.folder + "/WRITER").PermitUncheckedError();
}

void ForgetWriter(const Store::Place& place) {
  place.env->DeleteFile(place.folder + "/WRITER").PermitUncheckedError();
}

}  // namespace pawl
