#include "coordinator/report/measured.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/report/facts.h"
#include "coordinator/report/generation.h"
#include "coordinator/report/text.h"
#include "coordinator/search/figures.h"
#include "coordinator/search/timed_arms.h"

namespace pawl {
namespace {

std::optional<Rates> RatesOf(const Measurement& measurement, const DeviceFacts& device, double us) {
  const auto flops = FlopsAt(*measurement.operation, measurement.shape);
  const auto bytes = BytesAt(*measurement.operation, measurement.shape);
  if (!flops || !bytes || us <= 0) return std::nullopt;
  return Rates{*flops, *bytes, us, device.peak_gflops, device.peak_gbytes_per_s};
}

std::string RoundsTable(const TimedArm& arm, bool colour) {
  TextTable table({{"round", Align::kRight, 0},
                   {"input set", Align::kRight, 0},
                   {"us", Align::kRight, 0},
                   {"clock MHz", Align::kRight, 0}});
  for (std::size_t round = 0; round < arm.us.size(); ++round) {
    const double clock = arm.clock_mhz[round];
    table.Add({{std::to_string(round + 1)},
               {std::to_string(arm.input_sets[round])},
               {Fixed(arm.us[round], 3)},
               {clock > 0 ? std::to_string(std::lround(clock)) : ""}});
  }
  return table.Render(colour);
}

std::string ShapeText(const std::vector<Scalar>& shape) {
  std::string text;
  for (const Scalar& letter : shape) {
    text += " " + letter.name + "=" + std::to_string(letter.value);
  }
  return text;
}

}  // namespace

std::string MeasuredText(const Measurement& measurement, const ErrandResult& result, bool colour) {
  const Order& order = *result.order;
  const Report& report = *result.report;
  const TimedArm arm = TimedArms(order, report).front();
  std::string text = order.operation + ShapeText(order.scalars) + " on " + result.device.model +
                     ", backend " + measurement.backend + "\n";
  const auto line = [&](const std::string& name, const std::string& what) {
    if (what.empty()) return;
    text += name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + what + "\n";
  };
  line("kernel",
       measurement.label + (arm.configuration.empty() ? "" : ": " + arm.configuration.Text()));
  if (const auto why = WhyNotTimed(order, report)) {
    line(Paint("FAILED", Tone::kBad, colour), *why);
  }
  if (arm.build) line("build", BuildText(*arm.build));
  if (arm.build && !arm.build->log.empty()) text += arm.build->log + "\n";
  line("check", arm.check               ? CheckText(*arm.check)
                : order.check.reference ? "not reached"
                                        : "none: a replay's outputs are not there to compare");
  if (arm.timed()) {
    text += RoundsTable(arm, colour);
    line("median", FormatTime(arm.median_us) + ", rounds " + FormatTime(arm.least_us) + " to " +
                       FormatTime(arm.most_us) + " (spread " + Fixed(100 * arm.Spread(), 2) +
                       " %)");
    line("instrument", std::string(Name(order.timing.instrument)) + ", " + CallsText(order.timing));
    if (const auto rates = RatesOf(measurement, result.device, arm.median_us)) {
      line("rate", RateText(*rates));
    }
  }
  line("conditions", ConditionsText(report.conditions));
  line("toolchain", report.toolchain);
  return text;
}

nlohmann::json MeasuredJson(const Measurement& measurement, const ErrandResult& result) {
  const Order& order = *result.order;
  const Report& report = *result.report;
  const TimedArm arm = TimedArms(order, report).front();
  const auto why = WhyNotTimed(order, report);
  nlohmann::json json = {
      {"operation", order.operation},
      {"shape", ShapeJson(order.scalars)},
      {"backend", measurement.backend},
      {"device", DeviceJson(result.device)},
      {"toolchain", report.toolchain},
      {"kernel", measurement.label},
      {"structure", measurement.kernel.structure != nullptr
                        ? nlohmann::json(measurement.kernel.structure->name)
                        : nlohmann::json(nullptr)},
      {"configuration", ConfigurationJson(arm.configuration)},
      {"measured", !why},
      {"outcome", std::string(Name(report.outcome.kind))},
      {"why", why.value_or("")},
      {"build", arm.build ? BuildJson(*arm.build) : nlohmann::json(nullptr)},
      {"check", arm.check ? CheckJson(*arm.check) : nlohmann::json(nullptr)},
      {"instrument", std::string(Name(order.timing.instrument))},
      {"warmup", order.timing.warmup},
      {"iterations", order.timing.iterations},
      {"seed", measurement.seed},
      {"inputs", InputsDigest(order).Hex()},
      {"conditions", report.conditions != DeviceConditions{} ? ConditionsJson(report.conditions)
                                                             : nlohmann::json(nullptr)},
      {"seconds", report.build_seconds + report.check_seconds + report.run_seconds}};
  json["rounds"] = nlohmann::json::array();
  for (std::size_t round = 0; round < arm.us.size(); ++round) {
    json["rounds"].push_back({{"input_set", arm.input_sets[round]},
                              {"median_us", arm.us[round]},
                              {"clock_mhz", arm.clock_mhz[round]}});
  }
  for (const char* key : {"median_us", "least_us", "most_us", "spread", "rate"})
    json[key] = nullptr;
  if (!arm.timed()) return json;
  json["median_us"] = arm.median_us;
  json["least_us"] = arm.least_us;
  json["most_us"] = arm.most_us;
  json["spread"] = arm.Spread();
  if (const auto rates = RatesOf(measurement, result.device, arm.median_us)) {
    json["rate"] = RateJson(*rates);
  }
  return json;
}

}  // namespace pawl
