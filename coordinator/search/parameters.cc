#include "coordinator/search/parameters.h"

#include <algorithm>
#include <cmath>

#include "coordinator/search/figures.h"
#include "kernels/document.h"
#include "schema/check.h"

namespace pawl {

Error UnknownName(const std::string& kind, const std::string& name,
                  const std::vector<std::string>& known) {
  std::string message = "unknown " + kind + " '" + name + "'";
  const std::string nearest = Nearest(name, known);
  if (!nearest.empty()) {
    message += "; nearest is '" + nearest + "'";
  } else if (known.empty()) {
    message += "; there are none";
  } else {
    message += "; known are";
    for (std::size_t i = 0; i < known.size(); ++i) message += (i == 0 ? " " : ", ") + known[i];
  }
  return Error{message};
}

Result<Parameters> FillParameters(const std::string& owner, const std::vector<ParameterRule>& rules,
                                  const Parameters& given) {
  std::vector<std::string> known;
  for (const ParameterRule& rule : rules) known.push_back(rule.name);
  for (const auto& [name, value] : given) {
    const auto rule = std::find_if(
        rules.begin(), rules.end(),
        [&wanted = name](const ParameterRule& known_rule) { return known_rule.name == wanted; });
    if (rule == rules.end()) return UnknownName("parameter of " + owner, name, known);
    const std::string wanted = std::string(rule->whole ? "a whole number" : "a number") + " from " +
                               Plain(rule->low) + " to " + Plain(rule->high);
    if (const auto* word = std::get_if<std::string>(&value)) {
      return Error{owner + ": " + name + " is '" + *word + "'; wanted " + wanted};
    }
    const double figure = std::get<double>(value);
    // Written so that a NaN is out of range.
    const bool in_range = figure >= rule->low && figure <= rule->high;
    if (!in_range || (rule->whole && figure != std::floor(figure))) {
      return Error{owner + ": " + name + " is " + Plain(figure) + "; wanted " + wanted};
    }
  }
  Parameters filled = given;
  for (const ParameterRule& rule : rules) filled.try_emplace(rule.name, rule.standard);
  return filled;
}

double Number(const Parameters& filled, const std::string& name) {
  const auto found = filled.find(name);
  CHECK(found != filled.end(), name);
  return std::get<double>(found->second);
}

}  // namespace pawl
