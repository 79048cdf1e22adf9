#include "kernels/space_state.h"

#include <algorithm>
#include <utility>

#include "kernels/document.h"  // Nearest

namespace pawl {
namespace {

constexpr std::int64_t kLargestSide = 2147483647;  // of a grid's x, CUDA's own limit
constexpr std::int64_t kCudaGridSide = 65535;      // of its y and z
constexpr std::int64_t kCudaBlockThreads = 1024;
constexpr std::int64_t kCudaBlockDepth = 64;
constexpr std::int64_t kCudaClusterBlocks = 16;  // with the larger size that kernels can opt in to

}  // namespace

void Space::State::Put(std::size_t knob, const KnobValue& value, SlotValues& values) const {
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

SlotValues Space::State::ValuesOf(const Configuration& configuration) const {
  SlotValues values = letters;
  for (std::size_t i = 0; i < program.knobs.size(); ++i) {
    Put(i, configuration.settings[i].value, values);
  }
  return values;
}

std::optional<std::string> Space::State::Derive(SlotValues& values,
                                                std::vector<bool>* failed) const {
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

bool Space::State::Holds(int level, SlotValues& values) const {
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
  if (level + 1 == static_cast<int>(program.knobs.size()) && !plain_launches) {
    return CheckLaunches(values).has_value();
  }
  return true;
}

Result<bool> Space::State::RunsAt(std::size_t launch, const SlotValues& values) const {
  const std::optional<Expression>& when = program.launches[launch].when;
  if (!when) return true;
  const Result<std::int64_t> holds = when->Evaluate(values);
  if (!holds) return holds.error();
  return *holds != 0;
}

Result<Geometry> Space::State::GeometryAt(std::size_t launch, const SlotValues& values) const {
  static constexpr const char* kNames[] = {"grid.x",    "grid.y",    "grid.z",
                                           "block.x",   "block.y",   "block.z",
                                           "cluster.x", "cluster.y", "cluster.z"};
  const bool cuda = structure->backend == "cuda";
  const std::int64_t most[] = {kLargestSide,
                               cuda ? kCudaGridSide : kLargestSide,
                               cuda ? kCudaGridSide : kLargestSide,
                               cuda ? kCudaBlockThreads : kLargestSide,
                               cuda ? kCudaBlockThreads : kLargestSide,
                               cuda ? kCudaBlockDepth : kLargestSide,
                               kCudaClusterBlocks,
                               kCudaClusterBlocks,
                               kCudaClusterBlocks};
  const std::vector<Expression>& sides = program.launches[launch].geometry;
  Geometry geometry;
  std::int64_t threads = 1;
  std::int64_t blocks = 1;  // of a cluster
  for (std::size_t i = 0; i < 9; ++i) {
    const Result<std::int64_t> side = sides[i].Evaluate(values);
    if (!side) return side.error();
    if (*side < 1 || *side > most[i]) {
      return Error{std::string("launch: ") + kNames[i] + " is " + std::to_string(*side) +
                   "; 1 to " + std::to_string(most[i]) + " can be launched"};
    }
    const auto extent = static_cast<std::uint32_t>(*side);
    (i < 3 ? geometry.grid : i < 6 ? geometry.block : geometry.cluster)[i % 3] = extent;
    if (i >= 3 && i < 6 && cuda) threads *= *side;
    if (i >= 6) blocks *= *side;
    if (i >= 6 && geometry.grid[i - 6] % extent != 0) {
      return Error{std::string("launch: ") + kNames[i - 6] + " is " +
                   std::to_string(geometry.grid[i - 6]) + ", no multiple of the cluster's " +
                   std::to_string(extent)};
    }
  }
  if (threads > kCudaBlockThreads) {
    return Error{"launch: a block of " + std::to_string(threads) + " threads; at most " +
                 std::to_string(kCudaBlockThreads) + " can be launched"};
  }
  if (blocks > kCudaClusterBlocks) {
    return Error{"launch: a cluster of " + std::to_string(blocks) + " blocks; at most " +
                 std::to_string(kCudaClusterBlocks) + " can be launched"};
  }
  const Result<std::int64_t> shared = sides[9].Evaluate(values);
  if (!shared) return shared.error();
  if (*shared < 0 || *shared > kLargestSide) {
    return Error{"launch: dynamic_shared_bytes is " + std::to_string(*shared)};
  }
  geometry.dynamic_shared_bytes = static_cast<std::uint32_t>(*shared);
  return geometry;
}

Result<std::int64_t> Space::State::ScratchAt(std::size_t index, const SlotValues& values) const {
  const Result<std::int64_t> elements = program.scratch[index].Evaluate(values);
  if (!elements) return elements.error();
  if (*elements >= 1 && *elements <= kMostElements) return *elements;
  return Error{"scratch: " + structure->plan.scratch[index].name + " has " +
               std::to_string(*elements) + " elements; 1 to " +
               std::to_string(kMostElements) + " are wanted"};
}

Status Space::State::CheckLaunches(const SlotValues& values) const {
  bool any = false;
  for (std::size_t launch = 0; launch < program.launches.size(); ++launch) {
    const Result<bool> runs = RunsAt(launch, values);
    if (!runs) return runs.error();
    if (!*runs || program.launches[launch].geometry.empty()) continue;
    if (const auto geometry = GeometryAt(launch, values); !geometry) return geometry.error();
    any = true;
  }
  if (!any) return Error{"launch: none of a kernel is left, by their 'when'"};
  for (std::size_t i = 0; i < program.scratch.size(); ++i) {
    if (const auto elements = ScratchAt(i, values); !elements) return elements.error();
  }
  return {};
}

bool Space::State::LaunchesCompute(const SlotValues& values) const {
  const auto computes = [&](const Expression& its) { return its.Evaluate(values).has_value(); };
  for (std::size_t launch = 0; launch < program.launches.size(); ++launch) {
    const Result<bool> runs = RunsAt(launch, values);
    if (!runs) return false;
    const std::vector<Expression>& sides = program.launches[launch].geometry;
    if (*runs && !std::all_of(sides.begin(), sides.end(), computes)) return false;
  }
  return std::all_of(program.scratch.begin(), program.scratch.end(), computes);
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
  SlotValues values = ValuesOf(configuration);
  std::vector<bool> failed(values.size());
  Derive(values, &failed);
  bool any = false;
  for (const Program::Ignore& rule : program.ignored) {
    bool computable = true;
    for (const std::size_t slot : rule.when.slots()) {
      if (failed[slot]) computable = false;
    }
    if (!computable) continue;
    const Result<std::int64_t> holds = rule.when.Evaluate(values);
    if (!holds || *holds == 0) continue;
    any = true;
    const KnobValue& first = structure->knobs[rule.knob].values.front();
    KnobValue& value = configuration.settings[rule.knob].value;
    if (value == first) continue;
    const KnobValue before = std::exchange(value, first);
    Put(rule.knob, first, values);
    std::vector<bool> fails(values.size());
    Derive(values, &fails);
    const bool loses = !std::equal(fails.begin(), fails.end(), failed.begin(),
                                   [](bool now, bool then) { return !now || then; });
    if (loses) {  // what is rendered wants every derived value that this configuration has
      value = before;
      Put(rule.knob, before, values);
      std::fill(fails.begin(), fails.end(), false);
      Derive(values, &fails);
    }
    failed = std::move(fails);
  }
  return any;
}

Space::State::Walk::Walk(const State& state, const KnobLists& lists)
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

}  // namespace pawl
