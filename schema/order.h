#pragma once
// An order: everything a worker needs to build, check and time the arms of one batch of rounds. It
// names no operation file and no policy: sources, buffers, launches, rounds and deadlines are all in
// it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/configuration.h"
#include "schema/digest.h"
#include "schema/ids.h"

namespace pawl {

enum class DType : std::uint8_t { kF32 = 0, kF64 = 1, kI32 = 2, kU32 = 3 };
std::size_t SizeOf(DType dtype);           // bytes
std::string_view Name(DType dtype);        // "f32", ...

enum class BufferRole : std::uint8_t { kInput = 0, kOutput = 1 };

enum class FillKind : std::uint8_t {
  kNormal = 0,    // mean a, standard deviation b
  kUniform = 1,   // real in [a, b)
  kIntegers = 2,  // whole numbers in [a, b], exact in float32
  kConstant = 3,  // a
  // Whole numbers that never fall, the first 0, the last a: where the rows of a sparse matrix begin
  // and the last one ends. Of i32 or u32, two elements at least.
  kRowPointers = 4,
};

// How an input buffer is filled from an input set's seed. Outputs are poisoned with NaN instead.
struct Fill {
  FillKind kind = FillKind::kNormal;
  double a = 0;
  double b = 0.25;

  bool operator==(const Fill&) const = default;
};

// Of one order's buffers together. 2^33 float32 elements are 32 GiB: filling and checking more looks
// like a worker that hangs.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 33;

struct Buffer {
  std::string name;  // "A"; also the reference function's suffix: reference_C
  DType dtype = DType::kF32;
  BufferRole role = BufferRole::kInput;
  std::vector<std::int64_t> extents;  // row major, contiguous
  Fill fill;

  std::int64_t Elements() const;
  bool operator==(const Buffer&) const = default;
};

// A shape letter and its value, passed to kernels as a 64-bit integer.
struct Scalar {
  std::string name;
  std::int64_t value = 0;

  bool operator==(const Scalar&) const = default;
};

struct SourceText {
  std::string name;  // file name for compiler messages, e.g. "blocked.3f2a91c07d11.cc"
  Digest digest;     // of text
  std::string text;
  // After the order's own: what this source alone needs, such as a rival's library.
  std::vector<std::string> build_options{};

  bool operator==(const SourceText&) const = default;
};

// A file that sources may include in quotes by its name: no folder, the same for all sources.
struct HeaderText {
  std::string name;  // "pawl_device.h"
  Digest digest;     // of text
  std::string text;

  bool operator==(const HeaderText&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name().
enum class ArmRole : std::uint8_t {
  kCommitted = 0,
  kCandidate = 1,
  kIncumbent = 2,
  kStart = 3,
  kRival = 4,
};
std::string_view Name(ArmRole role);

struct Argument {
  enum class Kind : std::uint8_t { kBuffer = 0, kScalar = 1, kScratch = 2 };
  Kind kind = Kind::kBuffer;
  std::uint32_t index = 0;  // into Order::buffers, Order::scalars or the arm's scratch

  bool operator==(const Argument&) const = default;
};

enum class LaunchKind : std::uint8_t {
  kKernel = 0,
  kMemset = 1,  // every byte of its one argument, an output or scratch, becomes `byte`
};

struct Launch {
  LaunchKind kind = LaunchKind::kKernel;
  std::string kernel;                        // the function's name in the arm's source; kMemset: empty
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // host devices ignore geometry
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};  // in blocks; divides the grid
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint8_t byte = 0;
  std::vector<Argument> arguments;

  bool operator==(const Launch&) const = default;
};

// Device memory that an arm's launches hand to each other: neither input nor output. Holds NaN before
// the first launch of a checked run, and whatever the call before left there otherwise.
struct Scratch {
  std::string name;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;

  bool operator==(const Scratch&) const = default;
};

struct Arm {
  ArmRole role = ArmRole::kCommitted;
  std::string label;                     // for people: "committed", "incumbent", "openblas"
  Configuration configuration;           // empty where the kernel has no knobs
  std::optional<std::uint32_t> source;   // into Order::sources; none: only a replay can answer
  std::vector<Launch> launches;          // in stream order
  std::vector<Scratch> scratch;

  bool operator==(const Arm&) const = default;
};

// |out - ref| <= atol + rtol * |ref| for every element of every output, all finite.
struct CheckPlan {
  std::optional<std::uint32_t> reference;  // into Order::sources; none: nothing can be checked (replay)
  double rtol = 0;
  double atol = 0;
  std::uint64_t hidden_seed = 0;  // an input set that is checked and never timed

  bool operator==(const CheckPlan&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name() and ParseInstrument().
enum class Instrument : std::uint8_t {
  kCpuTime = 0,    // host: CPU time of the process, all its threads summed
  kWallTime = 1,   // host: steady clock
  kEventSpan = 2,  // cuda: events around the launch call
  kKernelTime = 3, // cuda: CUPTI, summed kernel durations
  kGraphTime = 4,  // cuda: graph of unrolled calls
};
std::string_view Name(Instrument instrument);
std::optional<Instrument> ParseInstrument(std::string_view name);

struct Timing {
  Instrument instrument = Instrument::kWallTime;
  std::uint32_t warmup = 10;      // untimed calls before each visit
  std::uint32_t iterations = 60;  // timed calls of a visit, summarised by their median
  bool cold_cache = false;        // inputs rotate over copies that exceed the last-level cache

  bool operator==(const Timing&) const = default;
};

// One visit of a round: which arm, on which input set.
struct VisitPlan {
  std::uint32_t arm = 0;
  std::uint32_t input_set = 0;  // into Order::input_seeds

  bool operator==(const VisitPlan&) const = default;
};

struct RoundPlan {
  bool recorded = true;  // false: burn-in, run but not reported
  std::vector<VisitPlan> visits;

  bool operator==(const RoundPlan&) const = default;
};

struct Deadlines {
  std::uint32_t build_ms = 120'000;  // each source
  std::uint32_t check_ms = 60'000;   // each arm and input set
  std::uint32_t run_ms = 60'000;     // each visit

  bool operator==(const Deadlines&) const = default;
};

// IF YOU ADD A VALUE: append, and add it to Name().
enum class OrderKind : std::uint8_t {
  kMeasure = 0,  // a batch of rounds for a generation
  kConfirm = 1,  // the incumbent against committed
  kAudit = 2,    // build and check the arms; no rounds
};
std::string_view Name(OrderKind kind);

struct Order {
  OrderKind kind = OrderKind::kMeasure;
  TrackId track;
  Generation generation;     // kConfirm: the number of the confirmation, from 1
  Attempt attempt;
  std::uint32_t batch = 0;   // 0, 1, ... within the generation; the same build serves all
  std::string backend;       // "cuda", "host"
  std::string operation;     // for people and evidence; a worker never branches on it
  std::string device_model;  // that the track is bound to
  std::vector<Buffer> buffers;
  std::vector<Scalar> scalars;
  std::vector<SourceText> sources;
  std::vector<HeaderText> headers;
  std::vector<std::string> build_options;  // the same for all sources
  std::vector<Arm> arms;
  CheckPlan check;
  std::vector<std::uint64_t> input_seeds;  // one a timed input set
  Timing timing;
  std::vector<RoundPlan> rounds;
  Deadlines deadlines;
  bool fresh_process = false;  // start a new runner for it

  bool operator==(const Order&) const = default;
};

}  // namespace pawl
