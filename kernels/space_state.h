#pragma once
// The space of one structure: its program bound to a shape, and the walk over its valid
// configurations. Private to kernels/.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/operation.h"
#include "kernels/program.h"
#include "kernels/space_interface.h"

namespace pawl {

using SlotValues = std::vector<std::int64_t>;
using KnobLists = std::vector<std::vector<KnobValue>>;  // a knob's candidates, by knob

struct Space::State final : Space::Interface {
  class Walk;

  static Result<std::unique_ptr<Interface>> Make(const Structure& structure,
                                                 const std::vector<Scalar>& shape);

  std::uint64_t Cartesian() const override;
  Configuration At(std::uint64_t ordinal) const override;
  std::optional<std::uint64_t> OrdinalOf(const Configuration& configuration) const override;
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

  Program program;
  KnobLists lists;                           // the knobs' own
  std::vector<std::vector<int>> derived_at;  // by level + 1: indices into program.derived
  std::vector<std::vector<int>> needs_at;    // by level + 1: indices into program.needs
  bool plain_launches = false;               // nothing but literals in range
  SlotValues letters;                        // slots with the shape in, everything else 0

  // Writes a knob's value into its slots.
  void Put(std::size_t knob, const KnobValue& value, SlotValues& values) const;
  // All knobs of a configuration that fits.
  SlotValues ValuesOf(const Configuration& configuration) const;
  // Computes derived values; the first failure, if any.
  std::optional<std::string> Derive(SlotValues& values, std::vector<bool>* failed = nullptr) const;
  // Whether what is settled once knob `level` has its value holds.
  bool Holds(int level, SlotValues& values) const;
  // Of the plan's n-th launch: whether it is there, and its geometry, if it is a kernel's. Of the
  // n-th scratch buffer: its elements.
  Result<bool> RunsAt(std::size_t launch, const SlotValues& values) const;
  Result<Geometry> GeometryAt(std::size_t launch, const SlotValues& values) const;
  Result<std::int64_t> ScratchAt(std::size_t index, const SlotValues& values) const;
  Status CheckLaunches(const SlotValues& values) const;
  // Whether their expressions have values, in range or not.
  bool LaunchesCompute(const SlotValues& values) const;

  // Why the settings are no configuration of the structure at all.
  std::vector<Violation> Misfits(const Configuration& configuration) const;
  // Sets ignored knobs to their first listed value; whether any rule held.
  bool Canonicalise(Configuration& configuration) const;
};

// Goes through the valid configurations of lists in ordinal order. A constraint is tested as soon
// as the knobs it depends on have values, so that a failure skips all that share them.
class Space::State::Walk {
 public:
  Walk(const State& state, const KnobLists& lists);

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
  const KnobLists& lists_;
  std::vector<std::size_t> digits_;
  SlotValues values_;
  Configuration configuration_;
};

}  // namespace pawl
