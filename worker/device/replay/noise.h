#pragma once
// What a GPU does to a time, as a pure function of where the visit stands: the seed, the order's
// track, kind, generation and batch, and the visit's place in the order. Attempts and wall time do
// not enter, so that a search that is killed and goes on sees the very medians an undisturbed one
// sees.
//
// The effects multiply. Each defaults to none:
//   jitter    standard deviation of the logarithm, of Student's t with 4 degrees of freedom
//   boost     probability, a visit, that an excursion begins: 6 to 12 % fast, 1.7 visits long on
//   average throttle  the same, 3 to 10 % slow, 12 visits drift     largest slow deviation: two
//   sinusoids along the track's visits, 523 and 71 visits long cold      how much faster the first
//   visit of an order's process is; gone, linearly, after 10
// `noise=field` and `noise=rough` are settings of them for an undisturbed and a disturbed GPU; keys
// that follow change them.

#include <cstdint>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

struct Noise {
  std::uint64_t seed = 0;
  double jitter = 0;
  double boost = 0;
  double throttle = 0;
  double drift = 0;
  double cold = 0;

  // Takes one key of a replay's argument; false: not one of the noise model's.
  Result<bool> Set(const std::string& key, const std::string& value);
  static const std::vector<std::string>& Keys();

  bool Any() const { return jitter > 0 || boost > 0 || throttle > 0 || drift > 0 || cold > 0; }
  std::string Text() const;  // "seed=7 jitter=0.01": what is not zero; empty without noise

  // One factor a visit, unrecorded rounds' visits included, in the order they run.
  std::vector<double> Factors(const Order& order) const;

  bool operator==(const Noise&) const = default;
};

}  // namespace pawl
