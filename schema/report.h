#pragma once
// A report: what a worker answers to an order. Medians, checks and facts, never raw samples: its size
// does not grow with the iterations.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/digest.h"
#include "schema/ids.h"
#include "schema/order.h"

namespace pawl {

// What became of the order. IF YOU ADD A VALUE: append, and add it to Name().
enum class OutcomeKind : std::uint8_t {
  kMeasured = 0,     // every recorded round is complete and every check passed
  kBuildFailed = 1,
  kLaunchFailed = 2,
  kCrashed = 3,
  kHung = 4,
  kWrongOutput = 5,
  kThrottled = 6,
  kDeviceFault = 7,
  kNoData = 8,       // replay: not recorded
};
std::string_view Name(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::kMeasured;
  std::optional<ArmRole> arm;  // whose it is, where it is one arm's
  std::string detail;          // one line for people; empty when measured

  bool operator==(const Outcome&) const = default;
};

struct BuildFacts {
  ArmRole arm = ArmRole::kCommitted;
  Digest source;
  Digest object;            // of the compiled code
  std::string compiler;     // "g++ (Debian ...) 12.2.0"
  std::string log;          // the compiler's, at most 4 KiB
  bool cached = false;      // the object came from the cache
  double seconds = 0;
  std::uint32_t registers = 0;      // cuda
  std::uint32_t shared_bytes = 0;   // cuda, static
  std::uint32_t spill_bytes = 0;    // cuda

  bool operator==(const BuildFacts&) const = default;
};

struct CheckFacts {
  ArmRole arm = ArmRole::kCommitted;
  bool passed = false;
  std::uint64_t elements = 0;   // compared, over all outputs and input sets
  std::uint64_t wrong = 0;
  double max_abs_error = 0;     // infinity when an element is not finite
  std::string detail;           // "C[3,17] is 1.5, reference 2.25, allowed 0.000325; 12 of 4096 wrong"

  bool operator==(const CheckFacts&) const = default;
};

struct VisitMedian {
  std::uint32_t arm = 0;        // into the order's arms
  std::uint32_t input_set = 0;
  double median_us = 0;
  double clock_mhz = 0;         // that the visit ran at; 0: not readable

  bool operator==(const VisitMedian&) const = default;
};

struct RoundMedians {
  std::vector<VisitMedian> visits;  // in the order they ran

  bool operator==(const RoundMedians&) const = default;
};

// An arm's time by another instrument than the order's, in a pass of its own after the rounds:
// recorded, never judged.
struct Capture {
  std::uint32_t arm = 0;  // into the order's arms
  Instrument instrument = Instrument::kKernelTime;
  double median_us = 0;

  bool operator==(const Capture&) const = default;
};

// A GPU while the rounds ran, as its driver tells it: the highest that any visit saw. What it does not
// tell is 0.
struct DeviceConditions {
  std::uint64_t clock_reasons = 0;      // NVML's bits for a clock below what it could be, of all visits
  std::uint32_t memory_mhz = 0;
  std::uint32_t temperature_c = 0;
  double power_w = 0;
  std::uint32_t foreign_processes = 0;  // others that computed on it
  std::uint16_t pinned_mhz = 0;         // that its clock was held at; 0: only observed

  bool operator==(const DeviceConditions&) const = default;
};

// What ran it. `model` binds a track; `toolchain` too.
struct DeviceFacts {
  std::string kind;        // "host", "replay", "cuda", "emulated"
  std::string model;       // "AMD EPYC 7763 (2 cores)", "NVIDIA GeForce RTX 4090"
  std::string uuid;        // of the device, or empty
  std::string toolchain;   // compiler or NVRTC and driver, in one line
  std::string backend;     // "host", "cuda": which structures it runs; "" for a replay: any
  std::vector<Instrument> instruments;
  std::uint32_t cores = 0;           // host: usable ones; cuda: SMs
  double peak_gflops = 0;            // float32; 0: not known
  double peak_gbytes_per_s = 0;      // memory; 0: not known
  bool needs_source = true;          // false for a replay
  std::uint16_t pinned_mhz = 0;      // that its worker holds its clock at; 0: only observed

  bool operator==(const DeviceFacts&) const = default;
};

struct Report {
  OrderKind kind = OrderKind::kMeasure;
  TrackId track;
  Generation generation;
  Attempt attempt;
  std::uint32_t batch = 0;
  Digest order;                      // of the order's bytes
  WorkerId worker;
  Outcome outcome;
  std::vector<ArmRole> arms;         // the order's arms, by role: what the visits' numbers mean
  std::vector<BuildFacts> builds;
  std::vector<CheckFacts> checks;
  std::vector<RoundMedians> rounds;  // recorded ones only
  double build_seconds = 0;          // a replay's seconds are virtual
  double check_seconds = 0;
  double run_seconds = 0;
  Digest evidence;                   // zero: none was kept
  std::string toolchain;
  bool data_exhausted = false;       // the replay of a ledger is at its end
  DeviceConditions conditions;       // of a GPU; all 0 otherwise
  std::vector<Capture> captures;     // of a candidate that may be kept, and of a confirmation

  bool operator==(const Report&) const = default;
};

}  // namespace pawl
