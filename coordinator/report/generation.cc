#include "coordinator/report/generation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/report/facts.h"
#include "coordinator/report/second_instrument.h"

namespace pawl {
namespace {

nlohmann::json ValueJson(const KnobValue& value) {
  struct Visitor {
    nlohmann::json operator()(bool flag) const { return flag; }
    nlohmann::json operator()(std::int64_t number) const { return number; }
    nlohmann::json operator()(const std::string& word) const { return word; }
    nlohmann::json operator()(const Tuple& tuple) const { return tuple; }
  };
  return std::visit(Visitor{}, value);
}

template <typename T>
nlohmann::json OptionalJson(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

Result<GenerationRecord> LoadGeneration(const Ledger& ledger, const GenerationIndex& index) {
  GenerationRecord record;
  record.track = index.track;
  auto proposed = ledger.At(index.proposed);
  if (!proposed) return proposed.error();
  const auto* body = std::get_if<Proposed>(&proposed->body);
  CHECK(body != nullptr, "event", index.proposed.value, "is no proposal");
  record.proposed = *body;
  for (const Seq seq : index.measured) {
    auto measured = ledger.At(seq);
    if (!measured) return measured.error();
    const auto* report = std::get_if<Measured>(&measured->body);
    CHECK(report != nullptr, "event", seq.value, "is no report");
    record.reports.push_back(report->report);
  }
  if (index.decided != Seq{}) {
    auto decided = ledger.At(index.decided);
    if (!decided) return decided.error();
    const auto* decision = std::get_if<Decided>(&decided->body);
    CHECK(decision != nullptr, "event", index.decided.value, "is no decision");
    record.decision = decision->decision;
    record.decided_unix_ms = decided->unix_ms;
  }
  return record;
}

Result<Configuration> LoadCandidate(const Ledger& ledger, TrackId track, Generation generation) {
  const std::string name = "generation " + std::to_string(generation.value);
  auto index = ledger.FindGeneration(track, generation);
  if (!index) return index.error();
  if (!*index) return Error{"track " + std::to_string(track.value) + " has no " + name};
  auto record = LoadGeneration(ledger, **index);
  if (!record) return record.error();
  if (!record->proposed.violations.empty()) {
    return Error{name + " was refused before any build: " + record->proposed.violations.front()};
  }
  return record->proposed.candidate;
}

std::vector<const Report*> DecidingReports(const GenerationRecord& record) {
  std::vector<const Report*> deciding;
  for (const Report& report : record.reports) {
    if (report.batch == 0) deciding.clear();
    deciding.push_back(&report);
  }
  return deciding;
}

std::vector<double> ArmMedians(const GenerationRecord& record, ArmRole role) {
  std::vector<double> medians;
  for (const Report* report : DecidingReports(record)) {
    for (const RoundMedians& round : report->rounds) {
      for (const VisitMedian& visit : round.visits) {
        if (report->arms[visit.arm] == role) medians.push_back(visit.median_us);
      }
    }
  }
  return medians;
}

std::string ChangeText(const std::vector<Change>& changes) {
  if (changes.empty()) return "none (the incumbent itself)";
  std::string text, repairs;
  for (const Change& change : changes) {
    std::string& into = change.repair ? repairs : text;
    if (!into.empty()) into += ", ";
    into += change.knob + " " + ToText(change.from) + " -> " + ToText(change.to);
  }
  return repairs.empty() ? text : text + " (repair: " + repairs + ")";
}

TextTable GenerationTable() {
  return TextTable({{"gen", Align::kRight, 4},
                    {"change", Align::kLeft, 34},
                    {"before", Align::kRight, 8},
                    {"after", Align::kRight, 8},
                    {"ratio", Align::kRight, 6},
                    {"verdict", Align::kLeft, 7},
                    {"reason", Align::kLeft, 0}});
}

std::vector<Cell> GenerationRow(const GenerationRecord& record, Instrument instrument) {
  const std::string number = std::to_string(record.proposed.generation.value);
  const std::string change = ChangeText(record.proposed.changes);
  if (!record.decision) return {{number}, {change}, {""}, {""}, {""}, {"open", Tone::kDim}, {""}};
  const Decision& decision = *record.decision;
  const auto second = SecondInstrumentOf(decision, DecidingReports(record));
  const std::string only = second ? OnlyText(*second, instrument) : "";
  const Tone tone = !only.empty()                          ? Tone::kBad
                    : decision.verdict == Verdict::kKeep   ? Tone::kGood
                    : decision.verdict == Verdict::kReject ? Tone::kPlain
                                                           : Tone::kDim;
  std::string reason(Name(decision.reason));
  if (!decision.detail.empty()) reason += ": " + decision.detail;
  if (!only.empty()) reason += "; " + only;
  return {{number},
          {change},
          {decision.before_us ? FormatTime(*decision.before_us) : ""},
          {decision.after_us ? FormatTime(*decision.after_us) : ""},
          {decision.ratio ? FormatRatio(*decision.ratio) : ""},
          {std::string(Name(decision.verdict)), tone},
          {reason, decision.verdict == Verdict::kKeep ? Tone::kPlain : Tone::kDim}};
}

nlohmann::json ConfigurationJson(const Configuration& configuration) {
  nlohmann::json json = nlohmann::json::object();
  for (const Setting& setting : configuration.settings)
    json[setting.knob] = ValueJson(setting.value);
  return json;
}

nlohmann::json GenerationJson(const GenerationRecord& record, const TrackSpec& spec) {
  nlohmann::json json;
  json["track"] = record.track.value;
  json["generation"] = record.proposed.generation.value;
  json["hypothesis"] = record.proposed.hypothesis;
  json["changes"] = nlohmann::json::array();
  for (const Change& change : record.proposed.changes) {
    json["changes"].push_back({{"knob", change.knob},
                               {"from", ValueJson(change.from)},
                               {"to", ValueJson(change.to)},
                               {"repair", change.repair}});
  }
  json["configuration"] = ConfigurationJson(record.proposed.candidate);
  json["incumbent"] = ConfigurationJson(record.proposed.incumbent);
  json["violations"] = record.proposed.violations;
  json["policy"] = spec.policy;
  const Decision open;
  const Decision& decision = record.decision ? *record.decision : open;
  json["verdict"] =
      record.decision ? nlohmann::json(Name(decision.verdict)) : nlohmann::json("open");
  json["reason_code"] =
      record.decision ? nlohmann::json(Name(decision.reason)) : nlohmann::json(nullptr);
  json["reason"] = decision.detail;
  json["ratio"] = OptionalJson(decision.ratio);
  json["ratios"] = decision.ratios;
  json["threshold"] = OptionalJson(decision.threshold);
  json["control_drift"] = OptionalJson(decision.control_drift);
  json["before_us"] = OptionalJson(decision.before_us);
  json["after_us"] = OptionalJson(decision.after_us);
  json["medians_us"] = nlohmann::json::object();
  for (const ArmRole role : {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent}) {
    const std::vector<double> medians = ArmMedians(record, role);
    if (!medians.empty()) json["medians_us"][std::string(Name(role))] = medians;
  }
  json["check"] = nullptr;
  double seconds = 0;
  for (const Report& report : record.reports) {
    seconds += report.build_seconds + report.check_seconds + report.run_seconds;
    for (const CheckFacts& check : report.checks) {
      if (check.arm != ArmRole::kCandidate) continue;
      json["check"] = CheckJson(check);
    }
  }
  json["seconds"] = seconds;
  // Like the medians: of the measurement that was decided on.
  DeviceConditions seen;
  for (const Report* report : DecidingReports(record)) {
    for (const Capture& capture : report->captures) {
      json["captures_us"][std::string(Name(capture.instrument))]
          [std::string(Name(report->arms[capture.arm]))] = capture.median_us;
    }
    seen.clock_reasons |= report->conditions.clock_reasons;
    seen.memory_mhz = std::max(seen.memory_mhz, report->conditions.memory_mhz);
    seen.temperature_c = std::max(seen.temperature_c, report->conditions.temperature_c);
    seen.power_w = std::max(seen.power_w, report->conditions.power_w);
    seen.foreign_processes = std::max(seen.foreign_processes, report->conditions.foreign_processes);
    seen.pinned_mhz = std::max(seen.pinned_mhz, report->conditions.pinned_mhz);
  }
  json["second_instrument"] = nullptr;
  if (const auto second = SecondInstrumentOf(decision, DecidingReports(record))) {
    json["second_instrument"] = {{"instrument", Name(second->instrument)},
                                 {"ratio", second->ratio},
                                 {"confirms", second->confirms}};
  }
  if (seen != DeviceConditions{}) {
    json["conditions"] = ConditionsJson(seen);
  }
  return json;
}

nlohmann::json ConfirmationJson(const Confirmed& confirmed) {
  nlohmann::json json;
  json["confirmation"] = confirmed.number;
  json["incumbent"] = ConfigurationJson(confirmed.incumbent);
  json["valid"] = confirmed.valid;
  json["reason"] = confirmed.detail;
  if (!confirmed.valid) return json;
  json["gain"] = confirmed.gain;
  json["mean"] = confirmed.mean;
  json["min"] = confirmed.min;
  json["max"] = confirmed.max;
  json["stddev"] = confirmed.stddev;
  json["rounds"] = confirmed.rounds;
  json["favouring"] = confirmed.favouring;
  json["incumbent_us"] = confirmed.incumbent_us;
  json["committed_us"] = confirmed.committed_us;
  json["beside"] = nlohmann::json::array();
  for (const Beside& arm : confirmed.beside) {
    json["beside"].push_back(
        {{"label", arm.label}, {"median_us", arm.median_us}, {"ratio", arm.ratio}});
  }
  return json;
}

std::string ConfirmationText(const Confirmed& confirmed) {
  if (!confirmed.valid) return "no figure: " + confirmed.detail;
  return "incumbent " + FormatTime(confirmed.incumbent_us) + ", committed " +
         FormatTime(confirmed.committed_us) + ": gain " + FormatGain(confirmed.gain) + " (rounds " +
         FormatGain(confirmed.min) + " to " + FormatGain(confirmed.max) + ", sd " +
         FormatGain(confirmed.stddev).substr(1) + "), " + std::to_string(confirmed.favouring) +
         " of " + std::to_string(confirmed.rounds) + " rounds favour the incumbent";
}

std::string BesideText(const Confirmed& confirmed) {
  std::string text;
  for (const Beside& arm : confirmed.beside) {
    if (arm.ratio <= 0) continue;
    text += (text.empty() ? "" : "; ") + arm.label + " " + FormatTime(arm.median_us) +
            " (the incumbent is " + FormatFactor(1 / arm.ratio) + " times as fast)";
  }
  return text;
}

}  // namespace pawl
