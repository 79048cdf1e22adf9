#include "coordinator/search/measurement.h"

#include <algorithm>
#include <utility>

#include "coordinator/search/answers.h"
#include "coordinator/search/binding.h"
#include "kernels/compound.h"
#include "kernels/space.h"

namespace pawl {
namespace {

constexpr std::uint32_t kInputSets = 2;

std::string ShapeText(const std::vector<Scalar>& shape) {
  std::string text;
  for (const Scalar& letter : shape) {
    text += (text.empty() ? "" : " ") + letter.name + "=" + std::to_string(letter.value);
  }
  return text;
}

std::string BackendNames(const Operation& operation) {
  std::string names;
  for (const Backend& backend : operation.backends) {
    names += (names.empty() ? "" : ", ") + backend.name;
  }
  return names.empty() ? "none" : names;
}

void SetTerms(const Manifest& manifest, Measurement& measurement) {
  if (manifest.instrument) measurement.instrument = manifest.instrument;
  measurement.warmup = manifest.warmup.value_or(measurement.warmup);
  measurement.iterations = manifest.iterations.value_or(measurement.iterations);
  measurement.rounds = manifest.rounds.value_or(measurement.rounds);
  measurement.seed = manifest.seed.value_or(measurement.seed);
}

Status SetConfiguration(const Manifest& manifest, const Backend& backend,
                        Measurement& measurement) {
  const std::string place =
      manifest.PlaceOf(manifest.structure.empty() ? "configuration" : "structure");
  auto structure = StructureOf(manifest.structure, *measurement.operation, backend, place);
  if (!structure) return structure.error();
  auto configuration = ConfigurationFrom(**structure, *manifest.configuration, "[configuration]");
  if (!configuration) return configuration.error();
  const Result<Space> space = Space::Make(**structure, measurement.shape);
  if (!space) return space.error();
  std::string violations;
  for (const Violation& violation : space->Validate(*configuration)) {
    violations += (violations.empty() ? "" : "; ") + violation.text;
  }
  if (!violations.empty()) {
    return Error{manifest.PlaceOf("configuration") + ": configuration " + configuration->Text() +
                 " is not valid at " + ShapeText(measurement.shape) + ": " + violations};
  }
  measurement.kernel = {*structure, *std::move(configuration)};
  measurement.label = (*structure)->name;
  return {};
}

Result<Instrument> InstrumentOn(const Measurement& measurement, const DeviceFacts& device) {
  if (measurement.instrument) return *measurement.instrument;
  return DefaultInstrument(measurement.backend, device, *measurement.operation, measurement.shape);
}

// Whether there is something to build.
bool HasSource(const Measurement& measurement) {
  if (measurement.kernel.structure != nullptr) {
    return !measurement.kernel.structure->source.empty();
  }
  const Backend* backend = measurement.operation->FindBackend(measurement.backend);
  const auto committed = CommittedAt(*measurement.operation, *backend, measurement.shape);
  return committed && !(*committed)->source.empty();
}

}  // namespace

Result<Measurement> MeasurementOf(const Manifest& manifest,
                                  std::shared_ptr<const Operation> operation,
                                  const std::string& backend_name) {
  Measurement measurement;
  measurement.operation = std::move(operation);
  measurement.backend = backend_name;
  SetTerms(manifest, measurement);
  const Operation& package = *measurement.operation;
  const Backend* backend = package.FindBackend(backend_name);
  if (backend == nullptr) {
    return Error{manifest.PlaceOf(manifest.places.contains("backend") ? "backend" : "operation") +
                 ": operation " + package.name + " has no backend " + backend_name +
                 " (have: " + BackendNames(package) + ")"};
  }
  const Place place{manifest.PlaceOf("shape"), 0};
  auto shape = CheckShape(package, manifest.shape, place);
  if (!shape) return shape.error();
  measurement.shape = *std::move(shape);
  if (auto buffers = BuffersAt(package, measurement.shape); !buffers) {
    return Error{place.file + ": " + buffers.error().message};
  }
  if (manifest.configuration) {
    if (Status set = SetConfiguration(manifest, *backend, measurement); !set) return set.error();
    return measurement;
  }
  measurement.label = "committed";
  if (const auto committed = CommittedAt(package, *backend, measurement.shape); !committed) {
    return Error{place.file + ": " + committed.error().message};
  }
  return measurement;
}

Result<Measurement> MeasurementOf(const Manifest& manifest, const TrackSpec& spec,
                                  std::shared_ptr<const Operation> operation,
                                  const Configuration& configuration, const std::string& label) {
  Measurement measurement;
  measurement.operation = std::move(operation);
  measurement.backend = spec.backend;
  measurement.shape = spec.shape;
  const Backend* backend = measurement.operation->FindBackend(spec.backend);
  if (backend == nullptr) return Error{"the track's package has no backend " + spec.backend};
  const auto structure = StructureNamed(*backend, spec.structure);
  if (!structure) return Error{"the track's package: " + structure.error().message};
  Choice choice = ChoiceOf(*structure, configuration);
  measurement.kernel.structure =
      measurement.operation->FindStructure(spec.backend, choice.structure);
  measurement.kernel.configuration = std::move(choice.configuration);
  measurement.label = label;
  measurement.instrument = spec.instrument;
  measurement.warmup = spec.warmup;
  measurement.iterations = spec.iterations;
  measurement.seed = spec.seed;
  measurement.deadlines = spec.deadlines;
  measurement.require_pinned = spec.require_pinned;
  SetTerms(manifest, measurement);
  return measurement;
}

std::optional<std::string> WhyNotMeasure(const Measurement& measurement,
                                         const DeviceFacts& device) {
  if (device.kind == "emulated") {
    return "device " + device.model + " checks kernels and never times them; see `pawl devices`";
  }
  if (!device.backend.empty() && device.backend != measurement.backend) {
    return "the kernel is of backend " + measurement.backend + ", device " + device.model +
           " runs " + device.backend;
  }
  if (device.needs_source && !HasSource(measurement)) {
    return measurement.label + " has no source, so only a replay can measure it";
  }
  const Result<Instrument> instrument = InstrumentOn(measurement, device);
  if (!instrument) return instrument.error().message;
  const std::vector<Instrument>& have = device.instruments;
  if (std::find(have.begin(), have.end(), *instrument) == have.end()) {
    std::string names;
    for (const Instrument one : have) names += (names.empty() ? "" : ", ") + std::string(Name(one));
    return "device " + device.model + " has no instrument " + std::string(Name(*instrument)) +
           " (have: " + (names.empty() ? "none" : names) + ")";
  }
  if (const auto why = WhyNotPinned(device, measurement.require_pinned)) return "the track " + *why;
  return std::nullopt;
}

Result<Order> MeasurementOrder(const Measurement& measurement, const DeviceFacts& device) {
  const Operation& operation = *measurement.operation;
  const Backend& backend = *operation.FindBackend(measurement.backend);
  const Result<Instrument> instrument = InstrumentOn(measurement, device);
  if (!instrument) return instrument.error();
  ProblemTerms terms;
  terms.seed = measurement.seed;
  terms.input_sets = kInputSets;
  terms.timing.instrument = *instrument;
  terms.timing.warmup = measurement.warmup;
  terms.timing.iterations = measurement.iterations;
  terms.deadlines = measurement.deadlines;
  terms.with_sources = device.needs_source;
  Result<Order> order = OrderOver(operation, backend, measurement.shape, terms);
  if (!order) return order.error();
  order->device_model = device.model;
  order->fresh_process = true;
  const ArmRole role =
      measurement.kernel.structure == nullptr ? ArmRole::kCommitted : ArmRole::kCandidate;
  if (Status added =
          AddKernel(*order, operation, backend, measurement.kernel, role, measurement.label);
      !added) {
    return added.error();
  }
  for (std::uint32_t round = 0; round < measurement.rounds; ++round) {
    order->rounds.push_back({true, {{0, round % kInputSets}}});
  }
  return order;
}

ErrandList MeasurementErrands(const Measurement& measurement) {
  ErrandList list;
  list.kind = OrderKind::kMeasure;
  list.count = 1;
  list.make = [&measurement](std::size_t, Attempt, const DeviceFacts& device) {
    return MeasurementOrder(measurement, device);
  };
  list.why_not = [&measurement](const DeviceFacts& device) {
    return WhyNotMeasure(measurement, device);
  };
  return list;
}

}  // namespace pawl
