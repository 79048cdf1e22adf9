#pragma once
// One table of a job file: what it says, and nothing it leaves out. Layers laid over each other
// make a track's request.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/search/job.h"
#include "schema/event.h"
#include "schema/result.h"

namespace pawl {

class Table;

// A [policy] or [proposer] table.
struct RuleLayer {
  std::optional<std::string> name;
  std::string name_place;
  Parameters parameters;
  std::map<std::string, std::string> places;  // of the parameters, for messages
};

struct JobLayer {
  std::optional<std::string> label, operation, backend, structure;
  std::optional<std::vector<Scalar>> shape;
  std::optional<DType> dtype;
  std::optional<std::vector<std::string>> devices;
  std::optional<Instrument> instrument;
  std::optional<std::uint32_t> warmup, iterations;
  RuleLayer policy, proposer;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> in_flight;
  std::optional<std::uint32_t> generations, stale;
  std::optional<double> minutes;
  std::vector<StartValue> start;
  std::optional<bool> confirm;
  std::optional<bool> require_pinned;
  std::optional<std::uint32_t> build_ms, check_ms, run_ms;
  std::string place;                         // of the table
  std::string operation_place, shape_place;  // of the keys, where they are given
};

// Which table is read: the job's own and a [[track]] say everything; a [host] or [cuda] table
// within them says neither what the track is called nor where it runs.
enum class LayerKind { kTrack, kBackend };

// Takes every setting of a track out of `table`. `folder`: what a replay's file is relative to.
Result<JobLayer> ReadLayer(Table& table, LayerKind kind, const std::string& folder);

// Lays `over` on `request`. Naming another operation drops the shape, structure and start of the
// one before; another policy or proposer, its parameters.
void Lay(const JobLayer& over, TrackRequest& request);

}  // namespace pawl
