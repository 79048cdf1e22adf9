#include "coordinator/bench/bench_text.h"

#include <algorithm>
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

using nlohmann::json;

struct Figures {
  double median_us = 0;
  double least_us = 0;
  double most_us = 0;

  double Spread() const { return (most_us - least_us) / median_us; }
};

std::optional<Figures> FiguresOf(const BenchArm& arm) {
  if (arm.rounds.empty()) return std::nullopt;
  std::vector<double> us;
  for (const BenchRound& round : arm.rounds) us.push_back(round.us);
  const auto [least, most] = std::minmax_element(us.begin(), us.end());
  return Figures{MedianOf(us), *least, *most};
}

std::string VersionsText(const BenchArm& arm) {
  std::string text;
  for (const auto& [name, version] : arm.versions) {
    text += (text.empty() ? "" : ", ") + name + " " + version;
  }
  return text;
}

// The medians of a clock that was read, or nothing.
std::string ClockText(const BenchArm& arm) {
  std::vector<double> mhz;
  for (const BenchRound& round : arm.rounds) {
    if (round.clock_mhz > 0) mhz.push_back(round.clock_mhz);
  }
  return mhz.empty() ? "" : std::to_string(std::lround(MedianOf(mhz)));
}

// "2 of 4 rounds are missing; round 3: could not be answered in 3 tries: ..."
std::string LostText(const BenchArm& arm) {
  if (!arm.live() || arm.lost.empty()) return "";
  const std::size_t all = arm.rounds.size() + arm.lost.size();
  return std::to_string(arm.lost.size()) + " of " + std::to_string(all) +
         (arm.lost.size() == 1 ? " rounds is" : " rounds are") + " missing; round " +
         std::to_string(arm.lost.front().round + 1) + ": " + arm.lost.front().why;
}

void AddRow(const BenchResult& result, const BenchArm& arm, TextTable& table) {
  const auto figures = FiguresOf(arm);
  if (!arm.live() || !figures) {
    const Tone tone = arm.state == ArmState::kAbsent ? Tone::kDim : Tone::kBad;
    const std::string state = arm.live() ? "no round" : Name(arm.state);
    table.Add({{arm.label}, {Name(arm.kind)}, {}, {}, {}, {}, {}, {}, {state, tone}});
    return;
  }
  const auto ratio = RatioToCommitted(result, arm);
  table.Add({{arm.label},
             {Name(arm.kind)},
             {FormatTime(figures->median_us)},
             {FormatTime(figures->least_us)},
             {FormatTime(figures->most_us)},
             {Fixed(100 * figures->Spread(), 1) + " %"},
             {ratio ? FormatRatio(*ratio) : ""},
             {ClockText(arm)},
             {arm.check ? CheckText(*arm.check) : "none"}});
}

}  // namespace

std::string BenchText(const BenchResult& result, bool colour) {
  const Order& order = result.order;
  std::string text = order.operation;
  for (const Scalar& letter : order.scalars) {
    text += " " + letter.name + "=" + std::to_string(letter.value);
  }
  text += " on " + result.device.model + ", backend " + order.backend + "\n";
  TextTable table({{"arm", Align::kLeft, 0},
                   {"kind", Align::kLeft, 0},
                   {"median", Align::kRight, 0},
                   {"least", Align::kRight, 0},
                   {"most", Align::kRight, 0},
                   {"spread", Align::kRight, 0},
                   {"ratio", Align::kRight, 0},
                   {"MHz", Align::kRight, 0},
                   {"check", Align::kLeft, 0}});
  for (const BenchArm& arm : result.arms) AddRow(result, arm, table);
  text += table.Render(colour);
  std::size_t wide = 10;
  for (const BenchArm& arm : result.arms) wide = std::max(wide, arm.label.size());
  const auto line = [&](const std::string& name, const std::string& what) {
    if (!what.empty()) text += name + std::string(wide + 2 - name.size(), ' ') + what + "\n";
  };
  for (const BenchArm& arm : result.arms) {
    const bool absent = arm.state == ArmState::kAbsent;
    if (!arm.why.empty()) line(arm.label, (absent ? "absent: " : "") + arm.why);
    line(arm.label, LostText(arm));
    line(arm.label, arm.configuration.empty() ? "" : arm.configuration.Text());
    line(arm.label, VersionsText(arm));
  }
  line("instrument", std::string(Name(order.timing.instrument)) + ", " + CallsText(order.timing));
  line("ratio", "of an arm's time to committed's in the same round, the median over rounds");
  line("conditions", ConditionsText(result.conditions));
  line("toolchain", result.toolchain);
  return text;
}

std::vector<json> BenchJson(const BenchResult& result) {
  const Order& order = result.order;
  std::vector<json> lines;
  for (const BenchArm& arm : result.arms) {
    json object = {
        {"operation", order.operation},
        {"shape", ShapeJson(order.scalars)},
        {"backend", order.backend},
        {"device", DeviceJson(result.device)},
        {"toolchain", result.toolchain},
        {"instrument", std::string(Name(order.timing.instrument))},
        {"warmup", order.timing.warmup},
        {"iterations", order.timing.iterations},
        {"inputs", InputsDigest(order).Hex()},
        {"conditions", result.conditions != DeviceConditions{} ? ConditionsJson(result.conditions)
                                                               : json(nullptr)},
        {"arm", arm.label},
        {"kind", Name(arm.kind)},
        {"path", arm.path.empty() ? json(nullptr) : json(arm.path)},
        {"configuration", ConfigurationJson(arm.configuration)},
        {"state", Name(arm.state)},
        {"why", arm.why},
        {"build", arm.build ? BuildJson(*arm.build) : json(nullptr)},
        {"check", arm.check ? CheckJson(*arm.check) : json(nullptr)}};
    object["versions"] = json::object();
    for (const auto& [name, version] : arm.versions) object["versions"][name] = version;
    object["rounds"] = json::array();
    for (const BenchRound& round : arm.rounds) {
      object["rounds"].push_back(
          {{"round", round.round + 1},
           {"median_us", round.us},
           {"clock_mhz", round.clock_mhz > 0 ? json(round.clock_mhz) : json(nullptr)}});
    }
    object["missing"] = json::array();
    for (const LostRound& lost : arm.lost) {
      object["missing"].push_back({{"round", lost.round + 1}, {"why", lost.why}});
    }
    const auto figures = FiguresOf(arm);
    const auto ratio = RatioToCommitted(result, arm);
    object["median_us"] = figures ? json(figures->median_us) : json(nullptr);
    object["least_us"] = figures ? json(figures->least_us) : json(nullptr);
    object["most_us"] = figures ? json(figures->most_us) : json(nullptr);
    object["spread"] = figures ? json(figures->Spread()) : json(nullptr);
    object["ratio_to_committed"] = ratio ? json(*ratio) : json(nullptr);
    object["ratio_rounds"] = RatiosToCommitted(result, arm).size();
    lines.push_back(std::move(object));
  }
  return lines;
}

}  // namespace pawl
