#pragma once
// Sittings: captures that have been made, and whether one is out of line with its peers. Pure.
//
// Peers of an arm are the arms of other sittings that ran the same object on the same device, by
// the same instrument, on the same inputs. An arm is slow when its median is more than kSlowFactor
// times the median of its peers' medians and above the median of their slowest rounds. A sitting is
// slow when an arm is, or when its rounds took more than kSlowSecondsFactor times as long as those
// of the sittings with the same arms: a device that is taken away between calls shows in the second
// alone. With an even number of peers the lower of the middle two counts, so that of two the faster
// does.

#include <optional>
#include <string>
#include <vector>

#include "schema/digest.h"
#include "schema/order.h"

namespace pawl {

inline constexpr double kSlowFactor = 1.05;
inline constexpr double kSlowSecondsFactor = 5;

struct SittingArm {
  std::string label;
  Digest object;
  double median_us = 0;  // of its rounds
  double most_us = 0;    // its slowest round

  bool operator==(const SittingArm&) const = default;
};

struct Sitting {
  std::string name;    // of its file
  std::string device;  // model, and UUID where it has one
  Instrument instrument = Instrument::kWallTime;
  Digest inputs;
  double run_seconds = 0;        // of all rounds, as reported
  std::vector<SittingArm> arms;  // empty: it has no times

  bool operator==(const Sitting&) const = default;
};

struct SlowArm {
  std::string label;
  double median_us = 0;
  double usual_us = 0;  // the median of its peers' medians
  double factor = 0;    // of the two

  bool operator==(const SlowArm&) const = default;
};

struct SlowSeconds {
  double seconds = 0;
  double usual_seconds = 0;
  double factor = 0;

  bool operator==(const SlowSeconds&) const = default;
};

struct SittingVerdict {
  std::vector<std::string> peers;  // sittings that share an arm with it, by name
  std::vector<SlowArm> slow_arms;
  std::optional<SlowSeconds> slow_seconds;

  bool slow() const { return !slow_arms.empty() || slow_seconds.has_value(); }
  bool operator==(const SittingVerdict&) const = default;
};

// `others`: all other sittings there are.
SittingVerdict JudgeSitting(const Sitting& sitting, const std::vector<Sitting>& others);

// The names of `earlier` ones that are slow now that `newest` is known.
std::vector<std::string> SlowEarlier(const Sitting& newest, const std::vector<Sitting>& earlier);

// The rule in a sentence, for files and people.
std::string SlowRule();

}  // namespace pawl
