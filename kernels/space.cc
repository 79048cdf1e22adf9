#include "kernels/space.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kernels/document.h"  // Nearest
#include "kernels/operation.h"
#include "kernels/program.h"

namespace pawl {
namespace {

constexpr std::int64_t kLargestSide = 2147483647;  // of a grid's x, CUDA's own limit
constexpr std::int64_t kCudaGridSide = 65535;      // of its y and z
constexpr std::int64_t kCudaBlockThreads = 1024;
constexpr std::int64_t kCudaBlockDepth = 64;

using Values = std::vector<std::int64_t>;
using Lists = std::vector<std::vector<KnobValue>>;  // a knob's candidates, by knob

}  // namespace

struct Space::State {
  class Walk;

  const Structure* structure = nullptr;
  std::vector<Scalar> shape;
  Program program;
  Lists lists;                               // the knobs' own
  std::vector<std::vector<int>> derived_at;  // by level + 1: indices into program.derived
  std::vector<std::vector<int>> needs_at;    // by level + 1: indices into program.needs
  bool plain_geometry = false;               // nothing but literals in range
  Values letters;                            // slots with the shape in, everything else 0

  // Writes a knob's value into its slots.
  void Put(std::size_t knob, const KnobValue& value, Values& values) const;
  // All knobs of a configuration that fits.
  Values ValuesOf(const Configuration& configuration) const;
  // Computes derived values; the first failure, if any.
  std::optional<std::string> Derive(Values& values, std::vector<bool>* failed = nullptr) const;
  // Whether what is settled once knob `level` has its value holds.
  bool Holds(int level, Values& values) const;
  Result<Geometry> GeometryAt(const Values& values) const;

  // Why the settings are no configuration of the structure at all.
  std::vector<Violation> Misfits(const Configuration& configuration) const;
  // Sets ignored knobs to their first listed value; whether any rule held.
  bool Canonicalise(Configuration& configuration) const;
};

// Goes through the valid configurations of lists in ordinal order. A constraint is tested as soon
// as the knobs it depends on have values, so that a failure skips all that share them.
class Space::State::Walk {
 public:
  Walk(const State& state, const Lists& lists);

  // The first valid one at or after `ordinal`; false: there is none.
  bool Seek(std::uint64_t ordinal);
  // The next valid one after the present.
  bool Next();

  const Configuration& configuration() const { return configuration_; }
  std::uint64_t ordinal() const;

 private:
  // Gives the knobs from `level` on values that hold, moving on from those that do not.
  bool Settle(std::size_t level);
  // Moves on past all that share the values up to `level`; which becomes the first level that
  // changed.
  bool Advance(std::size_t& level);

  const State& state_;
  const Lists& lists_;
  std::vector<std::size_t> digits_;
  Values values_;
  Configuration configuration_;
};

void Space::State::Put(std::size_t knob, const KnobValue& value, Values& values) const {
  const Program::KnobSlots& slots = program.knobs[knob];
  if (const auto* flag = std::get_if<bool>(&value)) {
    values[slots.first] = *flag ? 1 : 0;
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    values[slots.first] = *number;
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    values[slots.first] = program.scope.FindWord(*word).value_or(-1);
  } else {
    const Tuple& tuple = std::get<Tuple>(value);
    std::copy(tuple.begin(), tuple.end(),
              values.begin() + static_cast<std::ptrdiff_t>(slots.first));
  }
}

Values Space::State::ValuesOf(const Configuration& configuration) const {
  Values values = letters;
  for (std::size_t i = 0; i < program.knobs.size(); ++i) {
    Put(i, configuration.settings[i].value, values);
  }
  return values;
}

std::optional<std::string> Space::State::Derive(Values& values, std::vector<bool>* failed) const {
  std::optional<std::string> first;
  for (std::size_t i = 0; i < program.derived.size(); ++i) {
    const Program::Derived& derived = program.derived[i];
    bool computable = true;
    if (failed != nullptr) {
      for (const std::size_t slot : derived.expression.slots()) {
        if ((*failed)[slot]) computable = false;
      }
    }
    const Result<std::int64_t> value =
        computable ? derived.expression.Evaluate(values) : Result<std::int64_t>(Error{});
    if (value) {
      values[derived.slot] = *value;
      continue;
    }
    if (!first) first = value.error().message;
    if (failed == nullptr) return first;
    (*failed)[derived.slot] = true;
  }
  return first;
}

bool Space::State::Holds(int level, Values& values) const {
  for (const int index : derived_at[static_cast<std::size_t>(level + 1)]) {
    const Program::Derived& derived = program.derived[static_cast<std::size_t>(index)];
    const Result<std::int64_t> value = derived.expression.Evaluate(values);
    if (!value) return false;
    values[derived.slot] = *value;
  }
  for (const int index : needs_at[static_cast<std::size_t>(level + 1)]) {
    const Result<std::int64_t> holds =
        program.needs[static_cast<std::size_t>(index)].need.Evaluate(values);
    if (!holds || *holds == 0) return false;
  }
  if (level + 1 == static_cast<int>(program.knobs.size()) && !plain_geometry) {
    return GeometryAt(values).has_value();
  }
  return true;
}

Result<Geometry> Space::State::GeometryAt(const Values& values) const {
  static constexpr const char* kNames[] = {"grid.x",  "grid.y",  "grid.z",
                                           "block.x", "block.y", "block.z"};
  const bool cuda = structure->backend == "cuda";
  const std::int64_t most[] = {kLargestSide,
                               cuda ? kCudaGridSide : kLargestSide,
                               cuda ? kCudaGridSide : kLargestSide,
                               cuda ? kCudaBlockThreads : kLargestSide,
                               cuda ? kCudaBlockThreads : kLargestSide,
                               cuda ? kCudaBlockDepth : kLargestSide};
  Geometry geometry;
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < 6; ++i) {
    const Result<std::int64_t> side = program.geometry[i].Evaluate(values);
    if (!side) return side.error();
    if (*side < 1 || *side > most[i]) {
      return Error{std::string("launch: ") + kNames[i] + " is " + std::to_string(*side) +
                   "; 1 to " + std::to_string(most[i]) + " can be launched"};
    }
    (i < 3 ? geometry.grid[i] : geometry.block[i - 3]) = static_cast<std::uint32_t>(*side);
    if (i >= 3 && cuda) threads *= *side;
  }
  if (threads > kCudaBlockThreads) {
    return Error{"launch: a block of " + std::to_string(threads) + " threads; at most " +
                 std::to_string(kCudaBlockThreads) + " can be launched"};
  }
  const Result<std::int64_t> shared = program.geometry[6].Evaluate(values);
  if (!shared) return shared.error();
  if (*shared < 0 || *shared > kLargestSide) {
    return Error{"launch: dynamic_shared_bytes is " + std::to_string(*shared)};
  }
  geometry.dynamic_shared_bytes = static_cast<std::uint32_t>(*shared);
  return geometry;
}

std::vector<Violation> Space::State::Misfits(const Configuration& configuration) const {
  std::vector<Violation> misfits;
  const std::vector<Knob>& knobs = structure->knobs;
  std::vector<std::string> names;
  for (const Knob& knob : knobs) names.push_back(knob.name);
  for (const Setting& setting : configuration.settings) {
    const auto times =
        std::count_if(configuration.settings.begin(), configuration.settings.end(),
                      [&](const Setting& other) { return other.knob == setting.knob; });
    if (std::find(names.begin(), names.end(), setting.knob) == names.end()) {
      const std::string nearest = Nearest(setting.knob, names);
      misfits.push_back({structure->name + " has no knob '" + setting.knob + "'" +
                         (nearest.empty() ? "" : "; nearest is '" + nearest + "'")});
    } else if (times > 1) {
      misfits.push_back({"knob " + setting.knob + " is given " + std::to_string(times) + " times"});
      return misfits;
    }
  }
  for (const Knob& knob : knobs) {
    const KnobValue* value = configuration.Find(knob.name);
    if (value == nullptr) {
      misfits.push_back({"knob " + knob.name + " has no value"});
    } else if (const std::optional<std::string> why = WhyNotValueOf(*structure, knob, *value)) {
      misfits.push_back({*why});
    }
  }
  if (!misfits.empty()) return misfits;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (configuration.settings[i].knob == knobs[i].name) continue;
    return {{"knob " + configuration.settings[i].knob + " stands where " + knobs[i].name +
             " is wanted: knobs are in the structure's order"}};
  }
  return misfits;
}

bool Space::State::Canonicalise(Configuration& configuration) const {
  if (program.ignored.empty()) return false;
  Values values = ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  bool any = false;
  bool stale = true;
  for (const Program::Ignore& rule : program.ignored) {
    if (stale) {
      std::fill(failed.begin(), failed.end(), false);
      Derive(values, &failed);
    }
    stale = false;
    bool computable = true;
    for (const std::size_t slot : rule.when.slots()) {
      if (failed[slot]) computable = false;
    }
    if (!computable) continue;
    const Result<std::int64_t> holds = rule.when.Evaluate(values);
    if (!holds || *holds == 0) continue;
    any = true;
    const KnobValue& first = structure->knobs[rule.knob].values.front();
    if (configuration.settings[rule.knob].value == first) continue;
    configuration.settings[rule.knob].value = first;
    Put(rule.knob, first, values);
    stale = true;
  }
  return any;
}

Space::Space(std::unique_ptr<State> state) : state_(std::move(state)) {}
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;
Space::~Space() = default;

Result<Space> Space::Make(const Structure& structure, const std::vector<Scalar>& shape) {
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
  state->plain_geometry =
      std::all_of(compiled.geometry.begin(), compiled.geometry.end(),
                  [](const Expression& side) { return side.slots().empty(); }) &&
      state->GeometryAt(state->letters).has_value();
  return Space(std::move(state));
}

const Structure& Space::structure() const { return *state_->structure; }
const std::vector<Scalar>& Space::shape() const { return state_->shape; }

std::uint64_t Space::Cartesian() const {
  std::uint64_t product = 1;
  for (const std::vector<KnobValue>& list : state_->lists) product *= list.size();
  return product;
}

Configuration Space::At(std::uint64_t ordinal) const {
  CHECK(ordinal < Cartesian(), ordinal);
  Configuration configuration;
  configuration.settings.resize(state_->lists.size());
  for (std::size_t i = state_->lists.size(); i-- > 0;) {
    const std::vector<KnobValue>& list = state_->lists[i];
    configuration.settings[i] = {state_->structure->knobs[i].name, list[ordinal % list.size()]};
    ordinal /= list.size();
  }
  return configuration;
}

std::optional<std::uint64_t> Space::OrdinalOf(const Configuration& configuration) const {
  if (configuration.settings.size() != state_->lists.size()) return std::nullopt;
  std::uint64_t ordinal = 0;
  for (std::size_t i = 0; i < state_->lists.size(); ++i) {
    const std::vector<KnobValue>& list = state_->lists[i];
    const Setting& setting = configuration.settings[i];
    const auto value = std::find(list.begin(), list.end(), setting.value);
    if (setting.knob != state_->structure->knobs[i].name || value == list.end())
      return std::nullopt;
    ordinal = ordinal * list.size() + static_cast<std::uint64_t>(value - list.begin());
  }
  return ordinal;
}

Space::State::Walk::Walk(const State& state, const Lists& lists)
    : state_(state), lists_(lists), digits_(lists.size()), values_(state.letters) {
  for (const Knob& knob : state.structure->knobs) {
    configuration_.settings.push_back({knob.name, knob.values.front()});
  }
}

std::uint64_t Space::State::Walk::ordinal() const {
  std::uint64_t ordinal = 0;
  for (std::size_t i = 0; i < digits_.size(); ++i)
    ordinal = ordinal * lists_[i].size() + digits_[i];
  return ordinal;
}

bool Space::State::Walk::Seek(std::uint64_t ordinal) {
  for (std::size_t i = digits_.size(); i-- > 0;) {
    digits_[i] = ordinal % lists_[i].size();
    ordinal /= lists_[i].size();
  }
  const bool past_the_end = ordinal > 0;
  return !past_the_end && state_.Holds(-1, values_) && Settle(0);
}

bool Space::State::Walk::Next() {
  std::size_t level = digits_.size() - 1;
  return Advance(level) && Settle(level);
}

bool Space::State::Walk::Settle(std::size_t level) {
  while (level < digits_.size()) {
    const KnobValue& value = lists_[level][digits_[level]];
    state_.Put(level, value, values_);
    configuration_.settings[level].value = value;
    if (state_.Holds(static_cast<int>(level), values_)) {
      ++level;
    } else if (!Advance(level)) {
      return false;
    }
  }
  return true;
}

bool Space::State::Walk::Advance(std::size_t& level) {
  std::fill(digits_.begin() + static_cast<std::ptrdiff_t>(level) + 1, digits_.end(), 0);
  while (++digits_[level] == lists_[level].size()) {
    digits_[level] = 0;
    if (level == 0) return false;
    --level;
  }
  return true;
}

void Space::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  State::Walk walk(*state_, state_->lists);
  for (bool found = walk.Seek(0); found; found = walk.Next()) {
    if (!visit(walk.configuration())) return;
  }
}

void Space::EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const {
  // What no rule touches is one of a kind; of the others the first of each kind counts.
  std::unordered_set<std::uint64_t> seen;
  Enumerate([&](const Configuration& configuration) {
    Configuration canonical = configuration;
    if (state_->Canonicalise(canonical) && !seen.insert(*OrdinalOf(canonical)).second) return true;
    return visit(configuration);
  });
}

std::uint64_t Space::CountValid() const {
  std::uint64_t count = 0;
  Enumerate([&](const Configuration&) { return ++count, true; });
  return count;
}

std::uint64_t Space::CountDistinct() const {
  std::uint64_t count = 0;
  EnumerateDistinct([&](const Configuration&) { return ++count, true; });
  return count;
}

std::optional<Space::Entry> Space::NextValid(std::uint64_t ordinal) const {
  State::Walk walk(*state_, state_->lists);
  if (!walk.Seek(ordinal)) return std::nullopt;
  return Entry{walk.ordinal(), walk.configuration()};
}

Configuration Space::Canonical(const Configuration& configuration) const {
  Configuration canonical = configuration;
  if (state_->Misfits(configuration).empty()) state_->Canonicalise(canonical);
  return canonical;
}

std::vector<Violation> Space::Validate(const Configuration& configuration) const {
  std::vector<Violation> violations = state_->Misfits(configuration);
  if (!violations.empty()) return violations;
  const Program& program = state_->program;
  Values values = state_->ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  // A value that cannot be computed (a division by zero) is a violation of its own only when no
  // constraint says why.
  std::optional<std::string> failure = state_->Derive(values, &failed);
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
    violations.push_back({std::move(text)});
  }
  if (violations.empty() && failure) violations.push_back({*failure});
  if (violations.empty() && !state_->plain_geometry) {
    const Result<Geometry> geometry = state_->GeometryAt(values);
    if (!geometry) violations.push_back({geometry.error().message});
  }
  return violations;
}

std::optional<Repaired> Space::Repair(const Configuration& configuration) const {
  if (!state_->Misfits(configuration).empty() || Validate(configuration).empty())
    return std::nullopt;
  for (const auto& [knob, candidates] : state_->structure->repairs) {
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

Geometry Space::GeometryOf(const Configuration& configuration) const {
  CHECK(Validate(configuration).empty(), Validate(configuration).front().text);
  Values values = state_->ValuesOf(configuration);
  state_->Derive(values);
  Result<Geometry> geometry = state_->GeometryAt(values);
  return *geometry;
}

Result<std::int64_t> Space::Value(const Configuration& configuration, std::string_view name) const {
  const std::vector<Violation> misfits = state_->Misfits(configuration);
  if (!misfits.empty()) return Error{misfits.front().text};
  const std::optional<std::size_t> slot = state_->program.scope.Find(name);
  if (!slot) {
    const std::string nearest = Nearest(name, state_->program.scope.names());
    return Error{state_->structure->name + " has no value '" + std::string(name) + "'" +
                 (nearest.empty() ? "" : "; nearest is '" + nearest + "'")};
  }
  Values values = state_->ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  const std::optional<std::string> failure = state_->Derive(values, &failed);
  if (failed[*slot]) return Error{*failure};
  return values[*slot];
}

std::vector<std::pair<std::string, std::int64_t>> Space::Derived(
    const Configuration& configuration) const {
  CHECK(state_->Misfits(configuration).empty(), configuration.Text());
  Values values = state_->ValuesOf(configuration);
  state_->Derive(values);
  std::vector<std::pair<std::string, std::int64_t>> derived;
  for (const Program::Derived& entry : state_->program.derived) {
    derived.emplace_back(state_->program.scope.names()[entry.slot], values[entry.slot]);
  }
  return derived;
}

std::vector<Configuration> Space::AuditList() const {
  Lists lists = state_->lists;
  for (const auto& [knob, values] : state_->structure->audit) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (state_->structure->knobs[i].name == knob) lists[i] = values;
    }
  }
  std::vector<Configuration> list;
  std::unordered_set<Digest> seen;
  State::Walk walk(*state_, lists);
  for (bool found = walk.Seek(0); found; found = walk.Next()) {
    Configuration canonical = walk.configuration();
    if (state_->Canonicalise(canonical) && !seen.insert(canonical.Hash()).second) continue;
    list.push_back(walk.configuration());
  }
  return list;
}

}  // namespace pawl
