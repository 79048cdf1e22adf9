#pragma once
// The seam: a device builds, checks and times the arms of an order. Lives in the runner child, so
// it may crash or hang; it knows no operation and no policy.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

enum class Stage : std::uint8_t { kBuild = 0, kCheck = 1, kRun = 2 };
std::string_view Name(Stage stage);

// How a device says where it is: called before each source, arm's check and visit. The agent starts
// the stage's deadline anew at each call and counts finished units for its beats.
using Progress = std::function<void(Stage stage, ArmRole arm)>;

// One timed visit's raw samples: evidence, never part of a report.
struct Samples {
  std::uint32_t round = 0;
  bool recorded = true;
  ArmRole arm = ArmRole::kCommitted;
  std::uint32_t input_set = 0;
  double clock_mhz = 0;
  std::vector<double> us;
  DeviceConditions conditions{};  // right after the visit
};

struct Execution {
  Report report;  // identity fields (track, generation, ..., worker, order) are filled in by the
                  // runner
  std::vector<Samples> samples;
  std::vector<std::string> notes;  // for the worker's log, a line each
};

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceFacts Facts() const = 0;

  // Builds all arms, checks them, runs the rounds. A candidate's failure is the report's outcome;
  // an Error is a world that fails (no compiler, disk full) and is void for the candidate.
  virtual Result<Execution> Execute(const Order& order, const Progress& progress) = 0;

  // A hint: build these into the object cache. Failures are nobody's.
  virtual void Prepare(const pawl::Prepare& hint) = 0;
};

struct DeviceOptions {
  std::string scratch;  // a folder of its own for builds
  std::string cache;    // objects and reference outputs by content, shared between workers
  std::uint64_t cache_bytes = 2ull << 30;
  std::vector<int> cores;          // affinity of the measured thread(s); empty: all allowed ones
  std::uint64_t memory_bytes = 0;  // that a runner may take; 0: three quarters of the machine's
  // Of a GPU: the profiler's start and stop calls go round the timed calls of each visit.
  bool profiler_bracket = false;
  bool measure_peaks = true;  // of the host: about a second where the cache does not hold them
};

// `name`: "host", "cuda" (the first GPU), "cuda:1", "cuda:GPU-UUID", "replay:FILE[?noise=...]".
// Errors name what is known.
Result<std::unique_ptr<Device>> OpenDevice(const std::string& name, const DeviceOptions& options);

// What this machine has, for `pawl devices` and for `pawl run` without --device: names OpenDevice
// takes, with their facts or why they cannot be used. Without `peaks` the host's are 0, not known:
// they cost about a second that who only picks a device need not wait for.
struct DeviceListing {
  std::string name;
  DeviceFacts facts;
  std::string problem;               // empty: usable
  std::vector<std::string> notes{};  // for people, a line each
  std::uint64_t memory_bytes = 0;    // of this machine, that a runner may take; 0: no limit
};
std::vector<DeviceListing> ListDevices(bool peaks);

}  // namespace pawl
