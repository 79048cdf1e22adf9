#include "kernels/compound.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/document.h"  // Nearest
#include "schema/check.h"

namespace pawl {
namespace {

// What a ledger takes (schema/codec_private.h): of a track's knobs, and of a name's bytes.
constexpr std::size_t kMostKnobs = 128;
constexpr std::size_t kLongestName = 128;
constexpr std::uint64_t kMostConfigurations = std::uint64_t{1} << 62;

std::uint64_t Cartesian(const Structure& structure) {
  std::uint64_t product = 1;  // at most 2^62, or its file had been refused
  for (const Knob& knob : structure.knobs) product *= knob.values.size();
  return product;
}

Status CheckName(const std::string& name, const std::string& what) {
  if (name.size() <= kLongestName) return {};
  return Error{what + " '" + name + "' has " + std::to_string(name.size()) + " bytes, " +
               std::to_string(kLongestName) + " allowed"};
}

Status CheckMembers(const std::vector<Structure>& members) {
  if (members.size() < 2) return Error{"one structure makes no choice; two or more are wanted"};
  std::set<std::string> seen;
  std::size_t knobs = 1;
  std::uint64_t configurations = 0;
  for (const Structure& member : members) {
    if (!seen.insert(member.name).second) {
      return Error{"structure '" + member.name + "' is named twice"};
    }
    if (member.source.empty() != members.front().source.empty()) {
      const bool first = members.front().source.empty();
      return Error{"structure '" + (first ? members.front() : member).name +
                   "' has no source and '" + (first ? member : members.front()).name +
                   "' has: all or none is wanted"};
    }
    knobs += member.knobs.size();
    configurations += Cartesian(member);
    if (configurations > kMostConfigurations) {
      return Error{"the structures together have more than 2^62 configurations"};
    }
  }
  if (knobs > kMostKnobs) {
    return Error{"the structures together have " + std::to_string(knobs) + " knobs, " +
                 std::to_string(kMostKnobs) + " allowed"};
  }
  return {};
}

Result<const Structure*> MemberNamed(const Backend& backend, const std::string& name) {
  std::vector<std::string> names;
  for (const Structure& structure : backend.structures) {
    if (structure.name == name) return &structure;
    names.push_back(structure.name);
  }
  std::string message = "no structure '" + name + "'";
  const std::string nearest = Nearest(name, names);
  if (!nearest.empty()) message += "; nearest is '" + nearest + "'";
  message += " (have: ";
  for (const std::string& known : names) message += (&known == &names[0] ? "" : ", ") + known;
  return Error{message + ")"};
}

}  // namespace

std::string QualifiedKnob(const Structure& member, const std::string& knob) {
  return member.name + "." + knob;
}

Configuration Qualified(const Structure& member, const Configuration& own) {
  Configuration qualified;
  qualified.settings.reserve(own.settings.size() + 1);
  qualified.settings.push_back({kStructureKnob, member.name});
  for (const Setting& setting : own.settings) {
    qualified.settings.push_back({QualifiedKnob(member, setting.knob), setting.value});
  }
  return qualified;
}

Result<Structure> MakeCompound(std::vector<Structure> members) {
  if (const Status fit = CheckMembers(members); !fit) return fit.error();
  Structure compound;
  compound.backend = members.front().backend;
  compound.letters = members.front().letters;
  compound.source = members.front().source;
  compound.start = Qualified(members.front(), members.front().start);
  Knob structure;
  structure.name = kStructureKnob;
  for (const Structure& member : members) {
    if (!compound.name.empty()) compound.name += kStructureJoint;
    compound.name += member.name;
    structure.values.emplace_back(member.name);
  }
  compound.file = compound.backend + "/" + compound.name;
  if (const Status fits = CheckName(compound.name, "structure"); !fits) return fits.error();
  compound.knobs.push_back(std::move(structure));
  for (const Structure& member : members) {
    for (Knob knob : member.knobs) {
      knob.name = QualifiedKnob(member, knob.name);
      if (const Status fits = CheckName(knob.name, "knob"); !fits) return fits.error();
      compound.knobs.push_back(std::move(knob));
    }
    for (Ignored ignored : member.ignored) {
      ignored.knob = QualifiedKnob(member, ignored.knob);
      compound.ignored.push_back(std::move(ignored));
    }
  }
  compound.members = std::move(members);
  return compound;
}

Result<Structure> StructureNamed(const Backend& backend, const std::string& name) {
  std::vector<Structure> members;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(kStructureJoint, begin), name.size());
    const Result<const Structure*> member = MemberNamed(backend, name.substr(begin, end - begin));
    if (!member) return member.error();
    members.push_back(**member);
    begin = end + 1;
  }
  if (members.size() == 1) return std::move(members.front());
  return MakeCompound(std::move(members));
}

std::optional<std::size_t> MemberOf(const Structure& compound, const Configuration& configuration) {
  const KnobValue* value = configuration.Find(kStructureKnob);
  const std::string* name = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (name == nullptr) return std::nullopt;
  const auto member =
      std::find_if(compound.members.begin(), compound.members.end(),
                   [&](const Structure& structure) { return structure.name == *name; });
  if (member == compound.members.end()) return std::nullopt;
  return member - compound.members.begin();
}

Choice ChoiceOf(const Structure& structure, const Configuration& configuration) {
  CHECK(structure.members.empty() || MemberOf(structure, configuration), structure.name,
        "has no such structure", configuration.Text());
  return ChoiceIn(structure.name, configuration);
}

Choice ChoiceIn(const std::string& structure, const Configuration& configuration) {
  if (structure.find(kStructureJoint) == std::string::npos) return {structure, configuration};
  const KnobValue* value = configuration.Find(kStructureKnob);
  const std::string* name = value == nullptr ? nullptr : std::get_if<std::string>(value);
  CHECK(name != nullptr, structure, configuration.Text());
  Choice choice{*name, {}};
  for (const Setting& setting : configuration.settings) {
    if (setting.knob == kStructureKnob) continue;
    CHECK(setting.knob.starts_with(*name + "."), setting.knob);
    choice.configuration.settings.push_back({setting.knob.substr(name->size() + 1), setting.value});
  }
  return choice;
}

Configuration WithValue(const Structure& structure, const Configuration& configuration,
                        const std::string& knob, const KnobValue& value) {
  if (const KnobValue* now = configuration.Find(knob); now != nullptr && *now == value) {
    return configuration;
  }
  Configuration changed = configuration;
  changed.Set(knob, value);
  if (structure.members.empty() || knob != kStructureKnob) return changed;
  const std::optional<std::size_t> member = MemberOf(structure, changed);
  CHECK(member, structure.name, "has no such structure", ToText(value));
  return Qualified(structure.members[*member], structure.members[*member].start);
}

}  // namespace pawl
