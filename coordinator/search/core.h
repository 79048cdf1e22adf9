#pragma once
// Every decision of the coordinator, as On*(event) -> effects. No socket, disk or clock: time comes
// in as milliseconds on the coordinator's monotonic clock, and effects are carried out by service/.
//
// Invariants: 1. effects' events are durable before any of the same effects' messages is sent
// (service keeps this). 2. A report is taken exactly once; the first valid one of a granted attempt
// wins, also when late. 3. A track has at most `in_flight` open generations, and a confirmation
// alone. 4. Only worker exits, signals and deadlines are blamed on a candidate; lost workers never
// are.
//
// A track that has nothing open proposes at once. A further candidate is proposed only when a
// worker is free for it that no track which waits for an attempt could have, and while the budget
// has room for it, so that no track hoards workers.
//
// READY's credit is how many orders a worker holds at once. A taken report of one it holds frees
// its place, so the next grant goes out with the acknowledgement, in the same append; RELEASE takes
// all places away until it is READY again. An attempt is lost when its lease ends (beats extend it
// only while units advance), when its worker falls silent, leaves, gives it back, comes back as
// another process, or turns out not to hold it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/search/job_board.h"
#include "coordinator/search/orders.h"
#include "coordinator/search/track.h"
#include "schema/event.h"
#include "schema/message.h"

namespace pawl {

using PeerId = std::string;  // the link's routing id of a connected worker

struct Outgoing {
  PeerId peer;
  Message message;

  bool operator==(const Outgoing&) const = default;
};

// Core has gone on as if they were carried out: when the append fails, the same events are appended
// later, or this core is thrown away and another one made from the ledger.
struct Effects {
  std::vector<Event> append;       // seq and unix_ms are filled in by the ledger
  std::vector<Outgoing> send;      // after `append` is synced
  std::vector<std::string> notes;  // for the progress line and the log, one line each

  bool empty() const { return append.empty() && send.empty() && notes.empty(); }
};

struct CoreOptions {
  LedgerId ledger;
  Epoch epoch;
  LedgerHead head;  // as read at opening
  std::uint32_t beat_ms = 5'000;
  std::uint32_t lost_ms = 20'000;
  std::uint32_t lease_ms = 60'000;      // the least; an order that may take longer gets more
  std::uint32_t max_voids = 2;          // a void generation is measured again up to this often
  std::uint32_t max_voids_in_row = 10;  // then the track is paused
  // false: nothing is proposed; only confirmations run (and what is open of a track to be confirmed
  // is finished first)
  bool search = true;
  // Events after which a track with several candidates in flight lets them all settle once, so that
  // a snapshot can stand on that: no more need to be read when the ledger is opened.
  std::uint64_t max_unsettled = 16'384;
  std::uint32_t max_lost = 8;  // attempts lost before the generation is void (worker lost)
  // A daemon: there may be jobs to come, so that workers without a track are welcome, and it is
  // done only once it was drained. The job board is obeyed.
  bool stay = false;
};

// A track as core holds it.
struct CoreTrack {
  Track track;
  Workshop workshop;
  std::uint32_t in_flight = 1;  // candidates measured at once, at most
};

// What a job asks for beside its tracks' devices.
struct JobTerms {
  std::vector<std::string> hosts;  // measured on these only; empty: on any
  std::uint32_t min_workers = 1;   // that can serve it are there before it begins

  bool operator==(const JobTerms&) const = default;
};

// A connected worker, for people.
struct WorkerView {
  WorkerId id;
  std::string host;
  DeviceFacts device;
  std::set<TrackId> serves;  // tracks that it can measure for
  std::set<TrackId> holds;   // tracks whose order it has
  std::int64_t heard_ms = 0;
};

class Core {
 public:
  explicit Core(CoreOptions options);

  // A track that the ledger already holds, with everything folded in. Its open attempts are waited
  // for until their leases end, counted from `now_ms`.
  void AddTrack(CoreTrack track, std::int64_t now_ms);
  // Looks a report of an attempt up that is no longer open: its digest if one was taken, zero if it
  // was granted and never reported, nullopt if it was never granted. Reads the ledger's `seen`;
  // where that cannot be read the report is to be sent again.
  using SeenLookup =
      std::function<Result<std::optional<Digest>>(TrackId, OrderKind, Generation, Attempt)>;
  void SetSeenLookup(SeenLookup lookup);

  // Whether the ledger holds exactly the event that a worker remembers (Ledger::Holds): a worker
  // whose head it does not hold is refused (kLedgerBehind). Asked only for heads of this ledger's
  // id.
  using HeadLookup = std::function<bool(const LedgerHead&)>;
  void SetHeadLookup(HeadLookup lookup);

  // What the ledger holds of jobs. Before any track is added.
  void SetBoard(JobBoard board);
  // Of a job's tracks, from now on.
  void SetTerms(const std::string& job, JobTerms terms);
  // A job was given, or another text of it; its tracks are opened by whoever can bind them.
  Effects OnSubmit(JobSubmitted submitted, std::int64_t now_ms);
  // Of a job that is on the board. Paused: what is out is finished. Cancelled: it is taken back.
  Effects OnMoveJob(JobMoved moved, std::int64_t now_ms);

  Effects OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms);
  Effects OnUndecodable(const PeerId& peer, const std::string& why, bool other_version,
                        std::int64_t now_ms);
  // Leases, lost workers, and work for idle ones; call at least every second.
  Effects OnTick(std::int64_t now_ms);
  // Stops granting, and tells workers to drain. Done() once nothing is held.
  Effects OnDrain(std::int64_t now_ms);
  // Opens a confirmation of a track's incumbent.
  Effects OnConfirm(TrackId track, std::int64_t now_ms);
  // The new track's id is one more than the highest of core's tracks and `highest_elsewhere`
  // (tracks of the ledger that core does not hold).
  Effects OnOpenTrack(const TrackOpened& opened, Workshop workshop, std::int64_t now_ms,
                      TrackId highest_elsewhere = {});
  // So many of the track's candidates may be measured at once from now on; what is open stays open.
  Effects OnInFlight(TrackId track, std::uint32_t most, std::int64_t now_ms);
  Effects OnResumeTrack(TrackId track, std::int64_t now_ms);  // a paused one
  // A job is run again with this budget: a track paused, or closed by a budget that now leaves room
  // (or by nothing else than its budget), goes on (TrackResumed with the new budget). Nothing when
  // it does not change anything.
  Effects OnRebudget(TrackId track, const Budget& budget, std::int64_t now_ms);
  // The ledger's head moved (after each append): acks and welcomes carry it.
  void OnAppended(const LedgerHead& head);
  // The coordinator's loop was not running for a while: every deadline moves by as much.
  void OnStall(std::int64_t stalled_ms);

  // Why a worker that remembers this head has seen more than the ledger holds; nullopt: it has not.
  std::optional<std::string> WhyLedgerBehind(const LedgerHead& seen_head) const;

  // Every track is closed and confirmed (or paused), or drained. Without tracks, and where it
  // stays: only when drained.
  bool Done() const;
  // Not empty: a worker has seen an event that the ledger does not hold, so the ledger is an old
  // copy. Core has drained itself; the ledger must not be written any further.
  const std::string& Alarm() const;
  const std::map<TrackId, CoreTrack>& tracks() const;
  const JobBoard& board() const;
  std::vector<WorkerView> WorkerViews() const;  // by id
  // Why a connected worker gets nothing; empty: it can serve a track.
  std::string WhyNotWanted(const WorkerId& worker) const;
  // Workers connected now, by id.
  std::vector<WorkerId> Workers() const;
  // Of a lease or worker, ms, or earlier; now, when tracks have more to do; INT64_MAX: none.
  std::int64_t NextDeadline() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The effects with the ledger's head after their events were appended in their acknowledgements:
// what a worker remembers then covers its own report. Call between appending and sending.
Effects WithHead(Effects effects, const LedgerHead& head);

}  // namespace pawl
