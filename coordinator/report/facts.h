#pragma once
// What a report says of builds, checks, devices and times, as JSON objects and as lines for people.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

nlohmann::json ShapeJson(const std::vector<Scalar>& shape);  // letter -> value
// {passed, elements, wrong, max_abs_error, detail}; an error that is not finite is null.
nlohmann::json CheckJson(const CheckFacts& check);
// {source, object, compiler, cached, seconds, registers, shared_bytes, spill_bytes}
nlohmann::json BuildJson(const BuildFacts& build);
// {clock_reasons, memory_mhz, temperature_c, power_w, foreign_processes}
nlohmann::json ConditionsJson(const DeviceConditions& conditions);
// {kind, model, uuid, backend, cores, peak_gflops, peak_gbytes_per_s}
nlohmann::json DeviceJson(const DeviceFacts& device);

std::string CheckText(const CheckFacts& check);  // "passed, 4096 elements, max abs error 3e-06"
std::string BuildText(
    const BuildFacts& build);  // "source 3f2a..., object 91c0..., 1.20 s, g++ ..."
// "54 C, 310.5 W, memory 10501 MHz, clock reasons 0x4, 1 other process"; empty where nothing is
// known.
std::string ConditionsText(const DeviceConditions& conditions);

// "10 warm-up and 60 timed calls a round". By graph_time, whose graphs hold as many calls as their
// time does, that many are the least, and the text says so.
std::string CallsText(const Timing& timing);

// What one call's work comes to in a time. Peaks of 0 are not known.
struct Rates {
  double flops = 0;  // of one call
  double bytes = 0;
  double us = 0;  // above 0
  double peak_gflops = 0;
  double peak_gbytes_per_s = 0;
};
// "0.52 TFLOP/s (61 % of peak), 3.10 GB/s (12 % of peak)"
std::string RateText(const Rates& rates);
// {flop_per_s, bytes_per_s, share_of_peak_flops, share_of_peak_bytes}; null where no peak is known.
nlohmann::json RateJson(const Rates& rates);

}  // namespace pawl
