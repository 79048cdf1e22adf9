#pragma once
// The append-only memory: events numbered from 1, each with the SHA-256 of its predecessor and
// itself, in RocksDB. The only code that sees RocksDB. One writer.
//
// Promises: Append returns only after its events are synced. What was acknowledged reads back, or
// opening or Verify reports where and how much is missing; nothing is silently shortened. A torn
// tail that was never acknowledged is cut and said.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/message.h"
#include "schema/result.h"
#include "schema/snapshot.h"

namespace pawl {

inline constexpr std::uint32_t kLedgerFormat = 1;

// Where a generation stands, for `log` and `show`: the events that made it.
struct GenerationIndex {
  TrackId track;
  Generation generation;
  Seq proposed;
  std::vector<Seq> measured;
  Seq decided;  // 0: open

  bool operator==(const GenerationIndex&) const = default;
};

// What a full read found. ok() means every promise holds.
struct ChainReport {
  Seq events;
  std::string problem;  // empty: none; else where and what, in one line
  bool ok() const { return problem.empty(); }
};

class Ledger {
 public:
  enum class Mode {
    kWrite,  // makes it when there is none; a second writer is refused
    kRead,   // a frozen view; works beside a writer
  };
  struct Options {
    std::uint64_t max_wal_bytes = 64ull << 20;
    std::uint64_t min_free_bytes = 256ull << 20;  // Append refuses (kRetry) below this
    // Replaced in tests (fault injection, memory): a RocksDB Env, as void* behind the door.
    void* env = nullptr;
    std::function<std::int64_t()> unix_ms;  // default: the system clock
  };

  // Errors: not a ledger, a newer format (names both), another writer (says which pid), damage
  // (where, how much, and what to do). A ledger made here already holds LedgerCreated.
  static Result<std::unique_ptr<Ledger>> Open(const std::string& folder, Mode mode,
                                              Options options);
  static Result<std::unique_ptr<Ledger>> Open(const std::string& folder, Mode mode);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  const std::string& folder() const;
  LedgerId id() const;
  LedgerHead head() const;
  Epoch epoch() const;  // of the last EpochStarted
  // What opening had to repair: a torn tail's events are in the log as TailTorn.
  const std::vector<std::string>& notes() const;
  // The one of them that says how HEAD was missing or damaged; empty: it was there and whole.
  const std::string& unwitnessed() const;

  // Writes EpochStarted with the next epoch.
  Result<Epoch> StartEpoch(const std::string& version);

  // Appends in order, as one synced write; fills seq and unix_ms in. kHalt after a failed sync.
  Result<LedgerHead> Append(std::vector<Event>& events);

  // Bytes by their digest: package files. PutBlobs is synced with the next Append at the latest.
  Status PutBlob(const Digest& digest, std::string_view bytes);
  Result<std::optional<std::string>> Blob(const Digest& digest) const;

  // The newest snapshot; nullopt: none.
  Result<std::optional<Snapshot>> LatestSnapshot() const;
  Status PutSnapshot(const Snapshot& snapshot);

  // Events from `from` on, in order, until `visit` returns false.
  Status Scan(Seq from, const std::function<bool(const Event&)>& visit) const;
  Result<Event> At(Seq seq) const;

  // Generations of a track, newest first, until `visit` returns false.
  Status Generations(TrackId track, const std::function<bool(const GenerationIndex&)>& visit) const;
  Result<std::optional<GenerationIndex>> FindGeneration(TrackId track, Generation generation) const;
  // The first generations of a track after `after`, oldest first.
  Status GenerationsAfter(TrackId track, Generation after,
                          const std::function<bool(const GenerationIndex&)>& visit) const;

  // See Core::SeenLookup.
  Result<std::optional<Digest>> Seen(TrackId track, OrderKind kind, Generation generation,
                             Attempt attempt) const;
  // Whether the ledger holds the event that a worker remembers: its own digest at that seq.
  bool Holds(const LedgerHead& head) const;

  // Re-reads everything: the chain from 1 to the head, every index against the log, blob digests.
  Result<ChainReport> VerifyChain(const std::function<void(Seq done, Seq total)>& progress) const;

  std::uint64_t FreeBytes() const;  // of its file system

 private:
  struct State;
  explicit Ledger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
