#pragma once
// A job: a TOML file that names one or more tracks, their policy, proposer and budget.
// The format is in docs/jobs.md; every key is checked, unknown ones are refused with the nearest
// known.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// A knob's value that a job starts from.
struct StartValue {
  std::string knob;
  KnobValue value;
  std::string place;  // "jobs/matmul.toml:12", for messages
};

// One track as asked for, before it is bound to a device model.
struct TrackRequest {
  std::string label;  // unique in the job; default "<operation> <shape> <dtype>"
  std::string operation;
  std::vector<Scalar> shape;
  DType dtype = DType::kF32;
  std::string backend;    // "cuda", "host", "best": the best that a connected device runs
  std::string structure;  // "tiled", "tiled+structured", "any", nothing (binding.h)
  std::vector<std::string> devices;  // "any", "host", "cuda", "replay:FILE", or a device model
  std::optional<Instrument> instrument;
  std::optional<std::uint32_t> warmup;
  std::optional<std::uint32_t> iterations;
  std::string policy = "field_note";
  Parameters policy_parameters;
  std::string proposer = "coordinate";
  Parameters proposer_parameters;
  std::uint64_t seed = 0;
  Budget budget;
  std::uint32_t in_flight = 1;    // candidates measured at once, at most
  std::vector<StartValue> start;  // over the structure's own; checked when the track is opened
  bool confirm = true;
  bool require_pinned = false;               // measured only where the clocks are pinned
  std::optional<Deadlines> deadlines;        // none: from the size of the problem
  std::string place;                         // "jobs/matmul.toml:12", for messages
  std::string operation_place, shape_place;  // likewise, of the keys
};

struct Job {
  std::string name;  // default: the file's stem
  std::string file;
  std::string text;
  std::int32_t priority = 0;       // among a daemon's jobs; the higher goes first
  std::vector<std::string> hosts;  // measured on these only; empty: on any
  std::uint32_t min_workers = 1;   // that can serve it are there before it begins
  // For each track, its settings per backend: [host] and [cuda] tables override the rest.
  struct Entry {
    TrackRequest base;
    std::map<std::string, TrackRequest> by_backend;  // fully merged
  };
  std::vector<Entry> tracks;

  // Every device any track names, "any" left out, in order, each once.
  std::vector<std::string> Devices() const;
};

Result<Job> ReadJob(const std::string& path);
Result<Job> ParseJob(const std::string& text, const std::string& path);

}  // namespace pawl
