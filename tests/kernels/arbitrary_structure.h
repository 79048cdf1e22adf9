#pragma once
// Small structures of any kind, for properties that hold whatever the space.

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compound.h"
#include "kernels/operation.h"

namespace pawl {

// A space of up to four knobs of up to four values, with a constraint that may be broken, a repair
// and a knob that may be ignored. Its start is any of its configurations, valid or not.
inline Structure ArbitraryStructure(const std::string& name = "arbitrary") {
  Structure structure;
  structure.name = name;
  structure.backend = "host";
  structure.file = "host/" + name + ".toml";
  const int knobs = *rc::gen::inRange(2, 5);
  std::string sum;
  for (int i = 0; i < knobs; ++i) {
    Knob knob;
    knob.name = std::string("k") + std::to_string(i);
    const std::int64_t values = *rc::gen::inRange<std::int64_t>(1, 5);
    for (std::int64_t value = 0; value < values; ++value) knob.values.push_back(value);
    sum += (sum.empty() ? "" : " + ") + knob.name;
    structure.start.settings.push_back({knob.name, *rc::gen::elementOf(knob.values)});
    structure.knobs.push_back(std::move(knob));
  }
  const std::string most = std::to_string(*rc::gen::inRange(0, 10));
  structure.constraints.push_back({sum + " <= " + most, "sum {" + sum + "} above " + most, {}});
  if (*rc::gen::arbitrary<bool>()) {
    structure.ignored.push_back({"k0", "k1 == 0", {}});
  }
  if (*rc::gen::arbitrary<bool>()) {
    structure.repairs.push_back({"k" + std::to_string(knobs - 1), {std::int64_t{0}}});
  }
  return structure;
}

// Two or three of them as one.
inline Structure ArbitraryCompound() {
  std::vector<Structure> members;
  const int count = *rc::gen::inRange(2, 4);
  for (int i = 0; i < count; ++i) {
    members.push_back(ArbitraryStructure(std::string("s") + std::to_string(i)));
  }
  return std::move(MakeCompound(std::move(members))).value();
}

}  // namespace pawl
