#include "coordinator/search/job_layer.h"

#include <utility>

#include "coordinator/search/job_keys.h"
#include "kernels/document.h"

namespace pawl {
namespace {

constexpr std::int64_t kDayMs = 24 * 3'600'000;

Status TakeRule(Table& table, std::string_view key, RuleLayer& into) {
  auto sub = table.OptionalSub(key);
  if (!sub) return sub.error();
  if (*sub == nullptr) return {};
  if (Status taken = TakeLine(**sub, "name", into.name); !taken) return taken;
  into.name_place = (*sub)->PlaceOf("name").Text();
  for (const std::string& name : (*sub)->Keys()) {
    if (name == "name") continue;
    auto node = (*sub)->OptionalNode(name);
    if (!node) return node.error();
    const auto& value = (*node)->value;
    if (const bool* flag = std::get_if<bool>(&value)) {
      into.parameters[name] = *flag ? 1.0 : 0.0;
    } else if (const std::int64_t* whole = std::get_if<std::int64_t>(&value)) {
      into.parameters[name] = static_cast<double>(*whole);
    } else if (const double* real = std::get_if<double>(&value)) {
      into.parameters[name] = *real;
    } else if (const std::string* word = std::get_if<std::string>(&value)) {
      into.parameters[name] = *word;
    } else {
      return Error{(*sub)->PlaceOf(name).Text() + ": " + name +
                   " is a list or a table; a number is wanted"};
    }
    into.places[name] = (*sub)->PlaceOf(name).Text();
  }
  return {};
}

Status TakeWords(Table& table, JobLayer& layer) {
  std::optional<std::string> dtype;
  std::vector<std::string> dtypes;
  constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kU32};
  for (const DType known : kDTypes) dtypes.emplace_back(Name(known));
  if (Status taken = TakeChoice(table, "dtype", dtypes, dtype); !taken) return taken;
  for (const DType known : kDTypes) {
    if (dtype == Name(known)) layer.dtype = known;
  }
  std::optional<std::string> clocks;
  if (Status taken = TakeChoice(table, "clocks", {"observe", "require-pinned"}, clocks); !taken) {
    return taken;
  }
  if (clocks) layer.require_pinned = *clocks == "require-pinned";
  return TakeInstrument(table, layer.instrument);
}

Status TakeDevices(Table& table, const std::string& folder, JobLayer& layer) {
  auto devices = table.OptionalStrings("devices");
  if (!devices) return devices.error();
  if (!*devices) return {};
  if ((*devices)->empty()) {
    return Error{table.PlaceOf("devices").Text() +
                 ": devices is empty; [\"any\"] means every one there is"};
  }
  for (std::string& device : **devices) {
    if (!IsLine(device)) {
      return Error{table.PlaceOf("devices").Text() +
                   ": devices holds an empty name, or more than a line"};
    }
    if (device == "replay:") {
      return Error{table.PlaceOf("devices").Text() +
                   ": 'replay:' names no file; replay:FILE is wanted"};
    }
    device = DeviceFrom(folder, device);
  }
  layer.devices = std::move(**devices);
  return {};
}

Status TakeLimits(Table& table, JobLayer& layer) {
  auto budget = table.OptionalSub("budget");
  if (!budget) return budget.error();
  if (*budget != nullptr) {
    if (Status taken = TakeInteger(**budget, "generations", 0, kMost32, layer.generations); !taken)
      return taken;
    if (Status taken = TakeInteger(**budget, "stale", 0, kMost32, layer.stale); !taken)
      return taken;
    auto minutes = (*budget)->OptionalNumber("minutes", 0, 1e9);
    if (!minutes) return minutes.error();
    layer.minutes = *minutes;
  }
  auto deadlines = table.OptionalSub("deadlines");
  if (!deadlines) return deadlines.error();
  if (*deadlines != nullptr) {
    for (const auto& [key, into] : {std::pair{"build_ms", &layer.build_ms},
                                    {"check_ms", &layer.check_ms},
                                    {"run_ms", &layer.run_ms}}) {
      if (Status taken = TakeInteger(**deadlines, key, 100, kDayMs, *into); !taken) return taken;
    }
  }
  return {};
}

void LayRule(const RuleLayer& over, std::string& name, Parameters& parameters) {
  if (over.name && *over.name != name) {
    name = *over.name;
    parameters.clear();
  }
  for (const auto& [key, value] : over.parameters) parameters[key] = value;
}

}  // namespace

Result<JobLayer> ReadLayer(Table& table, LayerKind kind, const std::string& folder) {
  JobLayer layer;
  layer.place = table.place().Text();
  if (kind == LayerKind::kTrack) {
    if (Status taken = TakeLine(table, "label", layer.label); !taken) return taken.error();
    if (Status taken = TakeChoice(table, "backend", {"best", "host", "cuda"}, layer.backend);
        !taken) {
      return taken.error();
    }
    if (Status taken = TakeDevices(table, folder, layer); !taken) return taken.error();
  }
  if (Status taken = TakeName(table, "operation", layer.operation); !taken) return taken.error();
  if (layer.operation) layer.operation_place = table.PlaceOf("operation").Text();
  if (Status taken = TakeStructure(table, layer.structure); !taken) return taken.error();
  if (Status taken = TakeWords(table, layer); !taken) return taken.error();
  if (Status taken = TakeShape(table, layer.shape); !taken) return taken.error();
  if (layer.shape) layer.shape_place = table.PlaceOf("shape").Text();
  if (Status taken = TakeInteger(table, "warmup", 0, kMostCalls, layer.warmup); !taken)
    return taken.error();
  if (Status taken = TakeInteger(table, "iterations", 1, kMostCalls, layer.iterations); !taken) {
    return taken.error();
  }
  if (Status taken = TakeInteger(table, "in_flight", 1, kMostInFlight, layer.in_flight); !taken) {
    return taken.error();
  }
  if (Status taken = TakeInteger(table, "seed", 0, kMost64, layer.seed); !taken)
    return taken.error();
  if (Status taken = TakeRule(table, "policy", layer.policy); !taken) return taken.error();
  if (Status taken = TakeRule(table, "proposer", layer.proposer); !taken) return taken.error();
  if (Status taken = TakeKnobs(table, "start", layer.start); !taken) return taken.error();
  if (Status taken = TakeLimits(table, layer); !taken) return taken.error();
  auto confirm = table.OptionalBool("confirm");
  if (!confirm) return confirm.error();
  layer.confirm = *confirm;
  return layer;
}

void Lay(const JobLayer& over, TrackRequest& request) {
  if (over.label) request.label = *over.label;
  if (over.operation) {
    if (!request.operation.empty() && request.operation != *over.operation) {
      request.shape.clear();
      request.structure.clear();
      request.start.clear();
    }
    request.operation = *over.operation;
    request.operation_place = over.operation_place;
  }
  if (over.backend) request.backend = *over.backend;
  if (over.structure) request.structure = *over.structure;
  if (over.shape) {
    request.shape = *over.shape;
    request.shape_place = over.shape_place;
  }
  if (over.dtype) request.dtype = *over.dtype;
  if (over.devices) request.devices = *over.devices;
  if (over.instrument) request.instrument = over.instrument;
  if (over.warmup) request.warmup = over.warmup;
  if (over.iterations) request.iterations = over.iterations;
  LayRule(over.policy, request.policy, request.policy_parameters);
  LayRule(over.proposer, request.proposer, request.proposer_parameters);
  if (over.in_flight) request.in_flight = *over.in_flight;
  if (over.seed) request.seed = *over.seed;
  if (over.generations) request.budget.generations = *over.generations;
  if (over.minutes) request.budget.minutes = *over.minutes;
  if (over.stale) request.budget.stale = *over.stale;
  for (const StartValue& setting : over.start) {
    std::erase_if(request.start,
                  [&setting](const StartValue& other) { return other.knob == setting.knob; });
    request.start.push_back(setting);
  }
  if (over.confirm) request.confirm = *over.confirm;
  if (over.require_pinned) request.require_pinned = *over.require_pinned;
  if (over.build_ms || over.check_ms || over.run_ms) {
    Deadlines deadlines = request.deadlines.value_or(Deadlines{});
    deadlines.build_ms = over.build_ms.value_or(deadlines.build_ms);
    deadlines.check_ms = over.check_ms.value_or(deadlines.check_ms);
    deadlines.run_ms = over.run_ms.value_or(deadlines.run_ms);
    request.deadlines = deadlines;
  }
}

}  // namespace pawl
