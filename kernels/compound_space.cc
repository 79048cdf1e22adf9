#include "kernels/compound_space.h"

#include <algorithm>

#include "kernels/document.h"  // Nearest
#include "kernels/program.h"   // WhyNotValueOf
#include "schema/check.h"

namespace pawl {

Result<std::unique_ptr<Space::Interface>> Space::Compound::Make(const Structure& structure,
                                                                const std::vector<Scalar>& shape) {
  auto compound = std::make_unique<Compound>();
  compound->structure = &structure;
  std::uint64_t begin = 0;
  for (const Structure& member : structure.members) {
    Result<Space> space = Space::Make(member, shape);
    if (!space) return space.error();
    compound->spans.push_back({begin, begin + space->Cartesian()});
    begin = compound->spans.back().end;
    compound->members.push_back(*std::move(space));
  }
  compound->shape = compound->members.front().shape();
  return std::unique_ptr<Interface>(std::move(compound));
}

std::uint64_t Space::Compound::Cartesian() const { return spans.back().end; }
std::vector<Space::Span> Space::Compound::Spans() const { return spans; }

Configuration Space::Compound::At(std::uint64_t ordinal) const {
  CHECK(ordinal < Cartesian(), ordinal);
  std::size_t i = 0;
  while (ordinal >= spans[i].end) ++i;
  return Qualified(structure->members[i], members[i].At(ordinal - spans[i].begin));
}

std::optional<std::uint64_t> Space::Compound::OrdinalOf(const Configuration& configuration) const {
  const std::optional<Member> member = MemberAt(configuration);
  if (!member) return std::nullopt;
  const std::optional<std::uint64_t> own = member->space->OrdinalOf(member->configuration);
  if (!own) return std::nullopt;
  return spans[*MemberOf(*structure, configuration)].begin + *own;
}

void Space::Compound::EachMember(Walk walk, const Visit& visit) const {
  bool more = true;
  for (std::size_t i = 0; i < members.size() && more; ++i) {
    Configuration qualified = Qualified(structure->members[i], structure->members[i].start);
    (members[i].*walk)([&](const Configuration& own) {
      for (std::size_t k = 0; k < own.settings.size(); ++k) {
        qualified.settings[k + 1].value = own.settings[k].value;
      }
      return more = visit(qualified);
    });
  }
}

void Space::Compound::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  EachMember(&Space::Enumerate, visit);
}

void Space::Compound::EnumerateDistinct(
    const std::function<bool(const Configuration&)>& visit) const {
  EachMember(&Space::EnumerateDistinct, visit);
}

std::optional<Space::Entry> Space::Compound::NextValid(std::uint64_t ordinal) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (ordinal >= spans[i].end) continue;
    const std::uint64_t own = ordinal > spans[i].begin ? ordinal - spans[i].begin : 0;
    const std::optional<Entry> entry = members[i].NextValid(own);
    if (!entry) continue;
    return Entry{spans[i].begin + entry->ordinal,
                 Qualified(structure->members[i], entry->configuration)};
  }
  return std::nullopt;
}

std::vector<Violation> Space::Compound::Misfits(const Configuration& configuration) const {
  std::vector<Violation> misfits;
  const auto misfit = [&](std::string text) { misfits.push_back({std::move(text), false}); };
  const std::string choice = kStructureKnob;
  const KnobValue* chosen = configuration.Find(choice);
  const std::optional<std::size_t> index = MemberOf(*structure, configuration);
  if (chosen == nullptr) {
    misfit("knob " + choice + " has no value");
  } else if (!index) {
    misfit(*WhyNotValueOf(*structure, structure->knobs.front(), *chosen));
  } else if (const std::string& first = configuration.settings.front().knob; first != choice) {
    misfit("knob " + first + " stands where " + choice + " is wanted: it goes first");
  }
  if (!misfits.empty()) return misfits;
  const Structure& member = structure->members[*index];
  std::vector<std::string> active;
  for (const Knob& knob : member.knobs) active.push_back(QualifiedKnob(member, knob.name));
  for (std::size_t i = 1; i < configuration.settings.size(); ++i) {
    const std::string& name = configuration.settings[i].knob;
    if (std::find(active.begin(), active.end(), name) != active.end()) continue;
    const bool inactive = std::any_of(structure->knobs.begin() + 1, structure->knobs.end(),
                                      [&](const Knob& knob) { return knob.name == name; });
    const std::string nearest = Nearest(name, active);
    if (inactive) {
      misfit("knob " + name + " is inactive where " + choice + " is " + member.name);
    } else {
      misfit(structure->name + " has no knob '" + name + "'" +
             (nearest.empty() ? "" : "; nearest is '" + nearest + "'"));
    }
  }
  return misfits;
}

Space::Member Space::Compound::Own(const Configuration& configuration) const {
  return Member{&members[*MemberOf(*structure, configuration)],
                ChoiceOf(*structure, configuration).configuration};
}

std::optional<Space::Member> Space::Compound::MemberAt(const Configuration& configuration) const {
  if (!Misfits(configuration).empty()) return std::nullopt;
  return Own(configuration);
}

std::vector<Violation> Space::Compound::Validate(const Configuration& configuration) const {
  std::vector<Violation> misfits = Misfits(configuration);
  if (!misfits.empty()) return misfits;
  const Member member = Own(configuration);
  return member.space->Validate(member.configuration);
}

Configuration Space::Compound::Canonical(const Configuration& configuration) const {
  const std::optional<Member> member = MemberAt(configuration);
  if (!member) return configuration;
  return Qualified(member->space->structure(), member->space->Canonical(member->configuration));
}

std::optional<Repaired> Space::Compound::Repair(const Configuration& configuration) const {
  const std::optional<Member> member = MemberAt(configuration);
  if (!member) return std::nullopt;
  std::optional<Repaired> repaired = member->space->Repair(member->configuration);
  if (!repaired) return std::nullopt;
  const Structure& own = member->space->structure();
  repaired->configuration = Qualified(own, repaired->configuration);
  for (Change& change : repaired->changes) change.knob = QualifiedKnob(own, change.knob);
  return repaired;
}

std::vector<std::optional<Geometry>> Space::Compound::GeometriesOf(
    const Configuration& configuration) const {
  CHECK(Validate(configuration).empty(), configuration.Text());
  const Member member = Own(configuration);
  return member.space->GeometriesOf(member.configuration);
}

std::vector<std::int64_t> Space::Compound::ScratchOf(const Configuration& configuration) const {
  CHECK(Validate(configuration).empty(), configuration.Text());
  const Member member = Own(configuration);
  return member.space->ScratchOf(member.configuration);
}

Result<std::int64_t> Space::Compound::Value(const Configuration& configuration,
                                            std::string_view name) const {
  const std::vector<Violation> misfits = Misfits(configuration);
  if (!misfits.empty()) return Error{misfits.front().text};
  const Member member = Own(configuration);
  return member.space->Value(member.configuration, name);
}

std::vector<std::pair<std::string, std::int64_t>> Space::Compound::Derived(
    const Configuration& configuration) const {
  const std::optional<Member> member = MemberAt(configuration);
  CHECK(member, configuration.Text());
  return member->space->Derived(member->configuration);
}

std::vector<Configuration> Space::Compound::AuditList() const {
  std::vector<Configuration> list;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Configuration& own : members[i].AuditList()) {
      list.push_back(Qualified(structure->members[i], own));
    }
  }
  return list;
}

}  // namespace pawl
