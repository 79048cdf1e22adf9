#pragma once
// The space of a compound: its members' spaces, one after another. Private to kernels/.
//
// Whatever is asked of a configuration is answered by the member that it names; ordinals, and all
// that goes through them, take the members in turn, so that a compound has as many configurations
// as they have together.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compound.h"
#include "kernels/space_interface.h"

namespace pawl {

struct Space::Compound final : Space::Interface {
  static Result<std::unique_ptr<Interface>> Make(const Structure& structure,
                                                 const std::vector<Scalar>& shape);

  std::uint64_t Cartesian() const override;
  Configuration At(std::uint64_t ordinal) const override;
  std::optional<std::uint64_t> OrdinalOf(const Configuration& configuration) const override;
  std::vector<Span> Spans() const override;
  void Enumerate(const std::function<bool(const Configuration&)>& visit) const override;
  void EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const override;
  std::optional<Entry> NextValid(std::uint64_t ordinal) const override;
  Configuration Canonical(const Configuration& configuration) const override;
  std::vector<Violation> Validate(const Configuration& configuration) const override;
  std::optional<Repaired> Repair(const Configuration& configuration) const override;
  std::vector<std::optional<Geometry>> GeometriesOf(
      const Configuration& configuration) const override;
  std::vector<std::int64_t> ScratchOf(const Configuration& configuration) const override;
  Result<std::int64_t> Value(const Configuration& configuration,
                             std::string_view name) const override;
  std::vector<std::pair<std::string, std::int64_t>> Derived(
      const Configuration& configuration) const override;
  std::vector<Configuration> AuditList() const override;
  std::optional<Member> MemberAt(const Configuration& configuration) const override;

  // Why the settings are not `structure` and knobs of the member that it names; whether all of
  // those are there, the member says.
  std::vector<Violation> Misfits(const Configuration& configuration) const;
  // The member of a configuration that fits.
  Member Own(const Configuration& configuration) const;
  // Walks the members' configurations as the compound's until `visit` has had enough.
  using Visit = std::function<bool(const Configuration&)>;
  using Walk = void (Space::*)(const Visit&) const;
  void EachMember(Walk walk, const Visit& visit) const;

  std::vector<Space> members;
  std::vector<Span> spans;  // of the members' ordinals
};

}  // namespace pawl
