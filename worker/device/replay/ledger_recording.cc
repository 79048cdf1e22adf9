#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "worker/device/replay/recording.h"

namespace pawl {
namespace {

using Json = nlohmann::json;

// "block=64x64 k_step=32", by knob name, so that the order in which either side lists knobs is no
// matter.
using KnobTexts = std::map<std::string, std::string>;

std::string KeyOf(const KnobTexts& knobs) {
  std::string key;
  for (const auto& [knob, text] : knobs) key += knob + '=' + text + ' ';
  return key;
}

std::string PairKey(const std::string& candidate, const std::string& incumbent) {
  return candidate + '\n' + incumbent;
}

std::string KeyOf(const Configuration& configuration) {
  KnobTexts knobs;
  for (const Setting& setting : configuration.settings) knobs[setting.knob] = ToText(setting.value);
  return KeyOf(knobs);
}

std::optional<std::string> KnobText(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::string text;
  for (const Json& part : value) {
    if (!part.is_number_integer()) return std::nullopt;
    text += (text.empty() ? "" : "x") + std::to_string(part.get<std::int64_t>());
  }
  return text;
}

struct RecordedRound {
  std::map<std::string, double, std::less<>> us;  // by arm
};

struct RecordedGeneration {
  std::int64_t number = 0;
  std::vector<RecordedRound> rounds;
  std::optional<double> max_abs_error;
};

class LedgerRecording final : public Recording {
 public:
  const std::string& model() const override { return model_; }
  const std::vector<Instrument>& instruments() const override { return instruments_; }
  Answer Find(const Order& order) const override;

  // What is wrong, or nothing. `where` is set to the generation that is being read, from 1.
  std::optional<std::string> Read(const Json& file, std::size_t& where);

 private:
  static std::optional<std::string> ReadConfiguration(const Json& generation, const char* name,
                                                      std::string& key);
  static std::optional<std::string> ReadRounds(const Json& generation,
                                               RecordedGeneration& recorded);
  std::optional<std::string> ShapeDiffers(const Order& order) const;

  std::string model_;
  std::vector<Instrument> instruments_;
  std::map<std::string, std::int64_t> shape_;
  std::unordered_map<std::string, RecordedGeneration> by_arms_;
};

std::optional<std::string> LedgerRecording::ReadConfiguration(const Json& generation,
                                                              const char* name, std::string& key) {
  const auto found = generation.find(name);
  if (found == generation.end() || !found->is_object()) {
    return std::string("no \"") + name + "\" configuration";
  }
  KnobTexts knobs;
  for (const auto& [knob, value] : found->items()) {
    const std::optional<std::string> text = KnobText(value);
    if (!text) {
      return std::string(name) + "'s " + knob + " is " + value.dump() +
             ", wanted a truth value, a whole number, a word or a list of whole numbers";
    }
    knobs[knob] = *text;
  }
  key = KeyOf(knobs);
  return std::nullopt;
}

std::optional<std::string> LedgerRecording::ReadRounds(const Json& generation,
                                                       RecordedGeneration& recorded) {
  const auto rounds = generation.find("rounds");
  if (rounds == generation.end() || !rounds->is_array()) return "no list of \"rounds\"";
  for (const Json& round : *rounds) {
    if (!round.is_object()) return "a round that is no object";
    RecordedRound read;
    for (const auto& [arm, us] : round.items()) {
      if (arm == "order") continue;
      if (!us.is_number() || !std::isfinite(us.get<double>()) || us.get<double>() <= 0) {
        return "round " + std::to_string(recorded.rounds.size() + 1) + "'s " + arm + " is " +
               us.dump() + ", wanted a time in microseconds";
      }
      read.us[arm] = us.get<double>();
    }
    recorded.rounds.push_back(std::move(read));
  }
  const auto error = generation.find("max_abs_error");
  if (error != generation.end() && !error->is_null()) {
    if (!error->is_number()) return "max_abs_error is " + error->dump() + ", wanted a number";
    recorded.max_abs_error = error->get<double>();
  }
  return std::nullopt;
}

std::optional<std::string> LedgerRecording::Read(const Json& file, std::size_t& where) {
  if (!file.is_object()) return "wanted an object with \"device\" and \"generations\"";
  const auto device = file.find("device");
  if (device == file.end() || !device->is_string()) return "no \"device\" name";
  model_ = device->get<std::string>();

  if (const auto instrument = file.find("instrument"); instrument != file.end()) {
    const std::string name = instrument->is_string() ? instrument->get<std::string>() : "";
    const std::optional<Instrument> known = ParseInstrument(name);
    if (!known) return "unknown instrument " + instrument->dump();
    instruments_ = {*known};
  } else {
    instruments_ = {Instrument::kCpuTime, Instrument::kWallTime, Instrument::kEventSpan,
                    Instrument::kKernelTime, Instrument::kGraphTime};
  }
  if (const auto unit = file.find("unit"); unit != file.end() && *unit != "us") {
    return "unit is " + unit->dump() + ", wanted \"us\"";
  }
  if (const auto shape = file.find("shape"); shape != file.end()) {
    if (!shape->is_object()) return "\"shape\" is no object";
    for (const auto& [letter, extent] : shape->items()) {
      if (!extent.is_number_integer()) return "shape's " + letter + " is " + extent.dump();
      shape_[letter] = extent.get<std::int64_t>();
    }
  }

  const auto generations = file.find("generations");
  if (generations == file.end() || !generations->is_array()) return "no list of \"generations\"";
  for (const Json& generation : *generations) {
    ++where;
    if (!generation.is_object()) return "a generation that is no object";
    RecordedGeneration recorded;
    recorded.number = static_cast<std::int64_t>(where);
    if (const auto number = generation.find("generation"); number != generation.end()) {
      if (!number->is_number_integer()) return "generation number " + number->dump();
      recorded.number = number->get<std::int64_t>();
    }
    std::string candidate, incumbent;
    if (auto wrong = ReadConfiguration(generation, "candidate", candidate)) return wrong;
    if (auto wrong = ReadConfiguration(generation, "incumbent", incumbent)) return wrong;
    if (auto wrong = ReadRounds(generation, recorded)) return wrong;
    if (recorded.rounds.empty()) continue;  // refused before it was run
    by_arms_.emplace(PairKey(candidate, incumbent), std::move(recorded));
  }
  return std::nullopt;
}

std::optional<std::string> LedgerRecording::ShapeDiffers(const Order& order) const {
  if (shape_.empty()) return std::nullopt;
  for (const Scalar& scalar : order.scalars) {
    const auto recorded = shape_.find(scalar.name);
    if (recorded != shape_.end() && recorded->second == scalar.value) continue;
    const std::string there = recorded == shape_.end()
                                  ? "no " + scalar.name
                                  : scalar.name + "=" + std::to_string(recorded->second);
    return "the order is for " + scalar.name + "=" + std::to_string(scalar.value) +
           ", the recording has " + there;
  }
  return std::nullopt;
}

Answer LedgerRecording::Find(const Order& order) const {
  if (order.kind != OrderKind::kMeasure) {
    return NotRecorded("a recorded ledger holds no confirmation", false);
  }
  if (const auto differs = ShapeDiffers(order)) return NotRecorded(*differs, true);

  const Arm* candidate = nullptr;
  const Arm* incumbent = nullptr;
  for (const Arm& arm : order.arms) {
    if (arm.role == ArmRole::kCandidate) candidate = &arm;
    if (arm.role == ArmRole::kIncumbent) incumbent = &arm;
  }
  if (!candidate || !incumbent) {
    return NotRecorded("the order has no candidate and incumbent to look up", true);
  }
  const auto found =
      by_arms_.find(PairKey(KeyOf(candidate->configuration), KeyOf(incumbent->configuration)));
  if (found == by_arms_.end()) {
    return NotRecorded("no recorded generation measures \"" + candidate->configuration.Text() +
                           "\" against \"" + incumbent->configuration.Text() + "\"",
                       true);
  }
  const RecordedGeneration& recorded = found->second;

  std::size_t per_batch = 0;
  for (const RoundPlan& round : order.rounds) per_batch += round.recorded ? 1 : 0;
  std::size_t next = order.batch * per_batch;

  Answer answer;
  for (const RoundPlan& round : order.rounds) {
    // Burn-in was not recorded; nothing of it is reported, only its time counts.
    const std::size_t index = round.recorded ? next++ : 0;
    if (index >= recorded.rounds.size()) {
      return NotRecorded("recorded generation " + std::to_string(recorded.number) + " has " +
                             std::to_string(recorded.rounds.size()) +
                             " rounds, the order asks for " + std::to_string(index + 1),
                         true);
    }
    std::vector<std::uint32_t> seen;
    for (const VisitPlan& visit : round.visits) {
      const std::string_view arm = Name(order.arms[visit.arm].role);
      const auto us = recorded.rounds[index].us.find(arm);
      if (us == recorded.rounds[index].us.end()) {
        return NotRecorded("recorded generation " + std::to_string(recorded.number) +
                               " has no time of the " + std::string(arm) + " kernel",
                           true);
      }
      if (round.recorded && std::find(seen.begin(), seen.end(), visit.arm) != seen.end()) {
        return NotRecorded("recorded generation " + std::to_string(recorded.number) +
                               " has one visit an arm and round, the order asks for more",
                           true);
      }
      seen.push_back(visit.arm);
      answer.visit_us.push_back(us->second);
    }
  }
  if (recorded.max_abs_error) {
    CheckFacts check;
    check.arm = ArmRole::kCandidate;
    check.passed = true;  // it was measured: what fails its check is not
    for (const Buffer& buffer : order.buffers) {
      if (buffer.role != BufferRole::kOutput) continue;
      check.elements += static_cast<std::uint64_t>(buffer.Elements());
    }
    check.max_abs_error = *recorded.max_abs_error;
    answer.checks.push_back(std::move(check));
  }
  return answer;
}

// Where the n-th (from 1) entry of "generations" begins, as near as its first key tells.
std::size_t GenerationLine(std::string_view bytes, std::size_t n) {
  std::size_t at = bytes.find("\"generations\"");
  if (n == 0 || at == std::string_view::npos) return 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t next = bytes.find("\"generation\"", at + 1);
    if (next == std::string_view::npos) break;
    at = next;
  }
  return LineAt(bytes, at);
}

}  // namespace

Result<std::unique_ptr<Recording>> ReadLedgerRecording(const std::string& path,
                                                       std::string_view bytes) {
  Json file;
  try {
    file = Json::parse(bytes.begin(), bytes.end());
  } catch (const Json::parse_error& error) {
    // "[json.exception...] parse error at line 3, column 5: what": the place is ours to give.
    std::string what = error.what();
    if (const std::size_t colon = what.find(": "); colon != std::string::npos) {
      what = what.substr(colon + 2);
    }
    return BadRecording(path, LineAt(bytes, error.byte), "not JSON: " + what);
  } catch (const Json::exception& error) {
    return BadRecording(path, 1, std::string("not JSON that can be read: ") + error.what());
  }
  auto recording = std::make_unique<LedgerRecording>();
  std::size_t generation = 0;
  if (const std::optional<std::string> wrong = recording->Read(file, generation)) {
    return BadRecording(path, GenerationLine(bytes, generation), *wrong);
  }
  return std::unique_ptr<Recording>(std::move(recording));
}

}  // namespace pawl
