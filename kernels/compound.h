#pragma once
// Several structures of a backend as one to search in: which of them it is, is a knob like the others.
//
// A compound has the knob `structure`, whose values are the names of its members, and the members' knobs
// under qualified names ("tiled.k_step"). A member's knobs are active where `structure` names it. A
// configuration gives values to `structure` and to the active knobs and to no others, so that two of them
// never differ in what plays no part; moving to another structure is moving to its start configuration.
// The compound's name joins its members' by '+' ("structured+tiled") in the order in which `structure` tries
// them; it starts as the first.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/operation.h"
#include "schema/configuration.h"
#include "schema/result.h"

namespace pawl {

inline constexpr const char* kStructureKnob = "structure";
inline constexpr char kStructureJoint = '+';

// Errors: fewer than two members, or one of them twice; some with and some without a source; more knobs,
// or longer names, than a ledger takes; more than 2^62 configurations.
Result<Structure> MakeCompound(std::vector<Structure> members);

// The backend's structure of that name, or the compound of those that '+' joins in it. Errors: one that is not
// there, with the nearest and all that are; MakeCompound's.
Result<Structure> StructureNamed(const Backend& backend, const std::string& name);

// A member's own configuration as one of the compound, and back.
Configuration Qualified(const Structure& member, const Configuration& own);
std::string QualifiedKnob(const Structure& member, const std::string& knob);

// The index of the member that `structure` names. nullopt: no value of it, or another word.
std::optional<std::size_t> MemberOf(const Structure& compound, const Configuration& configuration);

// A structure by its name, and a configuration of it.
struct Choice {
  std::string structure;
  Configuration configuration;
};
// What a configuration of `structure` comes to: of a compound, the member it names and that one's own
// configuration; of any other structure, itself. CHECKs that it fits.
Choice ChoiceOf(const Structure& structure, const Configuration& configuration);

// The same by names alone, whatever has become of the package: `structure` is a track's, as its ledger has it.
Choice ChoiceIn(const std::string& structure, const Configuration& configuration);

// `configuration` with a value of one of its knobs; of a compound's `structure`, where it is another one, that
// member's start.
// CHECKs that the knob is active, and that `structure` has the value.
Configuration WithValue(const Structure& structure, const Configuration& configuration,
                        const std::string& knob, const KnobValue& value);

}  // namespace pawl
