#pragma once
// The space of a structure at one shape: every configuration its constraints admit. A compound's
// (kernels/compound.h) is its members' spaces, one after another.
//
// Pure and fast: validating one configuration takes microseconds; the largest shipped space is enumerated
// in under a second. Made from a Structure (kernels/operation.h) and bound to a shape. A space is for one
// thread at a time: its expressions keep scratch values.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/configuration.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

struct Structure;

// A violated constraint: its reason with the figures filled in ("shared memory: 67584 B needed, 46080 B
// allowed").
struct Violation {
  std::string text;
  bool broken = false;  // an expression fails (a division by zero): the package's mistake, and no refusal

  bool operator==(const Violation&) const = default;
};

struct Repaired {
  Configuration configuration;
  std::vector<Change> changes;  // repair = true, from the asked to the valid value
};

struct Geometry {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::array<std::uint32_t, 3> cluster{1, 1, 1};

  bool operator==(const Geometry&) const = default;
};

class Space {
 public:
  // `structure` must outlive the space. Errors: shape letters missing, an expression that fails for a
  // reason other than a configuration's own (unknown names were refused when the structure was read).
  static Result<Space> Make(const Structure& structure, const std::vector<Scalar>& shape);

  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;
  ~Space();

  const Structure& structure() const;
  const std::vector<Scalar>& shape() const;

  // The cartesian product of the knobs' listed values, the last knob changing fastest; of a compound, its
  // members' products one after another.
  std::uint64_t Cartesian() const;
  Configuration At(std::uint64_t ordinal) const;                          // any ordinal < Cartesian()
  std::optional<std::uint64_t> OrdinalOf(const Configuration&) const;     // nullopt: a value not listed

  // The ordinals of each structure: of a compound its members', in turn; else all of them.
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::vector<Span> Spans() const;

  // The valid ones, in ordinal order; `visit` returns false to stop. Configurations that differ only in a
  // knob that the structure declares ignored there are the same one: EnumerateDistinct gives the first.
  void Enumerate(const std::function<bool(const Configuration&)>& visit) const;
  void EnumerateDistinct(const std::function<bool(const Configuration&)>& visit) const;
  std::uint64_t CountValid() const;
  std::uint64_t CountDistinct() const;

  // The first valid configuration at or after `ordinal`, with its ordinal.
  struct Entry {
    std::uint64_t ordinal = 0;
    Configuration configuration;
  };
  std::optional<Entry> NextValid(std::uint64_t ordinal) const;

  // Ignored knobs set to their first listed value: equal for configurations that are the same kernel.
  Configuration Canonical(const Configuration& configuration) const;

  // Every violated constraint, in file order; empty: valid. Values outside the knobs' lists are allowed
  // (an audit list names some); a knob missing, unknown, out of order or of the wrong kind is a violation.
  std::vector<Violation> Validate(const Configuration& configuration) const;

  // The structure's repairs in order (each repair knob's values, skipping the current one); the first that
  // makes it valid. nullopt: none does, or it is valid as it is.
  std::optional<Repaired> Repair(const Configuration& configuration) const;

  // Geometry of each of the plan's launches (a memset's says nothing; nullopt: left out by its `when`), and
  // the elements of scratch; these CHECK that the configuration is valid.
  std::vector<std::optional<Geometry>> GeometriesOf(const Configuration& configuration) const;
  std::vector<std::int64_t> ScratchOf(const Configuration& configuration) const;

  // The value of a derived name or shape letter at a valid configuration, for tests and `show`.
  Result<std::int64_t> Value(const Configuration& configuration, std::string_view name) const;
  // All derived values, in file order.
  std::vector<std::pair<std::string, std::int64_t>> Derived(const Configuration& configuration) const;

  // Of a compound: the space of the structure that the configuration names, and its configuration there.
  // nullopt: the space is no compound's, or the configuration does not fit it.
  struct Member {
    const Space* space = nullptr;
    Configuration configuration;
  };
  std::optional<Member> MemberAt(const Configuration& configuration) const;

  // The audit list: the structure's `[audit]` values (or its own lists), valid and distinct ones.
  std::vector<Configuration> AuditList() const;

 private:
  struct Interface;
  struct State;
  struct Compound;
  explicit Space(std::unique_ptr<Interface> space);
  std::unique_ptr<Interface> space_;
};

// A configuration from a document's table ("start"): every knob once, no other. `file` places are in the
// error; unknown knobs name the nearest known one.
class Table;
Result<Configuration> ReadConfiguration(Table& table, const Structure& structure);
// `base` with other values for some knobs. Errors: an unknown knob with the nearest known one, a value that
// the knob cannot have; without a place, which the caller knows.
Result<Configuration> WithSettings(const Configuration& base, const std::vector<Setting>& settings,
                                   const Structure& structure);
// "block=128x64 staging=exact" over a base configuration, for the command line.
Result<Configuration> ParseConfiguration(std::string_view text, const Structure& structure,
                                         const Configuration& base);

}  // namespace pawl
