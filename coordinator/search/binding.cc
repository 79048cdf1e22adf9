#include "coordinator/search/binding.h"

#include <algorithm>

#include "coordinator/search/answers.h"
#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "kernels/compound.h"
#include "kernels/document.h"

namespace pawl {
namespace {

std::string FileName(std::string_view path) {
  const std::string_view bare = path.substr(0, path.find('?'));
  const std::size_t slash = bare.rfind('/');
  return std::string(slash == std::string_view::npos ? bare : bare.substr(slash + 1));
}

// An event span around one launch cannot judge a kernel of a few microseconds: identical ones
// differ by 10 % in it, and by 0.2 % in a graph of unrolled calls. How long a kernel takes is not
// known yet; what the device's peaks allow at best is.
constexpr double kShortUs = 20;

// The known knob that is meant by an unknown name: a near one, or one whose structure was left out.
std::string NearestKnob(const std::string& name, const Structure& structure) {
  std::vector<std::string> known;
  for (const Knob& knob : structure.knobs) known.push_back(knob.name);
  const std::string nearest = Nearest(name, known);
  if (!nearest.empty()) return nearest;
  const auto unqualified = std::find_if(known.begin(), known.end(), [&](const std::string& knob) {
    return knob.ends_with("." + name);
  });
  return unqualified == known.end() ? "" : *unqualified;
}

}  // namespace

Result<Instrument> DefaultInstrument(const std::string& backend, const DeviceFacts& facts,
                                     const Operation& operation, const std::vector<Scalar>& shape) {
  if (backend == "host") return Instrument::kWallTime;
  const bool graphs = std::find(facts.instruments.begin(), facts.instruments.end(),
                                Instrument::kGraphTime) != facts.instruments.end();
  if (!graphs || facts.peak_gflops <= 0 || facts.peak_gbytes_per_s <= 0) {
    return Instrument::kEventSpan;
  }
  const Result<double> flops = FlopsAt(operation, shape);
  if (!flops) return flops.error();
  const Result<double> bytes = BytesAt(operation, shape);
  if (!bytes) return bytes.error();
  const double least_us =
      std::max(*flops / facts.peak_gflops, *bytes / facts.peak_gbytes_per_s) / 1e3;
  return least_us < kShortUs ? Instrument::kGraphTime : Instrument::kEventSpan;
}

Result<Configuration> ConfigurationFrom(const Structure& structure,
                                        const std::vector<StartValue>& values,
                                        const std::string& table) {
  Configuration start = structure.start;
  std::vector<StartValue> ordered = values;
  std::stable_partition(ordered.begin(), ordered.end(), [](const StartValue& value) {
    return value.knob == kStructureKnob;  // which knobs there are, it says
  });
  for (const auto& [knob, value, place] : ordered) {
    const auto listed =
        std::find_if(structure.knobs.begin(), structure.knobs.end(),
                     [&name = knob](const Knob& other) { return other.name == name; });
    if (listed == structure.knobs.end()) {
      const std::string nearest = NearestKnob(knob, structure);
      return Error{place + ": unknown knob '" + knob + "' in " + table + " of " + structure.file +
                   (nearest.empty() ? "" : "; nearest is '" + nearest + "'")};
    }
    const KnobValue* now = start.Find(knob);
    if (now == nullptr) {
      const std::string chosen = ToText(*start.Find(kStructureKnob));
      return Error{place + ": knob '" + knob + "' in " + table + " is inactive where " +
                   kStructureKnob + " is '" + chosen + "'; set " + kStructureKnob + " = \"" +
                   knob.substr(0, knob.find('.')) + "\" there too"};
    }
    if (now->index() != value.index()) {
      return Error{place + ": knob '" + knob + "' in " + table + " is '" + ToText(value) +
                   "', a value like '" + ToText(*now) + "' is wanted"};
    }
    if (value != *now &&
        std::find(listed->values.begin(), listed->values.end(), value) == listed->values.end()) {
      std::string list;
      for (const KnobValue& one : listed->values) list += (list.empty() ? "" : ", ") + ToText(one);
      return Error{place + ": knob '" + knob + "' in " + table + " is '" + ToText(value) +
                   "', which is none of its values in " + structure.file + " (" + list + ")"};
    }
    start = WithValue(structure, start, knob, value);
  }
  return start;
}

Result<const Structure*> StructureOf(const std::string& name, const Operation& operation,
                                     const Backend& backend, const std::string& place) {
  if (backend.structures.empty()) {
    std::string others;
    for (const Backend& other : operation.backends) {
      if (!other.structures.empty()) others += (others.empty() ? "" : ", ") + other.name;
    }
    return Error{place + ": operation " + operation.name + " has no structure for backend " +
                 backend.name +
                 (others.empty() ? ", nor for another: only its committed kernels can be measured"
                                 : " (it has some for " + others + "); name another backend")};
  }
  if (!name.empty()) {
    const Structure* named = operation.FindStructure(backend.name, name);
    if (named != nullptr) return named;
    std::string have;
    for (const Structure& structure : backend.structures) {
      have += (have.empty() ? "" : ", ") + structure.name;
    }
    return Error{place + ": no structure '" + name + "' in " + operation.folder + "/" +
                 backend.name + " (have: " + have + ")"};
  }
  if (backend.structures.size() == 1) return &backend.structures.front();
  std::string have;
  for (const Structure& structure : backend.structures) {
    have += (have.empty() ? "" : ", ") + structure.name;
  }
  return Error{place + ": " + operation.folder + "/" + backend.name + " has " +
               std::to_string(backend.structures.size()) + " structures (" + have +
               "); name one with structure = \"...\""};
}

Result<Structure> SearchedStructure(const std::string& name, const Operation& operation,
                                    const Backend& backend, const std::string& place) {
  // A structure may be called that itself.
  const bool every = name.empty() || (name == kEveryStructure &&
                                      operation.FindStructure(backend.name, name) == nullptr);
  std::string names = every ? "" : name;
  if (every) {
    for (const Structure& structure : backend.structures) {
      if (structure.source.empty()) continue;
      if (!names.empty()) names += kStructureJoint;
      names += structure.name;
    }
  }
  // Where none has a source they are recorded ones, and a recording is of one.
  if (names.empty() || backend.structures.size() <= 1) {
    const auto only = StructureOf(names, operation, backend, place);
    if (!only) return only.error();
    return **only;
  }
  auto structure = StructureNamed(backend, names);
  if (structure) return structure;
  return Error{place + ": " + operation.folder + "/" + backend.name + ": " +
               structure.error().message};
}

namespace {

Result<TrackSpec> Bind(const Job& job, const TrackRequest& request, const std::string& backend_name,
                       const DeviceFacts& facts, const Operation& operation) {
  const Backend* backend = operation.FindBackend(backend_name);
  CHECK(backend != nullptr);
  auto structure = SearchedStructure(request.structure, operation, *backend, request.place);
  if (!structure) return structure.error();
  auto shape = CheckShape(operation, request.shape, Place{request.shape_place, 0});
  if (!shape) return shape.error();
  auto start = ConfigurationFrom(*structure, request.start, "start");
  if (!start) return start.error();
  auto policy = MakePolicy(request.policy, request.policy_parameters);
  if (!policy) return Error{request.place + ": " + policy.error().message};
  auto proposer = MakeProposer(request.proposer, request.proposer_parameters);
  if (!proposer) return Error{request.place + ": " + proposer.error().message};

  TrackSpec spec;
  spec.job = job.name;
  spec.label = request.label;
  spec.operation = operation.name;
  spec.shape = *shape;
  spec.dtype = request.dtype;
  spec.backend = backend_name;
  spec.structure = structure->name;
  spec.device_model = facts.model;
  spec.toolchain = facts.toolchain;
  const auto instrument = DefaultInstrument(backend_name, facts, operation, *shape);
  if (!instrument) return instrument.error();
  spec.instrument = request.instrument.value_or(*instrument);
  spec.warmup = request.warmup.value_or(spec.warmup);
  spec.iterations = request.iterations.value_or(spec.iterations);
  spec.policy = request.policy;
  spec.policy_parameters = (*policy)->Effective();
  spec.proposer = request.proposer;
  spec.proposer_parameters = (*proposer)->Effective();
  spec.seed = request.seed;
  spec.budget = request.budget;
  spec.start = *start;
  spec.package = BoundFiles(operation, backend_name);
  spec.confirm = request.confirm;
  spec.require_pinned = request.require_pinned;
  if (request.deadlines) spec.deadlines = *request.deadlines;
  spec.peak_gflops = facts.peak_gflops;
  spec.peak_gbytes_per_s = facts.peak_gbytes_per_s;
  if (std::find(facts.instruments.begin(), facts.instruments.end(), spec.instrument) ==
      facts.instruments.end()) {
    return Error{request.place + ": device " + facts.model + " has no instrument '" +
                 std::string(Name(spec.instrument)) + "'"};
  }
  return spec;
}

}  // namespace

bool MatchesDevice(const std::string& wanted, const DeviceFacts& facts) {
  if (wanted == "any")
    return facts.kind != "replay" && facts.kind != "emulated";  // which never times
  if (wanted.starts_with("replay:")) {
    return facts.kind == "replay" &&
           facts.toolchain.starts_with("replay " + FileName(wanted.substr(7)) + " ");
  }
  if (wanted.starts_with("cuda:")) {
    // Which number a GPU has, its worker knows: it was started for that one.
    const std::string which = wanted.substr(5);
    const bool number =
        !which.empty() && which.find_first_not_of("0123456789") == std::string::npos;
    return facts.kind == "cuda" && (number || which == facts.uuid);
  }
  return wanted == facts.kind || wanted == facts.model ||
         (!facts.uuid.empty() && wanted == facts.uuid);
}

Result<Bound> BindJob(const Job& job, const DeviceFacts& facts, const OperationLookup& lookup) {
  Bound bound;
  for (const Job::Entry& entry : job.tracks) {
    const bool wanted =
        std::any_of(entry.base.devices.begin(), entry.base.devices.end(),
                    [&](const std::string& device) { return MatchesDevice(device, facts); });
    if (!wanted) {
      bound.reasons.push_back(entry.base.place + ": track '" + entry.base.label +
                              "' is not for device " + facts.model);
      continue;
    }
    std::string backend = entry.base.backend;
    if (backend == "best") backend = facts.backend;
    if (backend.empty()) {
      return Error{entry.base.place + ": track '" + entry.base.label +
                   "' leaves the backend to the device, and a replay has none; say backend = "
                   "\"cuda\" or \"host\""};
    }
    if (!facts.backend.empty() && backend != facts.backend) {
      bound.reasons.push_back(entry.base.place + ": track '" + entry.base.label +
                              "' is for backend " + backend + ", device " + facts.model + " runs " +
                              facts.backend);
      continue;
    }
    const auto merged = entry.by_backend.find(backend);
    const TrackRequest& request = merged == entry.by_backend.end() ? entry.base : merged->second;
    if (const auto why = WhyNotPinned(facts, request.require_pinned)) {
      bound.reasons.push_back(request.place + ": track '" + request.label + "' " + *why);
      continue;
    }
    auto operation = lookup(request.operation);
    if (!operation) return Error{request.operation_place + ": " + operation.error().message};
    const Backend* found = (*operation)->FindBackend(backend);
    if (found == nullptr) {
      bound.reasons.push_back(request.operation_place + ": operation " + request.operation +
                              " has no backend " + backend);
      continue;
    }
    if (found->structures.empty() && entry.base.backend == "best") {
      bound.reasons.push_back(StructureOf("", **operation, *found, request.place).error().message);
      continue;
    }
    auto spec = Bind(job, request, backend, facts, **operation);
    if (!spec) return spec.error();
    const auto structure = StructureNamed(*found, spec->structure);
    if (!structure) return structure.error();
    if (facts.needs_source && structure->source.empty()) {
      bound.reasons.push_back(request.place + ": structure " + structure->file +
                              " has no source, so only a replay can serve it");
      continue;
    }
    bound.specs.push_back(*std::move(spec));
    bound.in_flight.push_back(request.in_flight);
  }
  return bound;
}

bool SameTrack(const TrackSpec& a, const TrackSpec& b) {
  return a.job == b.job && a.label == b.label && a.device_model == b.device_model;
}

std::optional<std::string> WhyNotResume(const TrackSpec& opened, const TrackSpec& wanted) {
  const auto differs = [](const std::string& what, const std::string& was, const std::string& is) {
    return what + " was '" + was + "' when the track was opened and is '" + is + "' now";
  };
  for (const auto& [file, digest] : opened.package) {
    const auto now = wanted.package.find(file);
    if (now == wanted.package.end()) return "file " + wanted.operation + "/" + file + " is gone";
    if (now->second != digest) {
      return "file " + wanted.operation + "/" + file + " has changed (" + digest.Short() +
             " then, " + now->second.Short() + " now)";
    }
  }
  for (const auto& [file, digest] : wanted.package) {
    if (!opened.package.contains(file)) return "file " + wanted.operation + "/" + file + " is new";
  }
  if (opened.operation != wanted.operation) {
    return differs("the operation", opened.operation, wanted.operation);
  }
  if (opened.shape != wanted.shape) return std::string("the shape has changed");
  if (opened.dtype != wanted.dtype) {
    return differs("the dtype", std::string(Name(opened.dtype)), std::string(Name(wanted.dtype)));
  }
  if (opened.backend != wanted.backend)
    return differs("the backend", opened.backend, wanted.backend);
  if (opened.structure != wanted.structure) {
    return differs("the structure", opened.structure, wanted.structure);
  }
  if (opened.toolchain != wanted.toolchain) {
    return differs("the toolchain", opened.toolchain, wanted.toolchain);
  }
  if (opened.instrument != wanted.instrument) {
    return differs("the instrument", std::string(Name(opened.instrument)),
                   std::string(Name(wanted.instrument)));
  }
  if (opened.warmup != wanted.warmup || opened.iterations != wanted.iterations) {
    return differs("warmup and iterations",
                   std::to_string(opened.warmup) + " and " + std::to_string(opened.iterations),
                   std::to_string(wanted.warmup) + " and " + std::to_string(wanted.iterations));
  }
  if (opened.require_pinned != wanted.require_pinned) {
    const auto clocks = [](bool pinned) {
      return std::string(pinned ? "require-pinned" : "observe");
    };
    return differs("clocks", clocks(opened.require_pinned), clocks(wanted.require_pinned));
  }
  if (opened.policy != wanted.policy) return differs("the policy", opened.policy, wanted.policy);
  if (opened.policy_parameters != wanted.policy_parameters) {
    return std::string("the policy's parameters have changed");
  }
  if (opened.proposer != wanted.proposer)
    return differs("the proposer", opened.proposer, wanted.proposer);
  if (opened.proposer_parameters != wanted.proposer_parameters) {
    return std::string("the proposer's parameters have changed");
  }
  if (opened.seed != wanted.seed) {
    return differs("the seed", std::to_string(opened.seed), std::to_string(wanted.seed));
  }
  if (opened.start != wanted.start) {
    return differs("the start configuration", opened.start.Text(), wanted.start.Text());
  }
  // The ledger's own spec is what a resumed track goes on with: what is not refused here is
  // unheard.
  if (opened.confirm != wanted.confirm) {
    const auto confirms = [](bool confirm) { return std::string(confirm ? "true" : "false"); };
    return differs("confirm", confirms(opened.confirm), confirms(wanted.confirm));
  }
  if (opened.deadlines != wanted.deadlines) {
    const auto ms = [](const Deadlines& deadlines) {
      return std::to_string(deadlines.build_ms) + ", " + std::to_string(deadlines.check_ms) +
             " and " + std::to_string(deadlines.run_ms);
    };
    return differs("build_ms, check_ms and run_ms", ms(opened.deadlines), ms(wanted.deadlines));
  }
  return std::nullopt;
}

Configuration StartOfFork(const TrackState& old, const TrackSpec& wanted, const Backend& backend) {
  if (old.spec.operation != wanted.operation) return wanted.start;
  const Choice choice = ChoiceIn(old.spec.structure, old.incumbent);
  const auto is = StructureNamed(backend, wanted.structure);
  if (!is) return wanted.start;
  const std::vector<Structure> alone = {*is};
  const std::vector<Structure>& among = is->members.empty() ? alone : is->members;
  const auto same = std::find_if(among.begin(), among.end(), [&](const Structure& structure) {
    return structure.name == choice.structure;
  });
  if (same == among.end()) return wanted.start;
  const std::vector<Setting>& settings = choice.configuration.settings;
  const bool fits = std::equal(
      settings.begin(), settings.end(), same->knobs.begin(), same->knobs.end(),
      [](const Setting& setting, const Knob& knob) { return setting.knob == knob.name; });
  if (!fits) return wanted.start;
  return is->members.empty() ? choice.configuration : Qualified(*same, choice.configuration);
}

std::map<std::string, Digest> BoundFiles(const Operation& operation, const std::string& backend) {
  std::map<std::string, Digest> bound;
  for (const auto& [file, digest] : operation.Digests()) {
    const std::size_t slash = file.find('/');
    if (file == kDeviceHeaderName && backend != "cuda") continue;  // which only cuda files include
    if (slash == std::string::npos || file.substr(0, slash) == backend) bound.emplace(file, digest);
  }
  return bound;
}

std::string TrackTitle(const TrackSpec& spec) { return spec.label + " on " + spec.device_model; }

}  // namespace pawl
