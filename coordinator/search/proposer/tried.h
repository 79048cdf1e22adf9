#pragma once
// Whether a track has been at a kernel before, and the kernels of a space one by one.
//
// A configuration's hash names one spelling of a kernel; where a structure ignores a knob, several
// configurations are the same kernel (Space::Canonical is equal). A kernel has been tried when any
// of its spellings has.

#include <cstdint>
#include <vector>

#include "kernels/space.h"
#include "schema/configuration.h"
#include "schema/snapshot.h"

namespace pawl {

// The configurations of listed values that are the same kernel as this one, itself included.
std::vector<Configuration> SameKernel(const Space& space, const Configuration& configuration);

bool Tried(const TrackState& track, const Space& space, const Configuration& configuration);

// The same, and it is the one to propose: no valid spelling of it has a lower ordinal.
bool IsFirstOfKernel(const Space& space, const Configuration& configuration, std::uint64_t ordinal);

// What changes from one configuration to another, in knob order, no repairs. Knobs that only one of
// them has are not among it: they come and go with `structure`, whose change says so.
std::vector<Change> ChangesBetween(const Configuration& from, const Configuration& to);

// "k_step 64 -> 32, staging shared -> exact"
std::string ChangesText(const std::vector<Change>& changes);

}  // namespace pawl
