#include "kernels/space.h"

#include <utility>

#include "kernels/compound_space.h"
#include "kernels/operation.h"
#include "kernels/space_interface.h"
#include "kernels/space_state.h"

namespace pawl {

Space::Space(std::unique_ptr<Interface> space) : space_(std::move(space)) {}
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;
Space::~Space() = default;

Result<Space> Space::Make(const Structure& structure, const std::vector<Scalar>& shape) {
  const auto make = structure.members.empty() ? &State::Make : &Compound::Make;
  Result<std::unique_ptr<Interface>> space = make(structure, shape);
  if (!space) return space.error();
  return Space(*std::move(space));
}

const Structure& Space::structure() const { return *space_->structure; }
const std::vector<Scalar>& Space::shape() const { return space_->shape; }

std::uint64_t Space::Cartesian() const { return space_->Cartesian(); }
Configuration Space::At(std::uint64_t ordinal) const { return space_->At(ordinal); }
std::optional<std::uint64_t> Space::OrdinalOf(const Configuration& configuration) const {
  return space_->OrdinalOf(configuration);
}

std::vector<Space::Span> Space::Spans() const { return space_->Spans(); }

void Space::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  space_->Enumerate(visit);
}
void Space::EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const {
  space_->EnumerateDistinct(visit);
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
  return space_->NextValid(ordinal);
}
Configuration Space::Canonical(const Configuration& configuration) const {
  return space_->Canonical(configuration);
}
std::vector<Violation> Space::Validate(const Configuration& configuration) const {
  return space_->Validate(configuration);
}
std::optional<Repaired> Space::Repair(const Configuration& configuration) const {
  return space_->Repair(configuration);
}
std::vector<std::optional<Geometry>> Space::GeometriesOf(const Configuration& configuration) const {
  return space_->GeometriesOf(configuration);
}
std::vector<std::int64_t> Space::ScratchOf(const Configuration& configuration) const {
  return space_->ScratchOf(configuration);
}
Result<std::int64_t> Space::Value(const Configuration& configuration, std::string_view name) const {
  return space_->Value(configuration, name);
}
std::vector<std::pair<std::string, std::int64_t>> Space::Derived(
    const Configuration& configuration) const {
  return space_->Derived(configuration);
}
std::optional<Space::Member> Space::MemberAt(const Configuration& configuration) const {
  return space_->MemberAt(configuration);
}
std::vector<Configuration> Space::AuditList() const { return space_->AuditList(); }

}  // namespace pawl
