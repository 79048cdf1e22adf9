#pragma once
// What a report of timed rounds says of each arm of its order. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

// The mean of the middle pair where there are an even number of them. CHECKs that there is one.
double MedianOf(std::vector<double> values);

struct TimedArm {
  std::string label;
  ArmRole role = ArmRole::kCommitted;
  Configuration configuration;
  std::optional<BuildFacts> build;
  std::optional<CheckFacts> check;
  // A recorded round each, in their order; empty where the arm's time is not known.
  std::vector<double> us;
  std::vector<double> clock_mhz;  // 0: not readable
  std::vector<std::uint32_t> input_sets;
  double median_us = 0;
  double least_us = 0;
  double most_us = 0;

  bool timed() const { return !us.empty(); }
  double Spread() const { return (most_us - least_us) / median_us; }  // of a timed one
};

// In the order's order. `report` answers `order` (coordinator/search/answers.h).
std::vector<TimedArm> TimedArms(const Order& order, const Report& report);

// The arms, by number, that the outcome may be about: one, where its role, or what was built and
// checked, tells; several of a role where nothing does; none where it is no arm's.
std::vector<std::size_t> FaultyArms(const Order& order, const Report& report);

// nullopt: every arm was timed and, where the order has a reference, compared with it and right.
// Else what is wrong and with which arm: "wrong_output of generation 7: C[3] is 1.5, ...".
std::optional<std::string> WhyNotTimed(const Order& order, const Report& report);

}  // namespace pawl
