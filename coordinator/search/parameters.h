#pragma once
// The numbers that a policy or proposer is set up with: which there are, their ranges and defaults.

#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/result.h"

namespace pawl {

struct ParameterRule {
  std::string name;
  double standard = 0;  // what it is when a job does not say
  double low = 0;
  double high = 0;
  bool whole = false;
};

// `given` with the defaults filled in: every rule's name, and no other. `owner` is for messages:
// "policy field_note". Errors: an unknown parameter (with the nearest known), a word where a number
// is wanted, a number out of range.
Result<Parameters> FillParameters(const std::string& owner, const std::vector<ParameterRule>& rules,
                                  const Parameters& given);

// A parameter of FillParameters' result. CHECKs that it is there.
double Number(const Parameters& filled, const std::string& name);

// `unknown policy 'feild_note'; nearest is 'field_note'`, or the known ones when none is near.
Error UnknownName(const std::string& kind, const std::string& name,
                  const std::vector<std::string>& known);

}  // namespace pawl
