#pragma once
// Events: the facts a ledger holds, one after another. State is their fold (coordinator/search/track).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schema/configuration.h"
#include "schema/digest.h"
#include "schema/ids.h"
#include "schema/order.h"
#include "schema/outcome.h"
#include "schema/report.h"

namespace pawl {

// Numbers and words a policy or proposer was set up with, by the keys of the job file.
using Parameters = std::map<std::string, std::variant<double, std::string>>;

struct Budget {
  std::uint32_t generations = 0;  // 0: no limit
  double minutes = 0;             // of worker time as reported (build, check, run); 0: no limit
  std::uint32_t stale = 0;        // rejections in a row; 0: no limit

  bool operator==(const Budget&) const = default;
};

// All that a track is bound to. Resuming with any of it changed is refused by name.
struct TrackSpec {
  std::string job;        // the job's name
  std::string label;      // within the job: unique, e.g. "matmul 512x512x512 f32 host"
  std::string operation;
  std::vector<Scalar> shape;
  DType dtype = DType::kF32;
  std::string backend;
  std::string structure;  // several searched as one: their names joined by '+' (kernels/compound.h)
  std::string device_model;
  std::string toolchain;
  Instrument instrument = Instrument::kWallTime;
  std::uint32_t warmup = 10;
  std::uint32_t iterations = 60;
  std::string policy;
  Parameters policy_parameters;
  std::string proposer;
  Parameters proposer_parameters;
  std::uint64_t seed = 0;
  Budget budget;
  Configuration start;
  // The package's files by name, relative to its folder; contents are in the ledger's blobs.
  std::map<std::string, Digest> package;
  bool confirm = true;  // confirm the final incumbent when the search ends
  // Of the device when the track was opened, for shares of the peak; 0: not known. Not bound.
  double peak_gflops = 0;
  double peak_gbytes_per_s = 0;
  Deadlines deadlines;  // of its orders. Not bound
  bool require_pinned = false;  // measured only where the clocks are pinned

  bool operator==(const TrackSpec&) const = default;
};

struct LedgerCreated {
  LedgerId ledger;
  std::uint32_t format = 1;

  bool operator==(const LedgerCreated&) const = default;
};

struct EpochStarted {
  Epoch epoch;
  std::string version;  // of pawl

  bool operator==(const EpochStarted&) const = default;
};

// The log ended in a record that was never acknowledged; it was cut.
struct TailTorn {
  Seq last_good;
  std::string detail;

  bool operator==(const TailTorn&) const = default;
};

struct TrackOpened {
  TrackSpec spec;
  TrackId forked_from;  // 0: none

  bool operator==(const TrackOpened&) const = default;
};

struct Proposed {
  Generation generation;
  Configuration candidate;
  Configuration incumbent;  // that it is proposed against
  std::vector<Change> changes;
  std::string hypothesis;               // the proposer's reason, a sentence
  std::vector<std::string> violations;  // non-empty: refused before any build
  Digest candidate_source;              // zero: space only
  Digest incumbent_source;

  bool operator==(const Proposed&) const = default;
};

struct Granted {
  OrderKind kind = OrderKind::kMeasure;
  Generation generation;
  Attempt attempt;
  std::uint32_t batch = 0;
  WorkerId worker;
  BootId boot;
  Digest order;
  std::uint32_t lease_ms = 0;
  Configuration incumbent;  // what the incumbent's arm of the order was

  bool operator==(const Granted&) const = default;
};

// A granted attempt that will not be waited for any more. A late report of it is still taken.
struct AttemptLost {
  OrderKind kind = OrderKind::kMeasure;
  Generation generation;
  Attempt attempt;
  std::string why;  // "lease expired", "worker restarted", "released: preempted"

  bool operator==(const AttemptLost&) const = default;
};

struct Measured {
  Report report;
  Digest digest;  // of the report's bytes

  bool operator==(const Measured&) const = default;
};

// A second, different report of a taken attempt: the first stays.
struct ReportConflict {
  Generation generation;
  Attempt attempt;
  WorkerId worker;
  Digest kept;
  Digest refused;

  bool operator==(const ReportConflict&) const = default;
};

// What a policy made of a generation's reports, with the arithmetic it rests on.
struct Decision {
  Verdict verdict = Verdict::kReject;
  Reason reason = Reason::kNotFaster;
  std::string detail;                   // one line with the figures
  std::optional<double> ratio;          // median over rounds of candidate/incumbent
  std::vector<double> ratios;           // one a recorded round
  std::optional<double> control_drift;  // max/min of committed over rounds; 1 for one round
  std::optional<double> threshold;      // ratio had to be below this
  std::optional<double> before_us;      // median of the incumbent's visits
  std::optional<double> after_us;       // median of the candidate's visits

  bool operator==(const Decision&) const = default;
};

struct Decided {
  Generation generation;
  Decision decision;
  // A void that will be measured again is decided "again": the generation goes on.
  bool again = false;

  bool operator==(const Decided&) const = default;
};

// An arm measured in the same rounds as a confirmation, for comparison: the start configuration, a rival.
struct Beside {
  std::string label;
  double median_us = 0;
  double ratio = 0;  // median over rounds of incumbent / this arm

  bool operator==(const Beside&) const = default;
};

struct Confirmed {
  std::uint32_t number = 0;   // 1, 2, ... within the track
  Configuration incumbent;
  bool valid = false;         // false: `detail` says why there is no figure
  std::string detail;
  double gain = 0;            // median of 1 - incumbent/committed over recorded rounds
  double mean = 0, min = 0, max = 0, stddev = 0;  // of 1 - ratio
  std::uint32_t rounds = 0;
  std::uint32_t favouring = 0;  // rounds in which the incumbent was the faster
  double incumbent_us = 0, committed_us = 0;      // medians
  std::vector<Beside> beside;

  bool operator==(const Confirmed&) const = default;
};

struct TrackPaused {
  std::string why;

  bool operator==(const TrackPaused&) const = default;
};

// Searching again, under this budget from now on.
struct TrackResumed {
  Budget budget;

  bool operator==(const TrackResumed&) const = default;
};

struct TrackClosed {
  std::string why;  // "generation limit 20 reached", "8 rejections in a row", "nothing left to propose"

  bool operator==(const TrackClosed&) const = default;
};

// What a person wants of a job. Whether it has come to its end is its tracks' to say.
enum class JobStatus : std::uint8_t { kGoing = 0, kPaused = 1, kCancelled = 2 };
std::string_view Name(JobStatus status);  // "going", "paused", "cancelled"

// A job was given to a coordinator. One of the same name again takes the place of what the name stood for, and
// goes. Of track 0.
struct JobSubmitted {
  std::string job;    // its name: letters, digits, '_' and '-'
  std::string file;   // where the one who gave it has it, for messages and what paths in it are relative to
  std::string text;   // of the file; at most kMaxJobBytes
  std::int32_t priority = 0;  // the higher goes first
  std::string by;     // who gave it: "user@host"

  bool operator==(const JobSubmitted&) const = default;
};
inline constexpr std::size_t kMaxJobBytes = 64 << 10;

// A job was paused, resumed or cancelled. Of track 0.
struct JobMoved {
  std::string job;
  JobStatus status = JobStatus::kGoing;
  std::string by;

  bool operator==(const JobMoved&) const = default;
};

using EventBody =
    std::variant<LedgerCreated, EpochStarted, TailTorn, TrackOpened, Proposed, Granted, AttemptLost,
                 Measured, ReportConflict, Decided, Confirmed, TrackPaused, TrackResumed, TrackClosed,
                 JobSubmitted, JobMoved>;

struct Event {
  Seq seq;                // 0 until appended
  std::int64_t unix_ms = 0;  // for people; no decision reads it
  TrackId track;          // 0: about the ledger itself
  EventBody body;

  bool operator==(const Event&) const = default;
};

}  // namespace pawl
