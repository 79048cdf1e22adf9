@0xe6e1952c4555bbd0;
# Reports, on the link, in the worker's spool and inside ledger events. No list here grows with the
# iterations of a visit: raw samples stay with the worker as evidence. It changes only as order.capnp
# says; the fields' meaning is in schema/report.h.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("pawl::wire");

using Order = import "order.capnp";

enum OutcomeKind {
  measured @0;
  buildFailed @1;
  launchFailed @2;
  crashed @3;
  hung @4;
  wrongOutput @5;
  throttled @6;
  deviceFault @7;
  noData @8;
}

struct BuildFacts {
  arm @0 :Order.ArmRole;
  source @1 :Data;
  object @2 :Data;
  compiler @3 :Text;
  log @4 :Text;
  cached @5 :Bool;
  seconds @6 :Float64;
  registers @7 :UInt32;
  sharedBytes @8 :UInt32;
  spillBytes @9 :UInt32;
}

struct CheckFacts {
  arm @0 :Order.ArmRole;
  passed @1 :Bool;
  elements @2 :UInt64;
  wrong @3 :UInt64;
  maxAbsError @4 :Float64;  # may be infinite, never NaN
  detail @5 :Text;
}

struct VisitMedian {
  arm @0 :UInt32;
  inputSet @1 :UInt32;
  medianUs @2 :Float64;
  clockMhz @3 :Float64;
}

struct RoundMedians {
  visits @0 :List(VisitMedian);
}

struct DeviceFacts {
  kind @0 :Text;
  model @1 :Text;
  uuid @2 :Text;
  toolchain @3 :Text;
  backend @4 :Text;
  instruments @5 :List(Order.Instrument);
  cores @6 :UInt32;
  peakGflops @7 :Float64;
  peakGbytesPerS @8 :Float64;
  needsSource @9 :Bool;
  pinnedMhz @10 :UInt16;
}

struct Capture {
  arm @0 :UInt32;
  instrument @1 :Order.Instrument;
  medianUs @2 :Float64;
}

struct DeviceConditions {
  clockReasons @0 :UInt64;
  memoryMhz @1 :UInt32;
  temperatureC @2 :UInt32;
  powerW @3 :Float64;
  foreignProcesses @4 :UInt32;
  pinnedMhz @5 :UInt16;
}

struct Report {
  kind @0 :Order.OrderKind;
  track @1 :UInt32;
  generation @2 :UInt32;
  attempt @3 :UInt32;
  batch @4 :UInt32;
  order @5 :Data;
  worker @6 :Text;
  outcome :group {
    kind @7 :OutcomeKind;
    arm :union {
      none @8 :Void;
      role @9 :Order.ArmRole;
    }
    detail @10 :Text;
  }
  arms @11 :List(Order.ArmRole);
  builds @12 :List(BuildFacts);
  checks @13 :List(CheckFacts);
  rounds @14 :List(RoundMedians);
  buildSeconds @15 :Float64;
  checkSeconds @16 :Float64;
  runSeconds @17 :Float64;
  evidence @18 :Data;
  toolchain @19 :Text;
  dataExhausted @20 :Bool;
  conditions @21 :DeviceConditions;
  captures @22 :List(Capture);
}
