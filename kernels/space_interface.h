#pragma once
// What a Space asks of what is behind it: the space of one structure (space_state.h) or of several
// as one (compound_space.h). Private to kernels/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/space.h"

namespace pawl {

// Each function keeps the contract of its namesake in Space.
struct Space::Interface {
  const Structure* structure = nullptr;
  std::vector<Scalar> shape;

  Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;

  virtual std::uint64_t Cartesian() const = 0;
  virtual Configuration At(std::uint64_t ordinal) const = 0;
  virtual std::optional<std::uint64_t> OrdinalOf(const Configuration& configuration) const = 0;
  virtual std::vector<Span> Spans() const { return {{0, Cartesian()}}; }
  virtual void Enumerate(const std::function<bool(const Configuration&)>& visit) const = 0;
  virtual void EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const = 0;
  virtual std::optional<Entry> NextValid(std::uint64_t ordinal) const = 0;
  virtual Configuration Canonical(const Configuration& configuration) const = 0;
  virtual std::vector<Violation> Validate(const Configuration& configuration) const = 0;
  virtual std::optional<Repaired> Repair(const Configuration& configuration) const = 0;
  virtual std::vector<std::optional<Geometry>> GeometriesOf(
      const Configuration& configuration) const = 0;
  virtual std::vector<std::int64_t> ScratchOf(const Configuration& configuration) const = 0;
  virtual Result<std::int64_t> Value(const Configuration& configuration,
                                     std::string_view name) const = 0;
  virtual std::vector<std::pair<std::string, std::int64_t>> Derived(
      const Configuration& configuration) const = 0;
  virtual std::vector<Configuration> AuditList() const = 0;
  virtual std::optional<Member> MemberAt(const Configuration&) const { return std::nullopt; }
};

}  // namespace pawl
