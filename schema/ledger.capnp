@0xc21171a6249921ff;
# What a ledger keeps on disk: events, and snapshots of the state that they fold into. It outlives
# every process and every link version, so it is apart from link.capnp; it changes only as order.capnp
# says. The fields' meaning is in schema/event.h and schema/snapshot.h.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("pawl::wire");

using Order = import "order.capnp";
using Report = import "report.capnp";

struct Change {
  knob @0 :Text;
  from @1 :Order.KnobValue;
  to @2 :Order.KnobValue;
  repair @3 :Bool;
}

struct Parameter {
  key @0 :Text;
  union {
    number @1 :Float64;
    word @2 :Text;
  }
}

struct PackageFile {
  name @0 :Text;
  digest @1 :Data;
}

struct TrackSpec {
  job @0 :Text;
  label @1 :Text;
  operation @2 :Text;
  shape @3 :List(Order.Scalar);
  dtype @4 :Order.DType;
  backend @5 :Text;
  structure @6 :Text;
  deviceModel @7 :Text;
  toolchain @8 :Text;
  instrument @9 :Order.Instrument;
  warmup @10 :UInt32;
  iterations @11 :UInt32;
  policy @12 :Text;
  policyParameters @13 :List(Parameter);    # by key
  proposer @14 :Text;
  proposerParameters @15 :List(Parameter);  # by key
  seed @16 :UInt64;
  budget :group {
    generations @17 :UInt32;
    minutes @18 :Float64;
    stale @19 :UInt32;
  }
  start @20 :List(Order.Setting);
  package @21 :List(PackageFile);           # by name
  confirm @22 :Bool;
  peakGflops @23 :Float64;
  peakGbytesPerS @24 :Float64;
  deadlines :group {
    buildMs @25 :UInt32;
    checkMs @26 :UInt32;
    runMs @27 :UInt32;
  }
  requirePinned @28 :Bool;
}

struct LedgerCreated {
  ledger @0 :Text;
  format @1 :UInt32;
}

struct EpochStarted {
  epoch @0 :UInt32;
  version @1 :Text;
}

struct TailTorn {
  lastGood @0 :UInt64;
  detail @1 :Text;
}

struct TrackOpened {
  spec @0 :TrackSpec;
  forkedFrom @1 :UInt32;
}

struct Proposed {
  generation @0 :UInt32;
  candidate @1 :List(Order.Setting);
  incumbent @2 :List(Order.Setting);
  changes @3 :List(Change);
  hypothesis @4 :Text;
  violations @5 :List(Text);
  candidateSource @6 :Data;
  incumbentSource @7 :Data;
}

struct Granted {
  kind @0 :Order.OrderKind;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  batch @3 :UInt32;
  worker @4 :Text;
  boot @5 :Text;
  order @6 :Data;
  leaseMs @7 :UInt32;
  incumbent @8 :List(Order.Setting);
}

struct AttemptLost {
  kind @0 :Order.OrderKind;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  why @3 :Text;
}

struct Measured {
  report @0 :Report.Report;
  digest @1 :Data;
}

struct ReportConflict {
  generation @0 :UInt32;
  attempt @1 :UInt32;
  worker @2 :Text;
  kept @3 :Data;
  refused @4 :Data;
}

enum Verdict {
  keep @0;
  reject @1;
  void @2;
}

enum Reason {
  faster @0;
  geometry @1;
  build @2;
  launch @3;
  crashed @4;
  hung @5;
  wrongOutput @6;
  notFaster @7;
  controlDrift @8;
  throttled @9;
  deviceFault @10;
  workerLost @11;
  superseded @12;
  noData @13;
}

struct Decision {
  verdict @0 :Verdict;
  reason @1 :Reason;
  detail @2 :Text;
  ratio :union {
    none @3 :Void;
    value @4 :Float64;
  }
  ratios @5 :List(Float64);
  controlDrift :union {
    none @6 :Void;
    value @7 :Float64;
  }
  threshold :union {
    none @8 :Void;
    value @9 :Float64;
  }
  beforeUs :union {
    none @10 :Void;
    value @11 :Float64;
  }
  afterUs :union {
    none @12 :Void;
    value @13 :Float64;
  }
}

struct Decided {
  generation @0 :UInt32;
  decision @1 :Decision;
  again @2 :Bool;
}

struct Confirmed {
  number @0 :UInt32;
  incumbent @1 :List(Order.Setting);
  valid @2 :Bool;
  detail @3 :Text;
  gain @4 :Float64;
  mean @5 :Float64;
  min @6 :Float64;
  max @7 :Float64;
  stddev @8 :Float64;
  rounds @9 :UInt32;
  favouring @10 :UInt32;
  incumbentUs @11 :Float64;
  committedUs @12 :Float64;
  beside @13 :List(Beside);
}

struct Beside {
  label @0 :Text;
  medianUs @1 :Float64;
  ratio @2 :Float64;
}

struct TrackPaused {
  why @0 :Text;
}

struct TrackResumed {
  generations @0 :UInt32;
  minutes @1 :Float64;
  stale @2 :UInt32;
}

struct TrackClosed {
  why @0 :Text;
}

enum JobStatus {
  going @0;
  paused @1;
  cancelled @2;
}

struct JobSubmitted {
  job @0 :Text;
  file @1 :Text;
  text @2 :Data;
  priority @3 :Int32;
  by @4 :Text;
}

struct JobMoved {
  job @0 :Text;
  status @1 :JobStatus;
  by @2 :Text;
}

struct Event {
  seq @0 :UInt64;
  unixMs @1 :Int64;
  track @2 :UInt32;
  body :union {
    none @3 :Void;  # of no event: what a zeroed record reads as
    ledgerCreated @4 :LedgerCreated;
    epochStarted @5 :EpochStarted;
    tailTorn @6 :TailTorn;
    trackOpened @7 :TrackOpened;
    proposed @8 :Proposed;
    granted @9 :Granted;
    attemptLost @10 :AttemptLost;
    measured @11 :Measured;
    reportConflict @12 :ReportConflict;
    decided @13 :Decided;
    confirmed @14 :Confirmed;
    trackPaused @15 :TrackPaused;
    trackResumed @16 :TrackResumed;
    trackClosed @17 :TrackClosed;
    jobSubmitted @18 :JobSubmitted;
    jobMoved @19 :JobMoved;
  }
}

enum TrackStatus {
  searching @0;
  paused @1;
  closed @2;
}

struct KnobRecord {
  knob @0 :Text;
  payoff @1 :Float64;
  tries @2 :UInt32;
  keeps @3 :UInt32;
  refusals @4 :UInt32;
  refused @5 :List(Order.KnobValue);
}

struct TrackState {
  id @0 :UInt32;
  spec @1 :TrackSpec;
  forkedFrom @2 :UInt32;
  status @3 :TrackStatus;
  why @4 :Text;
  incumbent @5 :List(Order.Setting);
  incumbentSince @6 :UInt32;
  last @7 :UInt32;
  kept @8 :UInt32;
  rejected @9 :UInt32;
  voided @10 :UInt32;
  stale @11 :UInt32;
  voidsInRow @12 :UInt32;
  gain @13 :Float64;
  workerSeconds @14 :Float64;
  confirmations @15 :UInt32;
  knobs @16 :List(KnobRecord);
  tried @17 :List(UInt64);  # ascending
  lastOrdinal @18 :UInt64;
  settled @19 :UInt64;
}

struct JobState {
  submitted @0 :JobSubmitted;
  status @1 :JobStatus;
  by @2 :Text;
  at @3 :UInt64;
}

struct Snapshot {
  seq @0 :UInt64;
  epoch @1 :UInt32;
  ledger @2 :Text;
  tracks @3 :List(TrackState);  # by id
  jobs @4 :List(JobState);      # by name
}
