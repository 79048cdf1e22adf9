@0xb3c49231847f5b58;
# Orders and the values they are made of. They travel on the link, their bytes lie in ledgers, and
# reports and events share their parts.
#
# How any of the four schemas may change:
#   - append ordinals only; never renumber, retype, reuse or remove one;
#   - every default is zero, empty or `none`, so that a value without a new field has the same bytes
#     (and the same digest) whether its writer knew the field or not; a writer leaves a new text,
#     data or list out where it is empty;
#   - a new meaning is a new field and a new protocol minor (schema/message.h), never a second
#     meaning of an old one;
#   - enumerators and union arms are appended; a reader refuses one that it does not know.
# What each field means is said in schema/order.h; what it may hold is checked in codec_order.cc.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("pawl::wire");

struct KnobValue {
  union {
    flag @0 :Bool;
    number @1 :Int64;
    word @2 :Text;
    tuple @3 :List(Int64);
  }
}

struct Setting {
  knob @0 :Text;
  value @1 :KnobValue;
}

enum DType {
  f32 @0;
  f64 @1;
  i32 @2;
  u32 @3;
}

enum BufferRole {
  input @0;
  output @1;
}

enum FillKind {
  normal @0;
  uniform @1;
  integers @2;
  constant @3;
  rowPointers @4;
}

struct Buffer {
  name @0 :Text;
  dtype @1 :DType;
  role @2 :BufferRole;
  extents @3 :List(Int64);
  fill :group {
    kind @4 :FillKind;
    a @5 :Float64;
    b @6 :Float64;
  }
}

struct Scalar {
  name @0 :Text;
  value @1 :Int64;
}

struct SourceText {
  name @0 :Text;
  digest @1 :Data;  # 32 bytes, of text
  text @2 :Data;    # as it is compiled, byte for byte
  buildOptions @3 :List(Text);  # after the order's own
}

struct HeaderText {
  name @0 :Text;
  digest @1 :Data;  # 32 bytes, of text
  text @2 :Data;
}

enum ArmRole {
  committed @0;
  candidate @1;
  incumbent @2;
  start @3;
  rival @4;
}

struct Argument {
  union {
    buffer @0 :UInt32;
    scalar @1 :UInt32;
    scratch @2 :UInt32;
  }
}

enum LaunchKind {
  kernel @0;
  memset @1;
}

struct Launch {
  kernel @0 :Text;
  gridX @1 :UInt32;
  gridY @2 :UInt32;
  gridZ @3 :UInt32;
  blockX @4 :UInt32;
  blockY @5 :UInt32;
  blockZ @6 :UInt32;
  dynamicSharedBytes @7 :UInt32;
  arguments @8 :List(Argument);
  kind @9 :LaunchKind;
  byte @10 :UInt8;
  clusterX @11 :UInt32;  # 0: 1
  clusterY @12 :UInt32;
  clusterZ @13 :UInt32;
}

struct Scratch {
  name @0 :Text;
  dtype @1 :DType;
  elements @2 :Int64;
}

struct Arm {
  role @0 :ArmRole;
  label @1 :Text;
  configuration @2 :List(Setting);
  source :union {
    none @3 :Void;
    index @4 :UInt32;
  }
  launches @5 :List(Launch);
  scratch @6 :List(Scratch);
}

enum Instrument {
  cpuTime @0;
  wallTime @1;
  eventSpan @2;
  kernelTime @3;
  graphTime @4;
}

struct VisitPlan {
  arm @0 :UInt32;
  inputSet @1 :UInt32;
}

struct RoundPlan {
  recorded @0 :Bool;
  visits @1 :List(VisitPlan);
}

enum OrderKind {
  measure @0;
  confirm @1;
  audit @2;
}

struct Order {
  kind @0 :OrderKind;
  track @1 :UInt32;
  generation @2 :UInt32;
  attempt @3 :UInt32;
  batch @4 :UInt32;
  backend @5 :Text;
  operation @6 :Text;
  deviceModel @7 :Text;
  buffers @8 :List(Buffer);
  scalars @9 :List(Scalar);
  sources @10 :List(SourceText);
  buildOptions @11 :List(Text);
  arms @12 :List(Arm);
  check :group {
    reference :union {
      none @13 :Void;
      source @14 :UInt32;
    }
    rtol @15 :Float64;
    atol @16 :Float64;
    hiddenSeed @17 :UInt64;
  }
  inputSeeds @18 :List(UInt64);
  timing :group {
    instrument @19 :Instrument;
    warmup @20 :UInt32;
    iterations @21 :UInt32;
    coldCache @22 :Bool;
  }
  rounds @23 :List(RoundPlan);
  deadlines :group {
    buildMs @24 :UInt32;
    checkMs @25 :UInt32;
    runMs @26 :UInt32;
  }
  freshProcess @27 :Bool;
  headers @28 :List(HeaderText);
}
