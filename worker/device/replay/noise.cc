#include "worker/device/replay/noise.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

namespace pawl {
namespace {

constexpr double kPi = 3.14159265358979323846;

// How far before an order's first visit its excursions are followed, so that one may be under way
// there. An excursion that lasts longer is one in 200.
constexpr int kRunUp = 64;

constexpr double kBoostVisits = 1.7, kBoostLeast = 0.06, kBoostMost = 0.12;
constexpr double kThrottleVisits = 12, kThrottleLeast = 0.03, kThrottleMost = 0.10;
constexpr int kColdVisits = 10;
constexpr double kSlowPeriod = 523, kFastPeriod = 71;  // visits
constexpr double kVisitsPerGeneration = 16;            // on the drift's axis

std::uint64_t Mix(std::uint64_t z) {  // SplitMix64's finaliser
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t Combine(std::uint64_t seed, std::uint64_t part) { return Mix(seed ^ Mix(part)); }

// In (0, 1), never either end.
double Uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53; }

// The quantile of Student's t with 4 degrees of freedom, which has a closed form (W. T. Shaw,
// "Sampling Student's T distribution", 2006), scaled to a standard deviation of 1: its variance
// is 2.
double StudentT4(double p) {
  const double alpha = 4 * p * (1 - p);
  const double root = std::sqrt(alpha);
  const double q = std::cos(std::acos(root) / 3) / root;
  const double t = 2 * std::sqrt(std::max(0.0, q - 1));
  return (p < 0.5 ? -t : t) / std::sqrt(2.0);
}

enum Purpose : std::uint64_t { kJitter = 1, kBoost, kThrottle, kDrift };

// An on-off process: begins with `start` a visit, ends with 1/`mean` a visit, its size drawn when
// it begins.
class Excursions {
 public:
  Excursions(std::uint64_t seed, double start, double mean, double least, double most)
      : seed_(seed), start_(start), mean_(mean), least_(least), most_(most) {
    if (start_ > 0) {
      for (int i = 0; i < kRunUp; ++i) Next();
    }
  }

  double Next() {  // the size at the next visit, 0 when there is none
    if (start_ <= 0) return 0;
    const std::uint64_t draw = Combine(seed_, ++visit_);
    if (size_ > 0) {
      if (Uniform(draw) < 1 / mean_) size_ = 0;
    }
    if (size_ == 0 && Uniform(Mix(draw)) < start_) {
      size_ = least_ + (most_ - least_) * Uniform(Mix(draw + 1));
    }
    return size_;
  }

 private:
  std::uint64_t seed_;
  double start_, mean_, least_, most_;
  std::uint64_t visit_ = 0;
  double size_ = 0;
};

Result<double> ParseShare(const std::string& key, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= 0 && number < 1)) {
    return Error{"replay noise: " + key + " is \"" + value +
                 "\", wanted a number from 0 to below 1"};
  }
  return number;
}

}  // namespace

const std::vector<std::string>& Noise::Keys() {
  static const std::vector<std::string> keys = {"noise", "seed",     "jitter", "boost",
                                                "drift", "throttle", "cold"};
  return keys;
}

Result<bool> Noise::Set(const std::string& key, const std::string& value) {
  if (key == "noise") {
    // Per visit, for a GPU left alone and for one with neighbours; the cold start and the drift of
    // either are the sizes seen on a desktop card whose clocks nobody holds.
    const std::uint64_t kept = seed;
    if (value == "none") {
      *this = Noise{kept, 0, 0, 0, 0, 0};
    } else if (value == "field") {
      *this = Noise{kept, 0.005, 0.03, 0.004, 0.005, 0.06};
    } else if (value == "rough") {
      *this = Noise{kept, 0.01, 0.08, 0.01, 0.01, 0.06};
    } else {
      return Error{"replay noise: noise is \"" + value + "\", wanted none, field or rough"};
    }
    return true;
  }
  if (key == "seed") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seed);
    if (error != std::errc() || end != value.data() + value.size()) {
      return Error{"replay noise: seed is \"" + value + "\", wanted a whole number"};
    }
    return true;
  }
  double* const share = key == "jitter"     ? &jitter
                        : key == "boost"    ? &boost
                        : key == "throttle" ? &throttle
                        : key == "drift"    ? &drift
                        : key == "cold"     ? &cold
                                            : nullptr;
  if (!share) return false;
  const Result<double> parsed = ParseShare(key, value);
  if (!parsed) return parsed.error();
  *share = *parsed;
  return true;
}

std::string Noise::Text() const {
  if (!Any()) return "";
  std::ostringstream text;
  text << "seed=" << seed;
  const auto add = [&](std::string_view name, double value) {
    if (value > 0) text << ' ' << name << '=' << value;
  };
  add("jitter", jitter);
  add("boost", boost);
  add("throttle", throttle);
  add("drift", drift);
  add("cold", cold);
  return text.str();
}

std::vector<double> Noise::Factors(const Order& order) const {
  std::size_t visits = 0;
  for (const RoundPlan& round : order.rounds) visits += round.visits.size();
  std::vector<double> factors(visits, 1.0);
  if (!Any()) return factors;

  const std::uint64_t track = Combine(Mix(seed), order.track.value);
  const std::uint64_t kind = Combine(track, static_cast<std::uint64_t>(order.kind));
  const std::uint64_t place = Combine(Combine(kind, order.generation.value), order.batch);

  Excursions boosts(Combine(place, kBoost), boost, kBoostVisits, kBoostLeast, kBoostMost);
  Excursions throttles(Combine(place, kThrottle), throttle, kThrottleVisits, kThrottleLeast,
                       kThrottleMost);
  const double slow_phase = Uniform(Combine(track, kDrift));
  const double fast_phase = Uniform(Mix(Combine(track, kDrift)));
  const double start = kVisitsPerGeneration * (order.generation.value + 0.5 * order.batch);

  for (std::size_t i = 0; i < visits; ++i) {
    double log_factor = 0;
    if (jitter > 0) log_factor += jitter * StudentT4(Uniform(Combine(Combine(place, kJitter), i)));
    if (drift > 0) {
      const double at = start + static_cast<double>(i);
      log_factor += drift * (0.7 * std::sin(2 * kPi * (at / kSlowPeriod + slow_phase)) +
                             0.3 * std::sin(2 * kPi * (at / kFastPeriod + fast_phase)));
    }
    log_factor += std::log1p(-boosts.Next()) + std::log1p(throttles.Next());
    if (i < kColdVisits)
      log_factor += std::log1p(-cold * (1 - static_cast<double>(i) / kColdVisits));
    factors[i] = std::exp(log_factor);
  }
  return factors;
}

}  // namespace pawl
