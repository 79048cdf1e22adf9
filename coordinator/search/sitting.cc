#include "coordinator/search/sitting.h"

#include <algorithm>

#include "coordinator/search/figures.h"
#include "schema/check.h"

namespace pawl {
namespace {

bool Comparable(const Sitting& a, const Sitting& b) {
  return a.device == b.device && a.instrument == b.instrument && a.inputs == b.inputs;
}

double LowerMedian(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

std::vector<Digest> ObjectsOf(const Sitting& sitting) {
  std::vector<Digest> objects;
  for (const SittingArm& arm : sitting.arms) objects.push_back(arm.object);
  std::sort(objects.begin(), objects.end());
  return objects;
}

}  // namespace

SittingVerdict JudgeSitting(const Sitting& sitting, const std::vector<Sitting>& others) {
  SittingVerdict verdict;
  std::vector<const Sitting*> comparable;
  for (const Sitting& other : others) {
    if (!Comparable(sitting, other)) continue;
    const bool shares = std::any_of(other.arms.begin(), other.arms.end(), [&](const auto& theirs) {
      return std::any_of(sitting.arms.begin(), sitting.arms.end(),
                         [&](const auto& ours) { return ours.object == theirs.object; });
    });
    if (!shares) continue;
    comparable.push_back(&other);
    verdict.peers.push_back(other.name);
  }
  for (const SittingArm& arm : sitting.arms) {
    std::vector<double> medians, slowest;
    for (const Sitting* other : comparable) {
      for (const SittingArm& peer : other->arms) {
        if (peer.object != arm.object) continue;
        medians.push_back(peer.median_us);
        slowest.push_back(peer.most_us);
      }
    }
    if (medians.empty()) continue;
    const double usual = LowerMedian(medians);
    if (arm.median_us > kSlowFactor * usual && arm.median_us > LowerMedian(slowest)) {
      verdict.slow_arms.push_back({arm.label, arm.median_us, usual, arm.median_us / usual});
    }
  }
  std::vector<double> seconds;
  for (const Sitting* other : comparable) {
    if (ObjectsOf(*other) == ObjectsOf(sitting)) seconds.push_back(other->run_seconds);
  }
  if (!seconds.empty()) {
    const double usual = LowerMedian(seconds);
    if (usual > 0 && sitting.run_seconds > kSlowSecondsFactor * usual) {
      verdict.slow_seconds = {sitting.run_seconds, usual, sitting.run_seconds / usual};
    }
  }
  return verdict;
}

std::vector<std::string> SlowEarlier(const Sitting& newest, const std::vector<Sitting>& earlier) {
  std::vector<std::string> slow;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    std::vector<Sitting> others = {newest};
    for (std::size_t j = 0; j < earlier.size(); ++j) {
      if (j != i) others.push_back(earlier[j]);
    }
    if (JudgeSitting(earlier[i], others).slow()) slow.push_back(earlier[i].name);
  }
  return slow;
}

std::string SlowRule() {
  return "an arm's median is more than " + Plain(kSlowFactor) +
         " times the median of its peers' medians and above the median of their slowest rounds, or "
         "the rounds took more than " +
         Plain(kSlowSecondsFactor) + " times as long as those of sittings with the same arms";
}

}  // namespace pawl
