#pragma once
// A configuration: one value for every knob, in the knob order of its structure.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/digest.h"
#include "schema/result.h"

namespace pawl {

// true, 64, "guarded", or a tuple such as 64x64.
using Tuple = std::vector<std::int64_t>;
using KnobValue = std::variant<bool, std::int64_t, std::string, Tuple>;

// "true", "64", "guarded", "64x64": one text for one value of a knob, used in tables, logs, keys.
std::string ToText(const KnobValue& value);

struct Setting {
  std::string knob;
  KnobValue value;

  bool operator==(const Setting&) const = default;
};

struct Configuration {
  std::vector<Setting> settings;

  bool operator==(const Configuration&) const = default;
  bool empty() const { return settings.empty(); }
  const KnobValue* Find(std::string_view knob) const;       // nullptr: no such knob
  void Set(std::string_view knob, KnobValue value);         // CHECKs that the knob is there
  std::string Text() const;                                 // "k_step=32 block=64x64"
  Digest Hash() const;                                      // over names, types and values in order
};

// One knob that differs between the incumbent and the candidate.
struct Change {
  std::string knob;
  KnobValue from;
  KnobValue to;
  bool repair = false;  // changed along, so that the configuration is valid

  bool operator==(const Change&) const = default;
};

}  // namespace pawl
