#include "coordinator/report/second_instrument.h"

#include <algorithm>

#include "coordinator/report/text.h"
#include "coordinator/search/timed_arms.h"

namespace pawl {
namespace {

std::optional<Capture> CaptureOf(const Report& report, ArmRole role) {
  for (const Capture& capture : report.captures) {
    if (report.arms[capture.arm] == role && capture.median_us > 0) return capture;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SecondInstrument> SecondInstrumentOf(const Decision& decision,
                                                   const std::vector<const Report*>& deciding) {
  if (decision.verdict != Verdict::kKeep || !decision.ratio) return std::nullopt;
  SecondInstrument second;
  std::vector<double> ratios;
  for (const Report* report : deciding) {
    const std::optional<Capture> candidate = CaptureOf(*report, ArmRole::kCandidate);
    const std::optional<Capture> incumbent = CaptureOf(*report, ArmRole::kIncumbent);
    if (!candidate || !incumbent || candidate->instrument != incumbent->instrument) continue;
    second.instrument = candidate->instrument;
    ratios.push_back(candidate->median_us / incumbent->median_us);
  }
  if (ratios.empty()) return std::nullopt;
  second.ratio = MedianOf(ratios);
  const double gain = 1 - second.ratio;
  second.confirms = gain > 0 && gain >= (1 - *decision.ratio) / 2;
  return second;
}

std::string OnlyText(const SecondInstrument& second, Instrument first) {
  if (second.confirms) return "";
  return std::string(Name(first)) + " only: by " + std::string(Name(second.instrument)) + " " +
         FormatRatio(second.ratio) + " of the incumbent";
}

}  // namespace pawl
