#pragma once
// What Core holds between two calls, and its parts: jobs (core_jobs.cc), workers
// (core_workers.cc), reports (core_reports.cc), the search of each track (core_search.cc), grants
// and leases (core_grants.cc). Private to them.
//
// What is open of a track has at most one attempt out, so a lease is a subject's. Every event goes
// through Emit, which folds it into its track at once: what is decided next sees it, and a fold of
// the ledger gives the same.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/search/core.h"
#include "coordinator/search/fair_share.h"
#include "coordinator/search/settle.h"

namespace pawl {

// What attempts are of: a generation of a track, or a confirmation.
struct Subject {
  TrackId track;
  OrderKind kind = OrderKind::kMeasure;
  Generation number;

  auto operator<=>(const Subject&) const = default;
};
inline Subject SubjectOf(const LeaseKey& key) { return {key.track, key.kind, key.generation}; }

// The attempt of a subject that is out.
struct Lease {
  LeaseKey key;
  WorkerId worker;
  BootId boot;
  std::int64_t granted_ms = 0;
  std::int64_t expires_ms = 0;
  std::uint32_t lease_ms = 0;
  std::uint64_t units = 0;   // of its worker when it was last extended
  bool connected = false;    // its worker is, and has this lease in `holds`
  bool unheld = false;       // its worker came back without it: reported from its spool, or lost
  std::uint32_t absent = 0;  // beats in a row that did not name it
  double charged = 0;        // seconds, to its job's share
};

// What core does about a subject now. There while it is open, or wanted.
struct Work {
  std::optional<Lease> lease;
  bool fresh_process = false;  // of the attempt that is wanted
  WorkerId avoid;              // lost the newest attempt: another one is better
};

// What core does about a track now, apart from its subjects.
struct Search {
  std::set<Subject> waiting;     // for an attempt; in State::wanting while there are any
  bool confirm_asked = false;    // by OnConfirm
  bool further = true;           // whether a further candidate may come: not asked for in vain yet
  std::uint64_t last_grant = 0;  // State::grants then; 0: never
  std::string last_void;         // reason and detail of the newest one, for people
};

struct Worker {
  WorkerId id;
  BootId boot;
  std::string host;
  DeviceFacts device;
  std::int64_t heard_ms = 0;
  std::uint64_t units_done = 0;
  std::uint32_t places = 0;      // orders it holds at once, by its last READY
  std::set<Subject> holds;       // whose leases it has
  std::set<TrackId> serves;      // tracks it can measure for
  std::uint64_t free_since = 0;  // its key in State::free; 0: not there
};

struct Core::State {
  explicit State(CoreOptions given) : options(std::move(given)), head(options.head) {
    last_seq = head.seq;
  }

  CoreOptions options;
  LedgerHead head;          // of what is appended
  Seq last_seq;             // of what is emitted
  bool unappended = false;  // something is emitted and not appended
  SeenLookup seen;
  HeadLookup holds;
  std::map<TrackId, CoreTrack> tracks;
  std::map<Subject, Work> work;
  std::map<TrackId, Search> searches;
  std::map<PeerId, Worker> workers;
  std::map<WorkerId, PeerId> peer_of;
  std::set<std::pair<std::uint64_t, PeerId>> free;  // workers with a place, longest free first
  std::set<std::pair<std::uint64_t, TrackId>>
      wanting;                       // tracks that want an attempt, by last grant
  std::set<TrackId> wide;            // tracks of which several may be in flight
  std::set<TrackId> dirty;           // tracks to look at
  JobBoard board;
  std::map<std::string, JobTerms> terms;  // by job
  FairShare share;
  std::map<LeaseKey, Digest> taken;  // reports taken and not appended yet
  std::set<Digest> conflicts;        // refused reports that an event tells of
  bool draining = false;
  std::string alarm;
  std::uint64_t grants = 0;
  std::uint64_t frees = 0;
  std::int64_t now_ms = 0;
  std::int64_t next_deadline = std::numeric_limits<std::int64_t>::max();  // none is before it

  SettleLimits Limits() const { return {options.max_voids, options.max_lost}; }
  CoreTrack& At(TrackId id) { return tracks.at(id); }
  void Emit(Effects& effects, TrackId track, EventBody body);
  // After every call: what is dirty goes on, and wanted attempts are granted.
  void Proceed(Effects& effects);
  bool Done() const;
  void StartDraining(Effects& effects);
  void Expect(std::int64_t deadline_ms) { next_deadline = std::min(next_deadline, deadline_ms); }

  // core_jobs.cc
  void EmitJob(Effects& effects, EventBody body);
  const std::string& JobOf(TrackId id) const { return tracks.at(id).track.state.spec.job; }
  bool Held(TrackId id) const;  // a person wants nothing new of its job
  std::int32_t PriorityOf(TrackId id) const;
  // Its job has not begun, and not as many workers are there as it asks for.
  bool Gathering(TrackId id) const;
  void TakeBack(Effects& effects, TrackId id, const std::string& why);  // what is out of it
  std::vector<TrackId> Wanting() const;  // tracks that want an attempt
  // Those of these tracks that may have a worker: by priority, then by their jobs' share, then who
  // has waited for longest.
  std::vector<TrackId> InTurn(const std::vector<TrackId>& tracks) const;

  // core_workers.cc
  void OnHello(Effects& effects, const PeerId& peer, const Hello& hello);
  void OnReady(Effects& effects, const PeerId& peer, const Ready& ready);
  void OnBeat(Effects& effects, const PeerId& peer, const Beat& beat);
  void OnRelease(Effects& effects, const PeerId& peer, const Release& release);
  void OnBye(Effects& effects, const PeerId& peer, const Bye& bye);
  std::optional<std::string> WhyLedgerBehind(const LedgerHead& seen_head) const;
  std::optional<std::string> WhyNotServes(const DeviceFacts& device, const std::string& host,
                                          const CoreTrack& track) const;
  std::string WhyNotWanted(const DeviceFacts& device, const std::string& host) const;
  void Refuse(Effects& effects, const PeerId& peer, RefuseCode code, const std::string& why);
  void Forget(const PeerId& peer);  // the connection; its leases stay as they are
  void LoseAllOf(Effects& effects, const PeerId& peer, const std::string& why);
  void LoseSilent(Effects& effects);
  void Place(const PeerId& peer);  // into `free` or out of it
  void Match(TrackId track);       // a new track against the workers there are

  // core_reports.cc
  void OnReport(Effects& effects, const PeerId& peer, const Report& report);
  void TakeReport(Effects& effects, const PeerId& peer, const Report& report, const Digest& digest);
  void AnswerKnown(Effects& effects, const PeerId& peer, const Report& report, const Digest& digest,
                   const Digest& kept);
  void RejectReport(Effects& effects, const PeerId& peer, const Report& report,
                    const Digest& digest, RejectCode code, const std::string& why);
  OrderPlan PlanOf(const CoreTrack& track, const Report& report) const;

  // core_search.cc
  void Advance(Effects& effects, TrackId id);
  bool AdvanceGenerations(Effects& effects, TrackId id);
  bool AdvanceConfirmation(Effects& effects, TrackId id);
  bool AdvanceSearch(Effects& effects, TrackId id);
  // Whether the track searches, and has room for one candidate beside what is open.
  bool HasRoom(TrackId id) const;
  // A further candidate for each track that a free worker is left for; false: there was none.
  bool ProposeFurther(Effects& effects);
  bool ProposeFurther(Effects& effects, TrackId id);
  // nullopt: there is nothing left to propose beside what is open.
  Result<std::optional<Proposed>> NextProposal(TrackId id);
  void Settle(Effects& effects, TrackId id, Decided decided);
  void Want(const Subject& subject, bool fresh_process);
  void Unwant(const Subject& subject);

  // core_grants.cc
  void GrantWanted(Effects& effects);
  std::optional<PeerId> PickWorker(const Subject& subject) const;
  void GrantTo(Effects& effects, const Subject& subject, const PeerId& peer);
  void FailOrder(Effects& effects, const Subject& subject, const std::string& problem);
  void SendHint(Effects& effects, TrackId id, const PeerId& peer);
  void DropLease(const Subject& subject, double seconds);  // of a worker that it took; without an event
  void LoseAttempt(Effects& effects, const Subject& subject, const std::string& why);
  void LoseExpired(Effects& effects);
};

}  // namespace pawl
