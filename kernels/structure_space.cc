// The space of one structure, by its program.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kernels/document.h"  // Nearest
#include "kernels/space_state.h"

namespace pawl {

Result<std::unique_ptr<Space::Interface>> Space::State::Make(const Structure& structure,
                                                             const std::vector<Scalar>& shape) {
  auto state = std::make_unique<State>();
  state->structure = &structure;
  Result<Program> program = Compile(structure);
  if (!program) return program.error();
  state->program = std::move(*program);
  state->letters.assign(state->program.scope.names().size(), 0);
  for (std::size_t i = 0; i < structure.letters.size(); ++i) {
    const auto given = std::find_if(shape.begin(), shape.end(), [&](const Scalar& scalar) {
      return scalar.name == structure.letters[i];
    });
    if (given == shape.end()) {
      return Error{structure.file + ": the shape has no value for '" + structure.letters[i] + "'"};
    }
    if (given->value < 1 || given->value > kLargestValue) {
      return Error{structure.file + ": the shape's " + given->name + " is " +
                   std::to_string(given->value) + "; 1 to 2^53 is wanted"};
    }
    state->shape.push_back(*given);
    state->letters[i] = given->value;
  }
  if (shape.size() != structure.letters.size()) {
    return Error{structure.file + ": the shape has " + std::to_string(shape.size()) + " values; " +
                 std::to_string(structure.letters.size()) + " are wanted"};
  }
  for (const Knob& knob : structure.knobs) state->lists.push_back(knob.values);
  state->derived_at.resize(structure.knobs.size() + 1);
  state->needs_at.resize(structure.knobs.size() + 1);
  const Program& compiled = state->program;
  for (std::size_t i = 0; i < compiled.derived.size(); ++i) {
    state->derived_at[static_cast<std::size_t>(compiled.derived[i].level + 1)].push_back(
        static_cast<int>(i));
  }
  for (std::size_t i = 0; i < compiled.needs.size(); ++i) {
    state->needs_at[static_cast<std::size_t>(compiled.needs[i].level + 1)].push_back(
        static_cast<int>(i));
  }
  const auto is_literal = [](const Expression& side) { return side.slots().empty(); };
  state->plain_launches =
      std::all_of(compiled.launches.begin(), compiled.launches.end(),
                  [&](const Program::Launch& launch) {
                    return (!launch.when || is_literal(*launch.when)) &&
                           std::all_of(launch.geometry.begin(), launch.geometry.end(), is_literal);
                  }) &&
      std::all_of(compiled.scratch.begin(), compiled.scratch.end(), is_literal) &&
      state->CheckLaunches(state->letters).has_value();
  return std::unique_ptr<Interface>(std::move(state));
}

std::uint64_t Space::State::Cartesian() const {
  std::uint64_t product = 1;
  for (const std::vector<KnobValue>& list : lists) product *= list.size();
  return product;
}

Configuration Space::State::At(std::uint64_t ordinal) const {
  CHECK(ordinal < Cartesian(), ordinal);
  Configuration configuration;
  configuration.settings.resize(lists.size());
  for (std::size_t i = lists.size(); i-- > 0;) {
    const std::vector<KnobValue>& list = lists[i];
    configuration.settings[i] = {structure->knobs[i].name, list[ordinal % list.size()]};
    ordinal /= list.size();
  }
  return configuration;
}

std::optional<std::uint64_t> Space::State::OrdinalOf(const Configuration& configuration) const {
  if (configuration.settings.size() != lists.size()) return std::nullopt;
  std::uint64_t ordinal = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::vector<KnobValue>& list = lists[i];
    const Setting& setting = configuration.settings[i];
    const auto value = std::find(list.begin(), list.end(), setting.value);
    if (setting.knob != structure->knobs[i].name || value == list.end()) return std::nullopt;
    ordinal = ordinal * list.size() + static_cast<std::uint64_t>(value - list.begin());
  }
  return ordinal;
}

void Space::State::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  Walk walk(*this, lists);
  for (bool found = walk.Seek(0); found; found = walk.Next()) {
    if (!visit(walk.configuration())) return;
  }
}

void Space::State::EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const {
  // What no rule touches is one of a kind; of the others the first of each kind counts.
  std::unordered_set<std::uint64_t> seen;
  Enumerate([&](const Configuration& configuration) {
    Configuration canonical = configuration;
    if (Canonicalise(canonical) && !seen.insert(*OrdinalOf(canonical)).second) return true;
    return visit(configuration);
  });
}

std::optional<Space::Entry> Space::State::NextValid(std::uint64_t ordinal) const {
  Walk walk(*this, lists);
  if (!walk.Seek(ordinal)) return std::nullopt;
  return Entry{walk.ordinal(), walk.configuration()};
}

Configuration Space::State::Canonical(const Configuration& configuration) const {
  Configuration canonical = configuration;
  if (Misfits(configuration).empty()) Canonicalise(canonical);
  return canonical;
}

std::vector<Violation> Space::State::Validate(const Configuration& configuration) const {
  std::vector<Violation> violations = Misfits(configuration);
  if (!violations.empty()) return violations;
  SlotValues values = ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  // A value that cannot be computed (a division by zero) is a violation of its own only when no
  // constraint says why.
  std::optional<std::string> failure = Derive(values, &failed);
  for (const Program::Need& need : program.needs) {
    const std::vector<std::size_t>& slots = need.need.slots();
    if (std::any_of(slots.begin(), slots.end(), [&](std::size_t slot) { return failed[slot]; })) {
      continue;
    }
    const Result<std::int64_t> holds = need.need.Evaluate(values);
    if (!holds) {
      if (!failure) failure = holds.error().message;
      continue;
    }
    if (*holds != 0) continue;
    std::string text = program.Text(need.why, values);
    if (!need.has_figures) {
      for (const std::size_t slot : slots) {
        text += (slot == slots.front() ? " (" : ", ") + program.scope.names()[slot] + " = " +
                program.scope.Text(slot, values[slot]);
      }
      if (!slots.empty()) text += ")";
    }
    violations.push_back({std::move(text), false});
  }
  if (violations.empty() && failure) violations.push_back({*failure, true});
  if (violations.empty() && !plain_launches) {
    const Status launches = CheckLaunches(values);
    if (!launches) {
      violations.push_back({launches.error().message, !LaunchesCompute(values)});
    }
  }
  return violations;
}

std::optional<Repaired> Space::State::Repair(const Configuration& configuration) const {
  if (!Misfits(configuration).empty() || Validate(configuration).empty()) return std::nullopt;
  for (const auto& [knob, candidates] : structure->repairs) {
    const KnobValue current = *configuration.Find(knob);
    for (const KnobValue& value : candidates) {
      if (value == current) continue;
      Repaired repaired{configuration, {{knob, current, value, true}}};
      repaired.configuration.Set(knob, value);
      if (Validate(repaired.configuration).empty()) return repaired;
    }
  }
  return std::nullopt;
}

std::vector<std::optional<Geometry>> Space::State::GeometriesOf(
    const Configuration& configuration) const {
  CHECK(Validate(configuration).empty(), Validate(configuration).front().text);
  SlotValues values = ValuesOf(configuration);
  Derive(values);
  std::vector<std::optional<Geometry>> geometries;
  for (std::size_t launch = 0; launch < program.launches.size(); ++launch) {
    std::optional<Geometry>& geometry = geometries.emplace_back();
    if (!*RunsAt(launch, values)) continue;
    const bool memset = program.launches[launch].geometry.empty();
    geometry = memset ? Geometry{} : *GeometryAt(launch, values);
  }
  return geometries;
}

std::vector<std::int64_t> Space::State::ScratchOf(const Configuration& configuration) const {
  CHECK(Validate(configuration).empty(), Validate(configuration).front().text);
  SlotValues values = ValuesOf(configuration);
  Derive(values);
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < program.scratch.size(); ++i) {
    elements.push_back(*ScratchAt(i, values));
  }
  return elements;
}

Result<std::int64_t> Space::State::Value(const Configuration& configuration,
                                         std::string_view name) const {
  const std::vector<Violation> misfits = Misfits(configuration);
  if (!misfits.empty()) return Error{misfits.front().text};
  const std::optional<std::size_t> slot = program.scope.Find(name);
  if (!slot) {
    const std::string nearest = Nearest(name, program.scope.names());
    return Error{structure->name + " has no value '" + std::string(name) + "'" +
                 (nearest.empty() ? "" : "; nearest is '" + nearest + "'")};
  }
  SlotValues values = ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  const std::optional<std::string> failure = Derive(values, &failed);
  if (failed[*slot]) return Error{*failure};
  return values[*slot];
}

std::vector<std::pair<std::string, std::int64_t>> Space::State::Derived(
    const Configuration& configuration) const {
  CHECK(Misfits(configuration).empty(), configuration.Text());
  SlotValues values = ValuesOf(configuration);
  Derive(values);
  std::vector<std::pair<std::string, std::int64_t>> derived;
  for (const Program::Derived& entry : program.derived) {
    derived.emplace_back(program.scope.names()[entry.slot], values[entry.slot]);
  }
  return derived;
}

std::vector<Configuration> Space::State::AuditList() const {
  KnobLists audited = lists;
  for (const auto& [knob, values] : structure->audit) {
    for (std::size_t i = 0; i < audited.size(); ++i) {
      if (structure->knobs[i].name == knob) audited[i] = values;
    }
  }
  std::vector<Configuration> list;
  std::unordered_set<Digest> seen;
  Walk walk(*this, audited);
  for (bool found = walk.Seek(0); found; found = walk.Next()) {
    Configuration canonical = walk.configuration();
    if (Canonicalise(canonical) && !seen.insert(canonical.Hash()).second) continue;
    list.push_back(walk.configuration());
  }
  return list;
}

}  // namespace pawl
