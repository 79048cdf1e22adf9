#include "recorded.h"
#include "tests/support/places.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace pawl {
namespace {

using Json = nlohmann::ordered_json;

KnobValue ValueFrom(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_string()) return json.get<std::string>();
  return json.get<Tuple>();
}

Configuration ConfigurationFrom(const Json& json) {
  Configuration configuration;
  for (const auto& [knob, value] : json.items())
    configuration.settings.push_back({knob, ValueFrom(value)});
  return configuration;
}

ArmRole RoleFrom(const std::string& name) {
  for (const ArmRole role : {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent}) {
    if (Name(role) == name) return role;
  }
  throw std::runtime_error("no arm " + name);
}

RecordedGeneration GenerationFrom(const Json& json) {
  RecordedGeneration recorded;
  recorded.generation = json.at("generation").get<std::uint32_t>();
  recorded.knob = json.at("knob").get<std::string>();
  recorded.to = ValueFrom(json.at("to"));
  recorded.candidate = ConfigurationFrom(json.at("candidate"));
  if (const Json& repair = json.at("repair"); !repair.is_null()) {
    recorded.repair = Change{repair.at("knob").get<std::string>(), ValueFrom(repair.at("from")),
                             ValueFrom(repair.at("to")), true};
  }
  recorded.valid = json.at("valid").get<bool>();
  if (!recorded.valid) recorded.invalid_reason = json.at("invalid_reason").get<std::string>();
  if (!json.at("ratio").is_null()) recorded.ratio = json.at("ratio").get<double>();
  if (!json.at("control_drift").is_null())
    recorded.control_drift = json.at("control_drift").get<double>();
  recorded.kept = json.at("decision") == "keep";
  recorded.kept_by_median = json.at("decision_by_paired_median") == "keep";
  recorded.report.arms = {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent};
  for (const Json& round : json.at("rounds")) {
    RoundMedians medians;
    std::vector<ArmRole> order;
    for (const std::string name : round.at("order")) {
      order.push_back(RoleFrom(name));
      VisitMedian visit;
      visit.arm = static_cast<std::uint32_t>(order.back());
      visit.median_us = round.at(name).get<double>();
      medians.visits.push_back(visit);
    }
    recorded.orders.push_back(std::move(order));
    recorded.report.rounds.push_back(std::move(medians));
  }
  return recorded;
}

}  // namespace

RecordedLedger ReadRecorded(const std::string& name) {
  const std::string path = test::SourceFolder() + "/tests/data/rtx4090/" + name + "-ledger.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  const Json json = Json::parse(file);
  RecordedLedger ledger;
  ledger.start = ConfigurationFrom(json.at("start"));
  for (const Json& generation : json.at("generations")) {
    ledger.generations.push_back(GenerationFrom(generation));
  }
  return ledger;
}

}  // namespace pawl
