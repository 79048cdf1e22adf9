@0xedc45559a84f15ed;
# The payloads of link messages, one struct a message type. Which one a frame holds is said by its
# envelope (codec_link.cc), so that a frame of another major version is refused without being parsed.
# It changes only as order.capnp says; the fields' meaning is in schema/message.h.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("pawl::wire");

using Order = import "order.capnp";
using Report = import "report.capnp";

struct LedgerHead {
  ledger @0 :Text;
  seq @1 :UInt64;
  digest @2 :Data;
}

struct LeaseKey {
  kind @0 :Order.OrderKind;
  track @1 :UInt32;
  generation @2 :UInt32;
  attempt @3 :UInt32;
  batch @4 :UInt32;
}

struct Hello {
  worker @0 :Text;
  boot @1 :Text;
  version @2 :Text;
  host @3 :Text;
  device @4 :Report.DeviceFacts;
  held @5 :List(LeaseKey);
  head @6 :LedgerHead;
}

struct Welcome {
  ledger @0 :Text;
  epoch @1 :UInt32;
  beatMs @2 :UInt32;
  lostMs @3 :UInt32;
}

enum RefuseCode {
  version @0;
  notWanted @1;
  ledgerBehind @2;
  notReady @3;
}

struct Refuse {
  code @0 :RefuseCode;
  why @1 :Text;
}

struct Ready {
  credit @0 :UInt32;
}

struct Grant {
  order @0 :Order.Order;
  epoch @1 :UInt32;
  leaseMs @2 :UInt32;
}

struct Prepare {
  backend @0 :Text;
  sources @1 :List(Order.SourceText);
  buildOptions @2 :List(Text);
  launches @3 :List(Order.Launch);
  buffers @4 :List(Order.Buffer);
  scalars @5 :List(Order.Scalar);
}

struct Beat {
  held @0 :List(LeaseKey);
  unitsDone @1 :UInt64;
  runnerAlive @2 :Bool;
}

struct BeatAck {
  unknown @0 :List(LeaseKey);
}

struct ReportMessage {
  report @0 :Report.Report;
}

struct Ack {
  key @0 :LeaseKey;
  report @1 :Data;
  head @2 :LedgerHead;
}

enum RejectCode {
  unknownAttempt @0;
  conflict @1;
  malformed @2;
  notOpenHere @3;
}

struct Reject {
  key @0 :LeaseKey;
  report @1 :Data;
  code @2 :RejectCode;
  why @3 :Text;
  retry @4 :Bool;
}

struct Cancel {
  key @0 :LeaseKey;
}

struct Drain {
}

struct Release {
  key @0 :LeaseKey;
  why @1 :Text;
}

struct Bye {
  why @0 :Text;
}

enum AskVerb {
  submit @0;
  pause @1;
  resume @2;
  cancel @3;
  status @4;
  watch @5;
}

struct Ask {
  verb @0 :AskVerb;
  job @1 :Text;
  file @2 :Text;
  text @3 :Data;
  priority @4 :Int32;
  by @5 :Text;
  json @6 :Bool;
}

struct Reply {
  code @0 :ReplyCode;
  done @1 :Bool;
  text @2 :Data;
}

enum ReplyCode {
  ok @0;
  refused @1;
  wrong @2;
}
