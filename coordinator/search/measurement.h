#pragma once
// One kernel to be measured, with all that a manifest leaves open filled in, and the order for it.
// Pure.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/errands.h"
#include "coordinator/search/manifest.h"
#include "coordinator/search/problem.h"
#include "kernels/operation.h"
#include "schema/event.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

struct Measurement {
  std::shared_ptr<const Operation> operation;
  std::string backend;
  std::vector<Scalar> shape;
  Kernel kernel;
  std::string label;                     // for people: "committed", "tiled", "track 1 generation 7"
  std::optional<Instrument> instrument;  // none: the one that fits problem and device
  std::uint32_t warmup = 10;
  std::uint32_t iterations = 60;
  std::uint32_t rounds = 4;
  std::uint64_t seed = 0;  // equal seeds are equal inputs, those of a track of that seed too
  Deadlines deadlines;
  bool require_pinned = false;  // of a track that is measured only where the clocks are pinned
};

// A manifest's kernel of a package, on a backend that is not "best". Errors, with the manifest's
// lines: no such backend or structure, a shape that is none or too large, a configuration that is
// not valid there.
Result<Measurement> MeasurementOf(const Manifest& manifest,
                                  std::shared_ptr<const Operation> operation,
                                  const std::string& backend);

// A manifest's kernel of a track. `configuration`: the incumbent's or a generation's candidate's,
// which `label` says.
Result<Measurement> MeasurementOf(const Manifest& manifest, const TrackSpec& spec,
                                  std::shared_ptr<const Operation> operation,
                                  const Configuration& configuration, const std::string& label);

// Why a device cannot measure it: another backend, an instrument that it has not, no source to
// build, clocks that are not pinned; nullopt: it can.
std::optional<std::string> WhyNotMeasure(const Measurement& measurement, const DeviceFacts& device);

// One arm, a visit a round, on two input sets in turn. A device that needs no source gets none, and
// nothing is checked then. Errors: the package's.
Result<Order> MeasurementOrder(const Measurement& measurement, const DeviceFacts& device);

// It as a list of one errand. `measurement` must outlive it.
ErrandList MeasurementErrands(const Measurement& measurement);

}  // namespace pawl
