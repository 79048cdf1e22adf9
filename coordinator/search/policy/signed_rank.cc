#include "coordinator/search/policy/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "schema/check.h"

namespace pawl {
namespace {

// How far a pair is apart, either way round, by one division: the same bits on every machine, which
// a logarithm does not promise.
struct Apart {
  double ratio;
  bool first_smaller;
};

}  // namespace

double SignedRankTail(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<Apart> aparts;
  for (const auto& [a, b] : pairs) {
    CHECK(a > 0 && b > 0, a, b);
    if (a != b) aparts.push_back({std::max(a, b) / std::min(a, b), a < b});
  }
  std::sort(aparts.begin(), aparts.end(),
            [](const Apart& a, const Apart& b) { return a.ratio < b.ratio; });

  // Ties share the mean of their ranks, which may be a half: then everything is counted twice.
  const std::size_t n = aparts.size();
  const bool ties =
      std::adjacent_find(aparts.begin(), aparts.end(), [](const Apart& a, const Apart& b) {
        return a.ratio == b.ratio;
      }) != aparts.end();
  std::vector<std::size_t> ranks(n);
  for (std::size_t first = 0; first < n;) {
    std::size_t end = first + 1;
    while (end < n && aparts[end].ratio == aparts[first].ratio) ++end;
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(first),
              ranks.begin() + static_cast<std::ptrdiff_t>(end), ties ? first + end + 1 : end);
    first = end;
  }
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) seen += aparts[i].first_smaller ? ranks[i] : 0;

  // chance[s]: of a rank sum of s, one pair's coin after another. Halving is exact.
  std::vector<double> chance(n * (n + 1) / (ties ? 1 : 2) + 1, 0.0);
  chance[0] = 1;
  std::size_t reach = 0;
  for (const std::size_t rank : ranks) {
    reach += rank;
    double* const at = chance.data();
    for (std::size_t s = reach; s >= rank; --s) at[s] = 0.5 * (at[s] + at[s - rank]);
    for (std::size_t s = 0; s < rank; ++s) at[s] *= 0.5;
  }
  double tail = 0;
  for (std::size_t s = chance.size(); s-- > seen;) tail += chance[s];  // the smallest first
  return std::min(tail, 1.0);
}

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

}  // namespace pawl
