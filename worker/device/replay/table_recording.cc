#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "worker/device/replay/recording.h"

namespace pawl {
namespace {

enum class RowStatus : std::uint8_t { kOk, kCompile, kRuntime };

struct Row {
  RowStatus status = RowStatus::kOk;
  double us = 0;
  std::uint32_t line = 0;
};

std::vector<std::string_view> Split(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Truth values are 0 and 1 in some tables and words in others, and so are a structure's knobs.
std::string_view Canonical(std::string_view text) {
  if (text == "true" || text == "True") return "1";
  if (text == "false" || text == "False") return "0";
  return text;
}

// "gemm.RTX_2080_Ti.csv.gz" -> "RTX 2080 Ti"; without a middle, the first part.
std::string ModelOf(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".csv"}) {
    if (name.size() > ending.size() &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      name.resize(name.size() - ending.size());
    }
  }
  if (const std::size_t dot = name.find('.'); dot != std::string::npos) name = name.substr(dot + 1);
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

class TableRecording final : public Recording {
 public:
  explicit TableRecording(std::string model) : model_(std::move(model)) {}

  const std::string& model() const override { return model_; }
  const std::vector<Instrument>& instruments() const override { return instruments_; }
  Answer Find(const Order& order) const override;
  Status Read(const std::string& path, std::string_view bytes);

 private:
  Status ReadHeader(const std::string& path, std::string_view line);
  Status ReadRow(const std::string& path, std::size_t number, std::string_view line);
  // Why the table cannot have a time for it, or its key.
  std::optional<std::string> KeyOf(const Arm& arm, std::string& key) const;

  std::string model_;
  std::vector<Instrument> instruments_{Instrument::kCpuTime, Instrument::kWallTime,
                                       Instrument::kEventSpan, Instrument::kKernelTime,
                                       Instrument::kGraphTime};
  std::vector<std::string> knobs_;
  std::unordered_map<std::string, Row> rows_;
};

Status TableRecording::ReadHeader(const std::string& path, std::string_view line) {
  const std::vector<std::string_view> cells = Split(line);
  if (cells.size() < 3 || cells[cells.size() - 2] != "status" || cells.back() != "time_ms") {
    return BadRecording(path, 1, "wanted knob names, then status and time_ms, as the first line");
  }
  for (std::size_t i = 0; i + 2 < cells.size(); ++i) {
    for (const std::string& earlier : knobs_) {
      if (earlier == cells[i]) return BadRecording(path, 1, "knob " + earlier + " twice");
    }
    if (cells[i].empty()) return BadRecording(path, 1, "a knob without a name");
    knobs_.emplace_back(cells[i]);
  }
  return {};
}

Status TableRecording::ReadRow(const std::string& path, std::size_t number, std::string_view line) {
  const std::vector<std::string_view> cells = Split(line);
  if (cells.size() != knobs_.size() + 2) {
    return BadRecording(path, number,
                        std::to_string(cells.size()) + " values, wanted " +
                            std::to_string(knobs_.size() + 2) + " as the first line names");
  }
  std::string key;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    if (cells[i].empty()) return BadRecording(path, number, "no value of " + knobs_[i]);
    key.append(Canonical(cells[i])).push_back(',');
  }
  Row row;
  row.line = static_cast<std::uint32_t>(number);
  const std::string_view status = cells[knobs_.size()];
  const std::string_view time = cells.back();
  if (status == "ok") {
    double ms = 0;
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), ms);
    if (error != std::errc() || end != time.data() + time.size() || !std::isfinite(ms) || ms <= 0) {
      return BadRecording(path, number,
                          "time_ms is \"" + std::string(time) + "\", wanted a positive number");
    }
    row.us = ms * 1e3;
  } else if (status == "compile" || status == "runtime") {
    row.status = status == "compile" ? RowStatus::kCompile : RowStatus::kRuntime;
  } else {
    return BadRecording(path, number,
                        "status is \"" + std::string(status) + "\", wanted ok, compile or runtime");
  }
  const auto [place, added] = rows_.emplace(std::move(key), row);
  if (!added) {
    return BadRecording(
        path, number, "the configuration of line " + std::to_string(place->second.line) + " again");
  }
  return {};
}

Status TableRecording::Read(const std::string& path, std::string_view bytes) {
  std::size_t number = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number;
    if (number == 1) {
      if (const Status read = ReadHeader(path, line); !read) return read;
    } else if (!line.empty()) {
      if (const Status read = ReadRow(path, number, line); !read) return read;
    }
  }
  if (rows_.empty()) return BadRecording(path, number == 0 ? 1 : number, "no configuration in it");
  return {};
}

std::optional<std::string> TableRecording::KeyOf(const Arm& arm, std::string& key) const {
  const std::string name = arm.label.empty() ? std::string(Name(arm.role)) : arm.label;
  if (arm.configuration.empty()) return "the " + name + " kernel has no knobs to look it up by";
  for (const std::string& knob : knobs_) {
    const KnobValue* value = arm.configuration.Find(knob);
    if (!value) return "the " + name + " configuration has no knob " + knob + ", the table has";
    key.append(Canonical(ToText(*value))).push_back(',');
  }
  for (const Setting& setting : arm.configuration.settings) {
    bool known = false;
    for (const std::string& knob : knobs_) known = known || knob == setting.knob;
    if (!known)
      return "the table has no knob " + setting.knob + ", the " + name + " configuration has";
  }
  return std::nullopt;
}

Answer TableRecording::Find(const Order& order) const {
  std::vector<const Row*> arms;
  for (const Arm& arm : order.arms) {
    std::string key;
    if (const auto why = KeyOf(arm, key)) return NotRecorded(*why, false);
    const auto found = rows_.find(key);
    if (found == rows_.end()) {
      return NotRecorded("not listed: " + arm.configuration.Text(), false);
    }
    arms.push_back(&found->second);
  }
  Answer answer;
  // As a worker would: everything is built before anything is run.
  for (const auto& [status, kind, word] :
       {std::tuple(RowStatus::kCompile, OutcomeKind::kBuildFailed, "compile"),
        std::tuple(RowStatus::kRuntime, OutcomeKind::kLaunchFailed, "runtime")}) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      if (arms[i]->status != status) continue;
      answer.outcome = Outcome{
          kind, order.arms[i].role,
          std::string("recorded as a ") + word + " failure: " + order.arms[i].configuration.Text()};
      return answer;
    }
  }
  for (const RoundPlan& round : order.rounds) {
    for (const VisitPlan& visit : round.visits) answer.visit_us.push_back(arms[visit.arm]->us);
  }
  return answer;
}

}  // namespace

Result<std::unique_ptr<Recording>> ReadTableRecording(const std::string& path,
                                                      std::string_view bytes) {
  auto recording = std::make_unique<TableRecording>(ModelOf(path));
  if (const Status read = recording->Read(path, bytes); !read) return read.error();
  return std::unique_ptr<Recording>(std::move(recording));
}

}  // namespace pawl
