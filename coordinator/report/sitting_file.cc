#include "coordinator/report/sitting_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "coordinator/report/facts.h"
#include "coordinator/report/generation.h"
#include "coordinator/report/text.h"
#include "coordinator/search/figures.h"
#include "coordinator/search/problem.h"
#include "coordinator/search/timed_arms.h"

namespace pawl {
namespace {

constexpr const char* kFormat = "pawl capture 1";

// A replay builds nothing: its arms are known by their configurations.
Digest ObjectOf(const TimedArm& arm) {
  return arm.build ? arm.build->object : arm.configuration.Hash();
}

std::string DeviceName(const DeviceFacts& device) {
  return device.uuid.empty() ? device.model : device.model + " " + device.uuid;
}

const TimedArm* CommittedOf(const std::vector<TimedArm>& arms) {
  for (const TimedArm& arm : arms) {
    if (arm.role == ArmRole::kCommitted && arm.timed()) return &arm;
  }
  return nullptr;
}

double PairedRatio(const TimedArm& arm, const TimedArm& committed) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < arm.us.size() && round < committed.us.size(); ++round) {
    ratios.push_back(arm.us[round] / committed.us[round]);
  }
  return MedianOf(ratios);
}

nlohmann::json ArmJson(const TimedArm& arm, const TimedArm* committed) {
  nlohmann::json json = {{"label", arm.label},
                         {"role", std::string(Name(arm.role))},
                         {"configuration", ConfigurationJson(arm.configuration)},
                         {"object", ObjectOf(arm).Hex()},
                         {"build", arm.build ? BuildJson(*arm.build) : nlohmann::json(nullptr)},
                         {"check", arm.check ? CheckJson(*arm.check) : nlohmann::json(nullptr)}};
  for (const char* key :
       {"median_us", "least_us", "most_us", "ratio_to_committed", "paired_ratio_median"}) {
    json[key] = nullptr;
  }
  if (!arm.timed()) return json;
  json["median_us"] = arm.median_us;
  json["least_us"] = arm.least_us;
  json["most_us"] = arm.most_us;
  if (committed == nullptr || committed == &arm) return json;
  json["ratio_to_committed"] = arm.median_us / committed->median_us;
  json["paired_ratio_median"] = PairedRatio(arm, *committed);
  return json;
}

nlohmann::json RoundsJson(const Order& order, const Report& report) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const RoundMedians& round : report.rounds) {
    nlohmann::json visits = nlohmann::json::array();
    for (const VisitMedian& visit : round.visits) {
      visits.push_back({{"arm", order.arms[visit.arm].label},
                        {"input_set", visit.input_set},
                        {"us", visit.median_us},
                        {"clock_mhz", visit.clock_mhz}});
    }
    rounds.push_back(std::move(visits));
  }
  return rounds;
}

// Seeds have 64 bits, more than every reader of JSON keeps of a number.
nlohmann::json InputsJson(const Order& order) {
  nlohmann::json seeds = nlohmann::json::array();
  for (const std::uint64_t seed : order.input_seeds) seeds.push_back(std::to_string(seed));
  return {{"digest", InputsDigest(order).Hex()},
          {"seeds", std::move(seeds)},
          {"hidden_seed", std::to_string(order.check.hidden_seed)}};
}

nlohmann::json SlowJson(const SittingVerdict& verdict) {
  if (!verdict.slow()) return nullptr;
  nlohmann::json json = {{"rule", SlowRule()}, {"arms", nlohmann::json::array()}};
  for (const SlowArm& arm : verdict.slow_arms) {
    json["arms"].push_back({{"label", arm.label},
                            {"median_us", arm.median_us},
                            {"usual_us", arm.usual_us},
                            {"factor", arm.factor}});
  }
  json["seconds"] = nullptr;
  if (verdict.slow_seconds) {
    json["seconds"] = {{"run_seconds", verdict.slow_seconds->seconds},
                       {"usual_seconds", verdict.slow_seconds->usual_seconds},
                       {"factor", verdict.slow_seconds->factor}};
  }
  return json;
}

std::string SlowText(const SittingVerdict& verdict) {
  std::string text;
  for (const SlowArm& arm : verdict.slow_arms) {
    text += (text.empty() ? "" : "; ") + arm.label + " " + FormatFactor(arm.factor) +
            " times its usual " + FormatTime(arm.usual_us);
  }
  if (verdict.slow_seconds) {
    text += (text.empty() ? "" : "; ") + std::string("its rounds took ") +
            FormatDuration(verdict.slow_seconds->seconds) + ", usually " +
            FormatDuration(verdict.slow_seconds->usual_seconds);
  }
  return text;
}

std::string RoundsTable(const std::vector<TimedArm>& arms, bool colour) {
  const TimedArm* const committed = CommittedOf(arms);
  std::vector<Column> columns = {{"arm", Align::kLeft, 0}};
  for (std::size_t round = 0; round < arms.front().us.size(); ++round) {
    columns.push_back({"round " + std::to_string(round + 1) + " us", Align::kRight, 0});
  }
  columns.push_back({"median us", Align::kRight, 0});
  columns.push_back({"spread", Align::kRight, 0});
  columns.push_back({"/committed", Align::kRight, 0});
  columns.push_back({"clock MHz", Align::kRight, 0});
  TextTable table(std::move(columns));
  for (const TimedArm& arm : arms) {
    std::vector<Cell> row = {{arm.label}};
    for (const double us : arm.us) row.push_back({Fixed(us, 3)});
    row.push_back({Fixed(arm.median_us, 3), Tone::kStrong});
    row.push_back({Fixed(100 * arm.Spread(), 2) + " %"});
    row.push_back({committed == nullptr ? "" : FormatRatio(arm.median_us / committed->median_us)});
    const double clock = MedianOf(arm.clock_mhz);
    row.push_back({clock > 0 ? std::to_string(std::lround(clock)) : ""});
    table.Add(std::move(row));
  }
  return table.Render(colour);
}

template <typename T>
T At(const nlohmann::json& json, const char* key, T absent) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absent;
  return found->get<T>();
}

Digest DigestAt(const nlohmann::json& json, const char* key) {
  const auto digest = Digest::FromHex(At<std::string>(json, key, ""));
  return digest ? *digest : Digest{};
}

}  // namespace

Sitting SittingOf(const SittingRecord& record) {
  const Order& order = *record.result.order;
  const Report& report = *record.result.report;
  Sitting sitting;
  sitting.device = DeviceName(record.result.device);
  sitting.instrument = order.timing.instrument;
  sitting.inputs = InputsDigest(order);
  sitting.run_seconds = report.run_seconds;
  for (const TimedArm& arm : TimedArms(order, report)) {
    if (!arm.timed()) continue;
    sitting.arms.push_back({arm.label, ObjectOf(arm), arm.median_us, arm.most_us});
  }
  return sitting;
}

nlohmann::json SittingJson(const SittingRecord& record, const SittingVerdict& verdict,
                           const std::vector<std::string>& slow_earlier) {
  const Order& order = *record.result.order;
  const Report& report = *record.result.report;
  const std::vector<TimedArm> arms = TimedArms(order, report);
  const auto why =
      record.result.answered() ? WhyNotTimed(order, report) : std::optional(record.result.why);
  nlohmann::json json = {{"format", kFormat},
                         {"pawl", PAWL_VERSION},
                         {"unix_ms", record.unix_ms},
                         {"ledger", record.ledger.value},
                         {"track", record.track.value},
                         {"label", record.spec.label},
                         {"operation", record.spec.operation},
                         {"shape", ShapeJson(record.spec.shape)},
                         {"dtype", std::string(Name(record.spec.dtype))},
                         {"backend", record.spec.backend},
                         {"structure", record.spec.structure},
                         {"device", DeviceJson(record.result.device)},
                         {"toolchain", report.toolchain},
                         {"worker", report.worker.value},
                         {"instrument", std::string(Name(order.timing.instrument))},
                         {"track_instrument", std::string(Name(record.spec.instrument))},
                         {"warmup", order.timing.warmup},
                         {"iterations", order.timing.iterations},
                         {"inputs", InputsJson(order)},
                         {"measured", !why},
                         {"outcome", std::string(Name(report.outcome.kind))},
                         {"why", why.value_or("")},
                         {"tries", record.result.tries},
                         {"rounds", RoundsJson(order, report)},
                         {"run_seconds", report.run_seconds},
                         {"evidence", report.evidence.IsZero() ? "" : report.evidence.Hex()},
                         {"conditions", ConditionsJson(report.conditions)},
                         {"peers", verdict.peers},
                         {"slow", SlowJson(verdict)},
                         {"slow_earlier", slow_earlier}};
  json["arms"] = nlohmann::json::array();
  const TimedArm* const committed = CommittedOf(arms);
  for (const TimedArm& arm : arms) json["arms"].push_back(ArmJson(arm, committed));
  return json;
}

std::string SittingText(const SittingRecord& record, const SittingVerdict& verdict,
                        const std::vector<std::string>& slow_earlier, bool colour) {
  const Order& order = *record.result.order;
  const Report& report = *record.result.report;
  const std::vector<TimedArm> arms = TimedArms(order, report);
  std::string text = "capture of track " + std::to_string(record.track.value) + ": " +
                     record.spec.label + " on " + record.result.device.model + ", by " +
                     std::string(Name(order.timing.instrument)) + ", " + CallsText(order.timing) +
                     "\n";
  if (!arms.empty() && arms.front().timed()) text += RoundsTable(arms, colour);
  const auto line = [&](const std::string& name, const std::string& what) {
    if (what.empty()) return;
    text += name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + what + "\n";
  };
  const auto why =
      record.result.answered() ? WhyNotTimed(order, report) : std::optional(record.result.why);
  if (why) text += Paint("FAILED", Tone::kBad, colour) + "      " + *why + "\n";
  if (verdict.slow()) {
    text += Paint("SLOW", Tone::kBad, colour) + "        " + SlowText(verdict) +
            "; kept, and told by this rule: " + SlowRule() + "\n";
  }
  for (const std::string& name : slow_earlier) {
    line("slow before", name + " is slow beside its peers, this sitting among them");
  }
  line("peers", std::to_string(verdict.peers.size()) + " earlier sittings");
  line("inputs", InputsDigest(order).Short() + ", the same for every arm and round");
  line("conditions", ConditionsText(report.conditions));
  line("toolchain", report.toolchain);
  return text;
}

std::optional<Sitting> ReadSitting(const std::string& name, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    if (At<std::string>(json, "format", "") != kFormat) return std::nullopt;
    const auto instrument = ParseInstrument(At<std::string>(json, "instrument", ""));
    const bool whole = json.at("device").is_object() && json.at("inputs").is_object() &&
                       json.at("arms").is_array();
    if (!instrument || !whole) return std::nullopt;
    Sitting sitting;
    sitting.name = name;
    DeviceFacts device;
    device.model = At<std::string>(json.at("device"), "model", "");
    device.uuid = At<std::string>(json.at("device"), "uuid", "");
    sitting.device = DeviceName(device);
    sitting.instrument = *instrument;
    sitting.inputs = DigestAt(json.at("inputs"), "digest");
    sitting.run_seconds = At<double>(json, "run_seconds", 0);
    for (const nlohmann::json& entry : json.at("arms")) {
      SittingArm arm;
      arm.label = At<std::string>(entry, "label", "");
      arm.object = DigestAt(entry, "object");
      arm.median_us = At<double>(entry, "median_us", 0);
      arm.most_us = At<double>(entry, "most_us", 0);
      if (arm.median_us > 0) sitting.arms.push_back(std::move(arm));
    }
    return sitting;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace pawl
