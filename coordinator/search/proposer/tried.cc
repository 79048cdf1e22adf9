#include "coordinator/search/proposer/tried.h"

#include <algorithm>
#include <string>

#include "kernels/operation.h"

namespace pawl {

std::vector<Configuration> SameKernel(const Space& space, const Configuration& configuration) {
  std::vector<Configuration> same = {configuration};
  const Structure& structure = space.structure();
  if (structure.ignored.empty()) return same;
  const Configuration canonical = space.Canonical(configuration);
  for (const Knob& knob : structure.knobs) {
    const bool ignorable =
        std::any_of(structure.ignored.begin(), structure.ignored.end(),
                    [&](const Ignored& ignored) { return ignored.knob == knob.name; });
    if (!ignorable || configuration.Find(knob.name) == nullptr) continue;
    const std::size_t known = same.size();
    for (std::size_t i = 0; i < known; ++i) {
      for (const KnobValue& value : knob.values) {
        Configuration other = same[i];
        other.Set(knob.name, value);
        if (other == same[i] || space.Canonical(other) != canonical) continue;
        same.push_back(std::move(other));
      }
    }
  }
  return same;
}

bool Tried(const TrackState& track, const Space& space, const Configuration& configuration) {
  for (const Configuration& same : SameKernel(space, configuration)) {
    if (track.tried.count(same.Hash().Prefix64()) > 0) return true;
  }
  return false;
}

bool IsFirstOfKernel(const Space& space, const Configuration& configuration,
                     std::uint64_t ordinal) {
  for (const Configuration& same : SameKernel(space, configuration)) {
    const auto other = space.OrdinalOf(same);
    if (other && *other < ordinal && space.Validate(same).empty()) return false;
  }
  return true;
}

std::vector<Change> ChangesBetween(const Configuration& from, const Configuration& to) {
  std::vector<Change> changes;
  for (const Setting& before : from.settings) {
    const KnobValue* after = to.Find(before.knob);
    if (after == nullptr || *after == before.value) continue;
    changes.push_back({before.knob, before.value, *after, false});
  }
  return changes;
}

std::string ChangesText(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    if (!text.empty()) text += ", ";
    text += change.knob + " " + ToText(change.from) + " -> " + ToText(change.to);
  }
  return text;
}

}  // namespace pawl
