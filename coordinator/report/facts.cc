#include "coordinator/report/facts.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/report/text.h"

namespace pawl {
namespace {

// JSON has no infinity: an output that was not finite is null.
nlohmann::json FiniteJson(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

std::string Plain(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string ShareText(double rate, double peak) {
  if (peak <= 0) return "";
  return " (" + std::to_string(std::lround(100 * rate / peak)) + " % of peak)";
}

nlohmann::json ShareJson(double rate, double peak) {
  return peak > 0 ? nlohmann::json(rate / peak) : nlohmann::json(nullptr);
}

void Add(std::string& list, const std::string& entry) {
  list += (list.empty() ? "" : ", ") + entry;
}

}  // namespace

nlohmann::json ShapeJson(const std::vector<Scalar>& shape) {
  nlohmann::json json = nlohmann::json::object();
  for (const Scalar& letter : shape) json[letter.name] = letter.value;
  return json;
}

nlohmann::json CheckJson(const CheckFacts& check) {
  return {{"passed", check.passed},
          {"elements", check.elements},
          {"wrong", check.wrong},
          {"max_abs_error", FiniteJson(check.max_abs_error)},
          {"detail", check.detail}};
}

nlohmann::json BuildJson(const BuildFacts& build) {
  return {{"source", build.source.Hex()},       {"object", build.object.Hex()},
          {"compiler", build.compiler},         {"cached", build.cached},
          {"seconds", build.seconds},           {"registers", build.registers},
          {"shared_bytes", build.shared_bytes}, {"spill_bytes", build.spill_bytes}};
}

nlohmann::json ConditionsJson(const DeviceConditions& conditions) {
  return {
      {"clock_reasons", conditions.clock_reasons},         {"memory_mhz", conditions.memory_mhz},
      {"temperature_c", conditions.temperature_c},         {"power_w", conditions.power_w},
      {"foreign_processes", conditions.foreign_processes}, {"pinned_mhz", conditions.pinned_mhz}};
}

nlohmann::json DeviceJson(const DeviceFacts& device) {
  return {{"kind", device.kind},
          {"model", device.model},
          {"uuid", device.uuid},
          {"backend", device.backend},
          {"cores", device.cores},
          {"peak_gflops", device.peak_gflops},
          {"peak_gbytes_per_s", device.peak_gbytes_per_s}};
}

std::string CheckText(const CheckFacts& check) {
  std::string text = check.passed ? "passed" : "FAILED";
  text += ", " + std::to_string(check.elements) + " elements, max abs error " +
          Plain("%.3g", check.max_abs_error);
  if (!check.detail.empty()) text += "; " + check.detail;
  return text;
}

std::string BuildText(const BuildFacts& build) {
  std::string text = "source " + build.source.Short() + ", object " + build.object.Short() + ", " +
                     (build.cached ? "cached" : Plain("%.2f s", build.seconds));
  if (build.registers > 0) {
    text += ", " + std::to_string(build.registers) + " registers, " +
            std::to_string(build.shared_bytes) + " B shared, " + std::to_string(build.spill_bytes) +
            " B spilled";
  }
  return text + ", " + build.compiler;
}

std::string ConditionsText(const DeviceConditions& conditions) {
  std::string text;
  if (conditions.temperature_c > 0) Add(text, std::to_string(conditions.temperature_c) + " C");
  if (conditions.power_w > 0) Add(text, Plain("%.1f W", conditions.power_w));
  if (conditions.memory_mhz > 0) {
    Add(text, "memory " + std::to_string(conditions.memory_mhz) + " MHz");
  }
  if (conditions.clock_reasons != 0) {
    char reasons[32];
    std::snprintf(reasons, sizeof reasons, "0x%llx",
                  static_cast<unsigned long long>(conditions.clock_reasons));
    Add(text, std::string("clock reasons ") + reasons);
  }
  if (conditions.foreign_processes > 0) {
    Add(text, std::to_string(conditions.foreign_processes) + " other process" +
                  (conditions.foreign_processes == 1 ? "" : "es"));
  }
  return text;
}

std::string CallsText(const Timing& timing) {
  const bool graphs = timing.instrument == Instrument::kGraphTime;
  return (graphs ? "at least " : "") + std::to_string(timing.warmup) + " warm-up and " +
         std::to_string(timing.iterations) + " timed calls a round" +
         (graphs ? ", in 4 or more graphs of about 5 ms" : "");
}

std::string RateText(const Rates& rates) {
  const double flop_rate = rates.flops / rates.us * 1e6;
  const double byte_rate = rates.bytes / rates.us * 1e6;
  return FormatRate(flop_rate, "FLOP/s") + ShareText(flop_rate, rates.peak_gflops * 1e9) + ", " +
         FormatRate(byte_rate, "B/s") + ShareText(byte_rate, rates.peak_gbytes_per_s * 1e9);
}

nlohmann::json RateJson(const Rates& rates) {
  const double flop_rate = rates.flops / rates.us * 1e6;
  const double byte_rate = rates.bytes / rates.us * 1e6;
  return {{"flop_per_s", flop_rate},
          {"bytes_per_s", byte_rate},
          {"share_of_peak_flops", ShareJson(flop_rate, rates.peak_gflops * 1e9)},
          {"share_of_peak_bytes", ShareJson(byte_rate, rates.peak_gbytes_per_s * 1e9)}};
}

}  // namespace pawl
