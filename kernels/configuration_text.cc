// Configurations as people write them: a table of a document, words of a command line.

#include <algorithm>
#include <sstream>
#include <utility>

#include "kernels/compound.h"
#include "kernels/document.h"
#include "kernels/knob_value.h"
#include "kernels/operation.h"
#include "kernels/program.h"
#include "kernels/space.h"

namespace pawl {

Result<const Knob*> KnobNamed(const Structure& structure, const std::string& name) {
  std::vector<std::string> names;
  for (const Knob& knob : structure.knobs) {
    if (knob.name == name) return &knob;
    names.push_back(knob.name);
  }
  std::string message = "unknown knob '" + name + "'";
  const std::string nearest = Nearest(name, names);
  if (!nearest.empty()) return Error{message + "; nearest is '" + nearest + "'"};
  for (const std::string& known : names) {
    message += (&known == &names.front() ? "; known are " : ", ") + known;
  }
  return Error{message};
}

Result<Configuration> ReadConfiguration(Table& table, const Structure& structure) {
  for (const std::string& key : table.Keys()) {
    const Result<const Knob*> knob = KnobNamed(structure, key);
    if (!knob) return Error{table.PlaceOf(key).Text() + ": " + knob.error().message};
  }
  Configuration configuration;
  for (const Knob& knob : structure.knobs) {
    const Result<std::optional<Node>> node = table.OptionalNode(knob.name);
    if (!node) return node.error();
    if (!*node) return Error{table.place().Text() + ": knob " + knob.name + " has no value"};
    Result<KnobValue> value = ToKnobValue(**node);
    if (!value) return value.error();
    if (const auto why = WhyNotValueOf(structure, knob, *value)) {
      return Error{table.PlaceOf(knob.name).Text() + ": " + *why};
    }
    configuration.settings.push_back({knob.name, std::move(*value)});
  }
  return configuration;
}

Result<Configuration> WithSettings(const Configuration& base, const std::vector<Setting>& settings,
                                   const Structure& structure) {
  Configuration configuration = base;
  // The structure first, whatever the order: it brings its own knobs with it.
  std::vector<Setting> ordered = settings;
  std::stable_partition(ordered.begin(), ordered.end(), [&](const Setting& setting) {
    return !structure.members.empty() && setting.knob == kStructureKnob;
  });
  for (const Setting& setting : ordered) {
    const Result<const Knob*> knob = KnobNamed(structure, setting.knob);
    if (!knob) return knob.error();
    if (const auto why = WhyNotValueOf(structure, **knob, setting.value)) return Error{*why};
    if (!structure.members.empty() && configuration.Find(setting.knob) == nullptr) {
      return Error{"knob " + setting.knob + " is inactive where " + kStructureKnob + " is " +
                   ToText(*configuration.Find(kStructureKnob))};
    }
    configuration = WithValue(structure, configuration, setting.knob, setting.value);
  }
  return configuration;
}

Result<Configuration> ParseConfiguration(std::string_view text, const Structure& structure,
                                         const Configuration& base) {
  std::vector<Setting> settings;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{"'" + word + "' sets nothing; knob=value is wanted, such as " +
                   base.settings.front().knob + "=" + ToText(base.settings.front().value)};
    }
    const std::string knob = word.substr(0, equals);
    const std::optional<KnobValue> value = KnobValueFromText(word.substr(equals + 1));
    if (!value) {
      return Error{knob + " is '" + word.substr(equals + 1) +
                   "'; true, 64, guarded or 64x64 is wanted"};
    }
    const bool again = std::any_of(settings.begin(), settings.end(),
                                   [&](const Setting& setting) { return setting.knob == knob; });
    if (again) return Error{"knob " + knob + " is given twice"};
    settings.push_back({knob, *value});
  }
  return WithSettings(base, settings, structure);
}

}  // namespace pawl
